package vm_test

import (
	"context"
	"fmt"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

// asked is what the CLI asks for each VM in a plan that changes nothing, with
// three quarters more allocations than it takes. A walk of the plugin framework's
// over the schema takes tens of thousands.
var asked = map[string]struct {
	call   func(protocol.Round, context.Context) error
	budget float64
}{
	"validate": {protocol.Round.Validate, 20_000},
	"upgrade":  {protocol.Round.Upgrade, 15_000},
	"read":     {protocol.Round.Read, 25_000},
	"plan":     {protocol.Round.Plan, 40_000},
}

// TestAllocations bounds what a plan costs, which time on a busy machine does not
// tell.
func TestAllocations(t *testing.T) {
	round := usual(t)
	for name, each := range asked {
		allocations := testing.AllocsPerRun(5, func() {
			if err := each.call(round, t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %.0f allocations", name, allocations)
		if allocations > each.budget {
			t.Errorf("%s makes %.0f allocations for a VM, more than %.0f", name, allocations, each.budget)
		}
	}
}

// TestRefreshAsksTheAgentOnce holds the budget of a VM that runs with an agent:
// two calls, beside the lists that all share.
func TestRefreshAsksTheAgentOnce(t *testing.T) {
	t.Parallel()
	lab := protocol.NewLabOf(t, pvelab.Options{Speed: fast}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 29999},
	})
	const number = 3
	var guests []*protocol.Resource
	for i := range number {
		guest := lab.Manage(t, "proxmox_vm")
		plan, diagnostics := guest.Plan(t, protocol.Object{
			"name": fmt.Sprint("agent-", i), "template": 9000, "node": "pve1", "power": "running", "agent": protocol.Object{"enabled": true},
		})
		if plan == nil {
			t.Fatal(diagnostics)
		}
		if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
			t.Fatal(diagnostics)
		}
		guests = append(guests, guest)
	}
	lab.NextRun(t)
	before := lab.Counters().Snapshot()
	for _, guest := range guests {
		if diagnostics := guest.Refresh(t); len(diagnostics) != 0 {
			t.Error(diagnostics)
		}
	}
	count := lab.Counters().Snapshot().Sub(before)
	asked := count.Requests["GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"]
	if asked != number || count.Total != 2*number+2 {
		t.Errorf("%d VMs took %d calls, %d of an agent: %v", number, count.Total, asked, count.Requests)
	}
}

// BenchmarkPlan measures what TestAllocations bounds.
func BenchmarkPlan(b *testing.B) {
	round := usual(b)
	for name, each := range asked {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := each.call(round, b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// usual is the round of a VM as many have it.
func usual(t testing.TB) protocol.Round {
	t.Helper()
	lab := protocol.NewLabOf(t, pvelab.Options{Speed: fast}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 29999},
	})
	address := protocol.Object{"ipv4": protocol.Object{"address": "10.0.0.9/24", "gateway": "10.0.0.1"}}
	config := protocol.Object{
		"name": "usual", "template": 9000, "node": "pve1", "power": "stopped", "tags": []any{"web"},
		"cpu": protocol.Object{"cores": 2}, "memory": protocol.Object{"mib": 2048},
		"disks":      protocol.Object{"scsi0": protocol.Object{"size_gib": 5.0}},
		"network":    protocol.Object{"net0": protocol.Object{"bridge": "vmbr0"}},
		"cloud_init": protocol.Object{"user": "ops", "interfaces": protocol.Object{"net0": address}},
	}
	guest := lab.Manage(t, "proxmox_vm")
	plan, diagnostics := guest.Plan(t, config)
	if plan == nil {
		t.Fatal(diagnostics)
	}
	if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	return guest.Round(t, config)
}
