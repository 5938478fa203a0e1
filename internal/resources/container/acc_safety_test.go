package container_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccContainer_becameVM: the id of a container is a VM's now. The VM is left
// alone, and another container is made.
func TestAccContainer_becameVM(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(block(target, oldTemplate, `power = "stopped"`)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	vmid := only(t, target)
	destroyByHand(t, target, vmid)
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, vmid, byhand.Params{"name": "stranger"}))
	before, err := target.Hand.Config(ctx, vmid)
	acctest.Must(t, err)

	plan := acctest.Unwrap(acctest.MustRun(t, workspace, "plan"))
	for _, part := range []string{"the id is a VM's now", "1 to add"} {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan does not say %q:\n%s", part, plan)
		}
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	after, err := target.Hand.Config(ctx, vmid)
	acctest.Must(t, err)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the VM was changed: %v, before %v", after, before)
	}
}

// TestAccContainer_becameContainer: the id of a VM is a container's now, which
// proxmox_vm leaves alone.
func TestAccContainer_becameContainer(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+fmt.Sprintf(`
resource "proxmox_vm" "test" {
  name     = "acc-vm"
  template = %d
  power    = "stopped"
}
`, target.Template)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.Must(t, target.Hand.Destroy(ctx, 20000))
	make20000(t, target)
	before := config(t, target, 20000)

	plan := acctest.Unwrap(acctest.MustRun(t, workspace, "plan"))
	if !strings.Contains(plan, "the id is a container's now") {
		t.Errorf("the plan does not say so:\n%s", plan)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if after := config(t, target, 20000); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the container was changed: %v, before %v", after, before)
	}
}

// TestAccContainer_markerLost: a container without our marker is not changed, and one
// that has lost it is named.
func TestAccContainer_markerLost(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	network := `
  network = { net0 = { bridge = "vmbr0" } }
  power   = "stopped"
  cpu     = { cores = %d }`
	acctest.Must(t, workspace.Write(block(target, oldTemplate, fmt.Sprintf(network, 1))))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	vmid := only(t, target)
	byHand(t, target, vmid, byhand.Params{"description": "mine now"})
	acctest.Must(t, workspace.Write(block(target, oldTemplate, fmt.Sprintf(network, 2))))
	output, err := workspace.Run(context.Background(), "apply", "-auto-approve")
	if err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), "has lost its marker and is not changed") {
		t.Errorf("got %v\n%s", err, output)
	}
	if got := config(t, target, vmid)["cores"]; got != "1" {
		t.Errorf("cores is %s", got)
	}
}

// TestAccContainer_import imports by each form of id: the plan is empty.
func TestAccContainer_import(t *testing.T) {
	t.Parallel()
	target := onNode(t)
	ctx := context.Background()
	first := target.Workspace(t)
	acctest.Must(t, first.Write(block(target, oldTemplate, lifecycleImported)))
	acctest.MustRun(t, first, "apply", "-auto-approve")
	made := acctest.Resource(t, first, address)
	vmid, uid := fmt.Sprint(made.Values["vmid"]), fmt.Sprint(made.Values["uid"])
	for _, id := range []string{uid, vmid, target.Node + "/" + vmid} {
		second := target.Workspace(t)
		acctest.Must(t, second.Write(block(target, oldTemplate, lifecycleImported)))
		acctest.MustRun(t, second, "import", address, id)
		changes, output, err := second.Plan(ctx)
		acctest.Must(t, err)
		if changes {
			t.Errorf("import by %q: the plan is not empty:\n%s", id, output)
		}
	}
	third := target.Workspace(t)
	acctest.Must(t, third.Write(block(target, oldTemplate, "")))
	for id, want := range map[string]string{"adopt:" + vmid: "marker", fmt.Sprint(target.Template): "range", "x/y/z": "no import id"} {
		if output, err := third.Run(ctx, "import", address, id); err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), want) {
			t.Errorf("import of %q: %v, want %q", id, err, want)
		}
	}
	acctest.MustRun(t, first, "destroy", "-auto-approve")
}

const lifecycleImported = `
  memory       = { mib = 256 }
  mount_points = { mp0 = { storage = "local-lvm", size_gib = 2, path = "/data", backup = true } }
  network      = { net0 = { bridge = "vmbr0", ipv4 = { method = "dhcp" } } }
  features     = { nesting = true }
`

// make20000 makes a container by hand.
func make20000(t *testing.T, target *acctest.Target) {
	t.Helper()
	params := byhand.Params{"vmid": 20000, "ostemplate": oldTemplate, "rootfs": "local-lvm:1", "hostname": "stranger"}
	acctest.Must(t, target.Hand.Task(context.Background(), http.MethodPost, "/nodes/"+target.Node+"/lxc", params))
}

func destroyByHand(t *testing.T, target *acctest.Target, vmid int) {
	t.Helper()
	acctest.Must(t, target.Hand.Task(context.Background(), http.MethodDelete, fmt.Sprintf("/nodes/%s/lxc/%d", target.Node, vmid), nil))
}

// TestAccContainer_unknownVolumes: a volume that was added by hand blocks the
// destruction, in the plan, until that is allowed.
func TestAccContainer_unknownVolumes(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(block(target, oldTemplate, `power = "stopped"`)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	vmid := only(t, target)
	byHand(t, target, vmid, byhand.Params{"mp7": "local-lvm:1,mp=/by-hand"})

	output, err := workspace.Run(ctx, "destroy", "-auto-approve")
	if err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), fmt.Sprintf("mp7=local-lvm:vm-%d-disk-1", vmid)) {
		t.Errorf("the destruction is not refused: %v\n%s", err, output)
	}
	if got := only(t, target); got != vmid {
		t.Fatalf("container %d is gone", vmid)
	}
	acctest.Must(t, workspace.Write(block(target, oldTemplate, "power = \"stopped\"\n  on_destroy = { unknown_disks = \"destroy\" }")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if left := containers(t, target); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}
