package vm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// fast makes the lab's tasks so short that what is left is the provider's own.
const fast = 1000

// counted runs a command and returns the requests it caused.
func counted(t *testing.T, target *acctest.Target, workspace *cli.Workspace, args ...string) pvelab.Count {
	t.Helper()
	before := target.Lab.Counters().Snapshot()
	acctest.MustRun(t, workspace, args...)

	return target.Lab.Counters().Snapshot().Sub(before)
}

// besidesPolls is the number of requests without those that ask a task whether
// it has ended, of which there are as many as the task takes.
func besidesPolls(count pvelab.Count) int {
	return count.Total - count.Requests["GET /nodes/{node}/tasks/{upid}/status"]
}

func within(t *testing.T, what string, got, budget int, count pvelab.Count) {
	t.Helper()
	t.Logf("%s: %d calls, budget %d: %v", what, got, budget, count.Requests)
	if got > budget {
		t.Errorf("%s took %d calls, more than %d: %v", what, got, budget, count.Requests)
	}
}

// TestAccVM_callBudget counts the calls of each operation on one VM.
func TestAccVM_callBudget(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	facts := target.Facts(t)
	config := func(cores int, power string) string {
		return target.Provider() + vmBlock("test", target, "acc-budget", fmt.Sprintf(`
  storage    = "shared-nfs"
  cpu        = { cores = %d }
  memory     = { mib = 1024 }
  tags       = ["a"]
  disks      = { %s = { size_gib = %d } }
  network    = { net0 = { bridge = "vmbr0", firewall = true } }
  cloud_init = { user = "ops", interfaces = { net0 = { ipv4 = { address = "10.0.0.9/24", gateway = "10.0.0.1" } } } }
  %s
`, cores, facts.BootDisk, facts.SizeGiB+1, power))
	}
	workspace := target.Workspace(t)

	acctest.Must(t, workspace.Write(config(1, "")))
	acctest.MustRun(t, workspace, "plan", "-out", "create.plan")
	count := counted(t, target, workspace, "apply", "create.plan")
	within(t, "create", besidesPolls(count), 12, count)

	acctest.Must(t, workspace.Write(config(1, `power = "stopped"`)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.Must(t, workspace.Write(config(2, `power = "stopped"`)))
	acctest.MustRun(t, workspace, "plan", "-out", "update.plan")
	count = counted(t, target, workspace, "apply", "update.plan")
	within(t, "in-place change of a stopped VM", besidesPolls(count), 3, count)

	acctest.MustRun(t, workspace, "plan", "-destroy", "-out", "destroy.plan")
	count = counted(t, target, workspace, "apply", "destroy.plan")
	within(t, "destroy of a stopped VM", besidesPolls(count), 4, count)
	onlyTemplatesLeft(t, target)
}

// hundred is a hundred VMs on three nodes.
func hundred(target *acctest.Target, number int) string {
	return target.Provider() + fmt.Sprintf(`
resource "proxmox_vm" "many" {
  count    = %d
  name     = "acc-many-${count.index}"
  template = %d
  node     = "pve${count.index %% 3 + 1}"
  storage  = "shared-nfs"
  power    = "stopped"
}
`, number, target.Template)
}

// TestAccVM_refreshBudget refreshes a hundred VMs on three nodes: one call for
// each, one list of the cluster, one of each node.
func TestAccVM_refreshBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a hundred VMs")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	const number = 100
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(hundred(target, number)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-parallelism=20")

	count := counted(t, target, workspace, "plan", "-detailed-exitcode")
	within(t, "refresh of 100 VMs", count.Total, number+4, count)
	t.Logf("%d connections, %d bytes", count.Connections, count.BytesIn+count.BytesOut)
	if count.Connections > 16 {
		t.Errorf("the refresh opened %d connections, more than 16", count.Connections)
	}
	// A thousand have to stay below 10 MB.
	if bytes := count.BytesIn + count.BytesOut; bytes > number*10_000 {
		t.Errorf("the refresh took %d bytes on the wire, more than 10 kB a VM", bytes)
	}

	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-parallelism=20")
	onlyTemplatesLeft(t, target)
}

// TestAccVM_twenty makes twenty VMs in one apply: no collision, and ids upward
// without a gap that somebody else's VM did not make.
func TestAccVM_twenty(t *testing.T) {
	if testing.Short() {
		t.Skip("makes twenty VMs")
	}
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	stranger := target.First + 7
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, stranger, byhand.Params{"name": "acc-in-the-way"}))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, stranger)) })
	check := untouched(t, target, stranger)

	const number = 20
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+fmt.Sprintf(`
resource "proxmox_vm" "many" {
  count    = %d
  name     = "acc-twenty-${count.index}"
  template = %d
  power    = "stopped"
}

output "ids" { value = proxmox_vm.many[*].vmid }
`, number, target.Template)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-parallelism=20")

	state, err := workspace.State(ctx)
	acctest.Must(t, err)
	seen := map[float64]bool{}
	ids, _ := state.Values.Outputs["ids"].Value.([]any)
	for _, id := range ids {
		number, _ := id.(float64)
		if seen[number] || int(number) == stranger || int(number) < target.First || int(number) > target.Last {
			t.Errorf("id %v was given twice, is a stranger's or out of range: %v", id, ids)
		}
		seen[number] = true
	}
	if len(seen) != number {
		t.Errorf("%d VMs, not %d", len(seen), number)
	}
	guests, err := target.Hand.LiveVMs(ctx)
	acctest.Must(t, err)
	made := 0
	for _, guest := range guests {
		if strings.HasPrefix(guest.Name, "acc-twenty-") {
			made++
		}
	}
	if made != number {
		t.Errorf("PVE has %d of these VMs, not %d", made, number)
	}

	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-parallelism=20")
	check()
}
