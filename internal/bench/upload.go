package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"terraform-provider-proxmox/internal/proxmox"
)

// uploadArgument makes this program upload a file and tell what that took.
const uploadArgument = "upload"

// uploadMiB is the size of the file.
const uploadMiB = 32

// upload brings a file to a storage, from a process of its own: what the lab keeps
// of it is not the client's.
func (b *bench) upload(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	id, secret := b.lab.Token("full")
	command := exec.CommandContext(ctx, self, uploadArgument) //nolint:gosec // This program.
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), "PROXMOX_ENDPOINT="+b.lab.URL(), "PROXMOX_CA_PEM="+string(b.lab.CAPEM()),
		"PROXMOX_TOKEN_ID="+id, "PROXMOX_TOKEN_SECRET="+secret)
	var output []byte
	spent, err := b.cost(func() error {
		output, err = command.Output()
		return err
	})
	if err != nil {
		return err
	}
	var allocated uint64
	if _, err := fmt.Sscan(string(output), &allocated, &spent.peak); err != nil {
		return err
	}
	spent.cpu = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	row{
		what: "upload", unit: "mib", n: uploadMiB, by: byClient, ours: spent,
		extra: fmt.Sprintf("allocated_mb=%.1f lab=not_included", float64(allocated)/(1<<20)),
	}.print()
	return nil
}

// uploadFile is what the process of its own does: it prints how many bytes the
// upload allocated, and how many the process held at most.
func uploadFile(ctx context.Context) error {
	client, err := proxmox.New(proxmox.Options{
		Endpoint: os.Getenv("PROXMOX_ENDPOINT"), CAPEM: []byte(os.Getenv("PROXMOX_CA_PEM")),
		TokenID: os.Getenv("PROXMOX_TOKEN_ID"), TokenSecret: os.Getenv("PROXMOX_TOKEN_SECRET"),
		VMIDRange: proxmox.VMIDRange{First: firstID, Last: lastID},
	})
	if err != nil {
		return err
	}
	const size = uploadMiB << 20
	open := func() io.Reader { return io.LimitReader(zeros{}, size) }
	digest := sha256.New()
	if _, err := io.Copy(digest, open()); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = client.Storage.Store(ctx, proxmox.Upload{
		Node: node, Storage: "seeds", Content: "iso", Name: "bench.iso", Size: size, SHA256: hex.EncodeToString(digest.Sum(nil)), Open: open,
	})
	runtime.ReadMemStats(&after)
	_, _ = fmt.Fprintln(os.Stdout, after.TotalAlloc-before.TotalAlloc, ownUsage().peak)
	return err
}

// zeros is an endless file.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
