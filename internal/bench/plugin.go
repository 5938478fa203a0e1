package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"terraform-provider-proxmox/internal/provider"
)

const (
	// pluginName is the name under which the CLI starts this program as the
	// provider.
	pluginName = "terraform-provider-proxmox"
	// usageFile names the file to which the provider writes what it has used.
	usageFile = "BENCH_USAGE_FILE"
)

// servePlugin is the provider as it is released; at its end it writes down what
// it has used, which nobody else can tell from what the CLI uses.
func servePlugin(context.Context) error {
	if err := tf6server.Serve(provider.Address, func() tfprotov6.ProviderServer { return provider.Serve(context.Background(), "bench") }); err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv(usageFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // Set by this program itself.
	if err != nil {
		return err
	}
	used := ownUsage()
	_, err = fmt.Fprintln(file, used.cpu.Nanoseconds(), used.peak)
	return errors.Join(err, file.Close())
}

// takeUsage adds up what the provider's processes of one command have written:
// their time, and the memory of the largest.
func takeUsage(path string) (usage, error) {
	file, err := os.Open(path) //nolint:gosec // A file in the bench's own folder.
	if errors.Is(err, fs.ErrNotExist) {
		return usage{}, errors.New("the provider has not told what it used: did it end by itself?")
	}
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = file.Close() }()
	var sum usage
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var cpu, peak int64
		if _, err := fmt.Sscan(lines.Text(), &cpu, &peak); err != nil {
			return usage{}, err
		}
		sum.cpu += time.Duration(cpu)
		sum.peak = max(sum.peak, peak)
	}
	return sum, os.Remove(path)
}
