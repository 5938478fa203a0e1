// Command live tries the provider on the Proxmox VE that PROXMOX_ENDPOINT and its
// companions name, and ends with a table of what it found. It only reads, unless it
// is started with -lifecycle: then it also creates, changes and destroys a VM, next
// to one of the same name that is not the provider's. It runs from the repository's
// root, after `make build`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"terraform-provider-proxmox/internal/acctest/cli"
)

// source is the provider's address as configurations write it.
const source = "holdfast/proxmox"

func main() {
	lifecycle := flag.Bool("lifecycle", false, "create, change and destroy a VM, too")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv, os.Stdout, *lifecycle)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// errFailed says that a row of the table is not as it should be.
var errFailed = errors.New("not all is well: see the table")

func run(ctx context.Context, getenv func(string) string, out io.Writer, lifecycle bool) error {
	node, err := connect(getenv)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "proxmox-live-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	workspace, err := cli.New(cli.Options{
		Dir: filepath.Join(dir, "work"), CLI: getenv("TF_CLI_PATH"),
		Provider: filepath.Join("bin", "terraform-provider-proxmox"), Source: source,
	})
	if err != nil {
		return err
	}
	return try(ctx, node, workspace, out, lifecycle)
}

// try does all steps and prints the table.
func try(ctx context.Context, n *node, w *cli.Workspace, out io.Writer, lifecycle bool) error {
	for name, value := range n.env() {
		w.Setenv(name, value)
	}
	steps := reading(n, w)
	if lifecycle {
		steps = append(steps, changing(n, w)...)
	}
	t := &table{out: out}
	t.run(ctx, steps)
	t.print()
	if t.failed {
		return errFailed
	}
	return nil
}
