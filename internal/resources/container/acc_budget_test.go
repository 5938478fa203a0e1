package container_test

import (
	"fmt"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// fast makes the lab's tasks so short that what is left is the provider's own.
const fast = 1000

// TestAccContainer_refreshBudget refreshes a hundred containers on three nodes: one
// call for each, one list of the cluster, one of each node.
func TestAccContainer_refreshBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a hundred containers")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	const number = 100
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+fmt.Sprintf(`
resource "proxmox_container" "many" {
  count        = %d
  hostname     = "acc-many-${count.index}"
  template     = %q
  node         = "pve${count.index %% 3 + 1}"
  root_volume  = { storage = "local-lvm", size_gib = 1 }
  mount_points = { mp0 = { storage = "local-lvm", size_gib = 1, path = "/data", backup = true } }
  network      = { net0 = { bridge = "vmbr0", ipv4 = { address = "10.99.0.60/24" } } }
}
`, number, oldTemplate)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-parallelism=20")

	before := target.Lab.Counters().Snapshot()
	acctest.MustRun(t, workspace, "plan", "-detailed-exitcode")
	count := target.Lab.Counters().Snapshot().Sub(before)
	t.Logf("%d calls, %d connections: %v", count.Total, count.Connections, count.Requests)
	if count.Total > number+4 {
		t.Errorf("the refresh took %d calls, more than %d", count.Total, number+4)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-parallelism=20")
	if left := containers(t, target); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}

// TestAccContainer_callBudget counts the calls of each operation besides polls.
func TestAccContainer_callBudget(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	workspace := target.Workspace(t)
	spent := func(what string, budget int, args ...string) {
		t.Helper()
		before := target.Lab.Counters().Snapshot()
		acctest.MustRun(t, workspace, args...)
		count := target.Lab.Counters().Snapshot().Sub(before)
		calls := count.Total - count.Requests["GET /nodes/{node}/tasks/{upid}/status"]
		t.Logf("%s: %d calls: %v", what, calls, count.Requests)
		if calls > budget {
			t.Errorf("%s took %d calls, more than %d", what, calls, budget)
		}
	}
	sized := func(cores int) string {
		return block(target, oldTemplate, fmt.Sprintf("cpu = { cores = %d }\n  power = \"stopped\"", cores))
	}
	acctest.Must(t, workspace.Write(sized(1)))
	acctest.MustRun(t, workspace, "plan", "-out", "create.plan")
	spent("create", 12, "apply", "create.plan")
	acctest.Must(t, workspace.Write(sized(2)))
	acctest.MustRun(t, workspace, "plan", "-out", "update.plan")
	spent("in-place change", 3, "apply", "update.plan")
	acctest.MustRun(t, workspace, "plan", "-destroy", "-out", "destroy.plan")
	spent("destroy", 4, "apply", "destroy.plan")
}
