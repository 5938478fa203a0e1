package vm_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
	"terraform-provider-proxmox/internal/resources/vm"
)

var (
	cases = flag.Int("cases", 200, "how many random configurations TestProperty tries on PVE 9.2; a fifth as many on 8.4")
	seed  = flag.Uint64("seed", 0, "the only seed that TestProperty tries; 0 is many")
)

// workers is how many VMs are made at once: most of the time goes by waiting for
// tasks.
const workers = 8

// TestProperty makes VMs of random configurations and changes them into others:
// after each apply the plan is empty, and PVE's API shows what is configured. A
// failing seed can be tried again with -seed.
func TestProperty(t *testing.T) {
	t.Parallel()
	count := *cases
	if testing.Short() {
		count = min(count, 20)
	}
	for version, count := range map[string]int{"9.2": count, "8.4": count / 5} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 1000}, provider.New("test")(), "full", protocol.Object{
				"vmid_range": protocol.Object{"first": 20000, "last": 29999},
				"limits":     protocol.Object{"requests": 32, "tasks_per_node": 32, "tasks_per_storage": 32},
			})
			first, last := uint64(1), uint64(count)
			if *seed != 0 {
				first, last = *seed, *seed
			}
			t.Logf("seeds %d to %d", first, last)
			seeds := make(chan uint64)
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					for each := range seeds {
						t.Run(fmt.Sprintf("seed=%d", each), func(t *testing.T) { tryRandom(t, lab, version, each) })
					}
				})
			}
			for each := first; each <= last; each++ {
				seeds <- each
			}
			close(seeds)
			group.Wait()
		})
	}
}

func tryRandom(t *testing.T, lab *protocol.Lab, version string, seed uint64) {
	t.Helper()
	r := &vm.Random{Rand: rand.New(rand.NewPCG(seed, 0)), Major: int(version[0] - '0'), Running: seed%3 == 0}
	guest := lab.Manage(t, "proxmox_vm")
	var before map[string]any
	for _, what := range []string{"created", "changed"} {
		config := r.Config(before)
		block := object(config)
		block["template"] = 9000
		if !r.Running {
			block["power"] = "stopped"
		}
		plan, diagnostics := guest.Plan(t, block)
		if plan == nil {
			t.Fatalf("%s is not planned: %s\n%v", what, diagnostics, config)
		}
		if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
			t.Fatalf("%s: %s\n%v", what, diagnostics, config)
		}
		if diagnostics := guest.Refresh(t); len(diagnostics) != 0 {
			t.Fatalf("read when %s: %s", what, diagnostics)
		}
		again, diagnostics := guest.Plan(t, block)
		if again == nil || !again.Empty() {
			t.Fatalf("the plan is not empty when %s: %s\n%s\n%v", what, strings.Join(again.Changes(t), ", "), diagnostics, config)
		}
		vmid, _ := guest.State["vmid"].(float64)
		real, err := lab.Hand.Config(t.Context(), int(vmid))
		if err != nil {
			t.Fatal(err)
		}
		for _, difference := range vm.Differences(t, config, before, real) {
			t.Errorf("%s: %s", what, difference)
		}
		before = config
	}
}

// object is a configuration as the protocol's tests write it.
func object(of map[string]any) protocol.Object {
	converted := protocol.Object{}
	for name, each := range of {
		switch each := each.(type) {
		case map[string]any:
			converted[name] = object(each)
		case []string:
			items := []any{}
			for _, item := range each {
				items = append(items, item)
			}
			converted[name] = items
		default:
			converted[name] = each
		}
	}
	return converted
}
