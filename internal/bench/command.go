package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"terraform-provider-proxmox/internal/acctest/cli"
)

// firstID and lastID bound the ids of the guests made by the provider; those of
// the bare loop begin after them.
const firstID, lastID, bareID = 20000, 29999, 30000

// command is a folder in which a CLI runs with this program as the provider.
type command struct {
	*cli.Workspace
	b     *bench
	usage string
}

// command prepares the folder.
func (b *bench) command() (*command, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plugin, ca := filepath.Join(b.dir, pluginName), filepath.Join(b.dir, "ca.pem")
	if err := errors.Join(os.Symlink(self, plugin), os.WriteFile(ca, b.lab.CAPEM(), 0o600)); err != nil {
		return nil, err
	}
	id, secret := b.lab.Token("full")
	c := &command{b: b, usage: filepath.Join(b.dir, "usage")}
	c.Workspace, err = cli.New(cli.Options{
		Dir: filepath.Join(b.dir, "work"), CLI: os.Getenv("TF_CLI_PATH"), Provider: plugin, Source: "holdfast/proxmox",
		Env: []string{
			"PROXMOX_ENDPOINT=" + b.lab.URL(), "PROXMOX_CA_FILE=" + ca, "PROXMOX_TOKEN_ID=" + id, "PROXMOX_TOKEN_SECRET=" + secret,
			"PROXMOX_NODE=" + node, "PROXMOX_STORAGE=" + storage, fmt.Sprintf("PROXMOX_VMID_RANGE=%d-%d", firstID, lastID),
			usageFile + "=" + c.usage,
		},
	})
	return c, err
}

// configure writes a configuration.
func (c *command) configure(format string, args ...any) error {
	return c.Write("terraform {\n  required_providers {\n    proxmox = { source = \"holdfast/proxmox\" }\n  }\n}\n" + fmt.Sprintf(format, args...))
}

// cost measures one command, at the CLI's own parallelism.
func (c *command) cost(ctx context.Context, args ...string) (figures, error) {
	_ = os.Remove(c.usage)
	var whole usage
	spent, err := c.b.cost(func() error {
		process, err := c.Start(ctx, args...)
		if err != nil {
			return err
		}
		_, err = process.Wait()
		whole.cpu = process.CPU()
		return err
	})
	if err != nil {
		return figures{}, err
	}
	used, err := takeUsage(c.usage)
	spent.cpu, spent.provider, spent.peak = whole.cpu-used.cpu, used.cpu, used.peak
	return spent, err
}

// plan measures a plan, which has to be empty.
func (c *command) plan(ctx context.Context) (figures, error) {
	spent, err := c.cost(ctx, "plan", "-detailed-exitcode")
	var exit *cli.ExitError
	if errors.As(err, &exit) && exit.Code == 2 {
		return figures{}, fmt.Errorf("the plan is not empty: %w", err)
	}
	return spent, err
}

// apply plans, and measures the application of the plan alone.
func (c *command) apply(ctx context.Context, plan ...string) (figures, error) {
	if _, err := c.Run(ctx, append([]string{"plan", "-out=bench.plan"}, plan...)...); err != nil {
		return figures{}, err
	}
	return c.cost(ctx, "apply", "bench.plan")
}
