package vm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccVM_fifty makes fifty VMs at once from one template: no id collides, and
// nobody is shown a lock.
func TestAccVM_fifty(t *testing.T) {
	if testing.Short() {
		t.Skip("makes fifty VMs")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	const number = 50
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+fmt.Sprintf(`
resource "proxmox_vm" "many" {
  count    = %d
  name     = "acc-fifty-${count.index}"
  template = %d
}
`, number, target.Template)))
	acctest.MustRun(t, workspace, "plan", "-out", "fifty.plan")
	before := target.Lab.Counters().Snapshot()
	output := acctest.MustRun(t, workspace, "apply", "-parallelism=50", "fifty.plan")
	count := target.Lab.Counters().Snapshot().Sub(before)
	said(t, output, fmt.Sprintf("%d added", number))
	if strings.Contains(output, "got timeout") || strings.Contains(output, "can't lock") {
		t.Errorf("a lock was shown:\n%s", output)
	}
	if clones := count.Requests["POST /nodes/{node}/qemu/{vmid}/clone"]; clones != number {
		t.Errorf("%d clones for %d VMs: ids collided", clones, number)
	}
	t.Logf("%.1f calls a VM besides polls, %d connections", float64(besidesPolls(count))/number, count.Connections)
	for n := range number {
		target.One(t, fmt.Sprintf("acc-fifty-%d", n))
	}
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-parallelism=50")
	onlyTemplatesLeft(t, target)
}
