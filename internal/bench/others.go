package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// containers makes containers, and refreshes them.
func (b *bench) containers(ctx context.Context, number int) error {
	c, err := b.command()
	if err != nil {
		return err
	}
	err = c.configure(`
resource "proxmox_container" "many" {
  count       = %d
  hostname    = "bench-${count.index}"
  template    = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
  root_volume = { storage = "local-lvm", size_gib = 1 }
  network     = { net0 = { bridge = "vmbr0", ipv4 = { address = "10.99.0.60/24" } } }
}
`, number)
	if err != nil {
		return err
	}
	spent, err := c.apply(ctx)
	if err != nil {
		return err
	}
	row{what: "container_create", unit: "container", n: number, by: byCLI, ours: spent}.print()
	planned, err := c.plan(ctx)
	if err != nil {
		return err
	}
	bare := b.bare()
	floor, err := b.cost(func() error {
		return each(ctx, number, func(ctx context.Context, i int) error {
			return bare.get(ctx, "/nodes/%s/lxc/%d/pending", node, firstID+i)
		})
	})
	if err != nil {
		return err
	}
	row{what: "container_plan", unit: "container", n: number, by: byCLI, ours: planned, floor: &floor}.print()
	return nil
}

// firewall makes a list of rules, reads it and puts one more into its middle.
func (b *bench) firewall(ctx context.Context, number int) error {
	c, err := b.command()
	if err != nil {
		return err
	}
	write := func(between string) error {
		var rules strings.Builder
		for i := range number {
			if i == number/2 {
				rules.WriteString(between)
			}
			fmt.Fprintf(&rules, "    { direction = \"in\", action = \"ACCEPT\", protocol = \"tcp\", destination_port = \"%d\" },\n", 1000+i)
		}
		return c.configure("resource \"proxmox_firewall\" \"group\" {\n  scope = { security_group = \"bench\" }\n  foreign = true\n  rules = [\n%s  ]\n}\n", rules.String())
	}
	bare := b.bare()
	read := func() error { return bare.get(ctx, "/cluster/firewall/groups/bare") }
	insert := func() error {
		return bare.call(ctx, http.MethodPost, "/cluster/firewall/groups/bare", url.Values{"type": {"in"}, "action": {"ACCEPT"}, "enable": {"1"}}, nil)
	}
	insertAll := func() error {
		if err := bare.call(ctx, http.MethodPost, "/cluster/firewall/groups", url.Values{"group": {"bare"}}, nil); err != nil {
			return err
		}
		for range number {
			if err := insert(); err != nil {
				return err
			}
		}
		return nil
	}
	apply := func() (figures, error) { return c.apply(ctx) }
	refresh := func() (figures, error) { return c.plan(ctx) }
	for _, step := range []struct {
		what, between string
		n             int
		measure       func() (figures, error)
		floor         func() error
	}{
		{"firewall_create", "", number, apply, insertAll},
		{"firewall_plan", "", number, refresh, read},
		{"firewall_insert", "    { direction = \"in\", action = \"DROP\", protocol = \"udp\" },\n", 1, apply, insert},
	} {
		if err := write(step.between); err != nil {
			return err
		}
		ours, err := step.measure()
		if err != nil {
			return err
		}
		floor, err := b.cost(step.floor)
		if err != nil {
			return err
		}
		row{what: step.what, unit: "rule", n: step.n, by: byCLI, ours: ours, floor: &floor}.print()
	}
	return nil
}
