package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// ledgerPool makes an empty pool, and removes it with what is reserved in it.
func ledgerPool(t *testing.T, target *acctest.Target, pool string) string {
	t.Helper()
	ctx := context.Background()
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/pools", byhand.Params{"poolid": pool}, nil))
	t.Cleanup(func() {
		for _, entry := range append(reserved(ctx, t, target, pool), pool) {
			acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, "/pools", byhand.Params{"poolid": entry}, nil))
		}
	})

	return pool
}

// reserved lists the pools within a pool.
func reserved(ctx context.Context, t *testing.T, target *acctest.Target, pool string) []string {
	t.Helper()
	var pools []struct {
		ID string `json:"poolid"`
	}
	acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, "/pools", nil, &pools))
	var within []string
	for _, each := range pools {
		if strings.HasPrefix(each.ID, pool+"/") {
			within = append(within, each.ID)
		}
	}

	return within
}

func withPool(target *acctest.Target, pool string) string {
	provider := target.Provider()
	if pool != "" {
		provider = strings.Replace(provider, "defaults     = { ", fmt.Sprintf("defaults     = { pool = %q, ", pool), 1)
	}

	return provider
}

// TestAccVM_idsAreNotReused creates, destroys and creates again, each time in a
// process and a state of its own.
func TestAccVM_idsAreNotReused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pool  string
		again bool
	}{
		"in a pool":      {"acc-ledger", false},
		"without a pool": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := acctest.New(t)
			if test.pool != "" {
				ledgerPool(t, target, test.pool)
			}
			var ids []int
			for range 2 {
				workspace := target.Workspace(t)
				acctest.Must(t, workspace.Write(withPool(target, test.pool)+vmBlock("test", target, "acc-reuse", `power = "stopped"`)))
				output := acctest.MustRun(t, workspace, "apply", "-auto-approve")
				warned := strings.Contains(output, "ids may be used again")
				if warned != test.again {
					t.Errorf("warned: %t\n%s", warned, output)
				}
				vm := acctest.Resource(t, workspace, "proxmox_vm.test")
				if vm.Values["pool"] != any(test.pool) && test.pool != "" {
					t.Errorf("the VM is in the pool %v", vm.Values["pool"])
				}
				ids = append(ids, vmidOf(vm))
				acctest.MustRun(t, workspace, "destroy", "-auto-approve")
			}
			if again := ids[0] == ids[1]; again != test.again {
				t.Errorf("ids %v", ids)
			}
		})
	}
}

// TestAccVM_idsOfTwoProcesses has two runs make guests at once, destroy them and
// make others.
func TestAccVM_idsOfTwoProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("makes twelve VMs")
	}
	t.Parallel()
	target := acctest.New(t)
	pool := ledgerPool(t, target, "acc-two")
	var mu sync.Mutex
	given := map[int]int{}
	var runs sync.WaitGroup
	workspaces := []*cli.Workspace{target.Workspace(t), target.Workspace(t)}
	for run, workspace := range workspaces {
		acctest.Must(t, workspace.Write(withPool(target, pool)+fmt.Sprintf(`
resource "proxmox_vm" "many" {
  count    = 3
  name     = "acc-run%d-${count.index}"
  template = %d
  power    = "stopped"
}
`, run, target.Template)))
		runs.Go(func() {
			for range 2 {
				output, err := workspace.Apply(context.Background())
				if err != nil {
					t.Errorf("run %d: %v\n%s", run, err, output)
					return
				}
				state, err := workspace.State(context.Background())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, vm := range state.Values.RootModule.Resources {
					given[vmidOf(vm)]++
				}
				mu.Unlock()
				if output, err := workspace.Destroy(context.Background()); err != nil {
					t.Errorf("run %d: %v\n%s", run, err, output)
				}
			}
		})
	}
	runs.Wait()
	if len(given) != 12 {
		t.Errorf("%d different ids for 12 guests: %v", len(given), given)
	}
}

// TestAccVM_ledgerBudget: to keep ids from coming back takes two calls more.
func TestAccVM_ledgerBudget(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	workspace := target.Workspace(t)
	made := func(pool, name string) int {
		acctest.Must(t, workspace.Write(withPool(target, pool)+vmBlock(name, target, "acc-"+name, `power = "stopped"`)))
		acctest.MustRun(t, workspace, "plan", "-out", "create.plan")
		count := counted(t, target, workspace, "apply", "create.plan")

		return besidesPolls(count)
	}
	without := made("", "without")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	with := made(ledgerPool(t, target, "acc-budget"), "with")
	t.Logf("%d calls with a pool, %d without", with, without)
	if with > without+2 {
		t.Errorf("%d calls with a pool, %d without", with, without)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
