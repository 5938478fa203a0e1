package vm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
)

// plain is the smallest useful VM: stopped, so that tests are quick on a real
// node too. body adds attributes.
func plain(target *acctest.Target, name, body string) string {
	return target.Provider() + vmBlock("test", target, name, "power = \"stopped\"\n"+body)
}

func vmBlock(label string, target *acctest.Target, name, body string) string {
	return fmt.Sprintf(`
resource "proxmox_vm" %q {
  name     = %q
  template = %d
  %s
}
`, label, name, target.Template, body)
}

// applied returns a workspace in which the configuration was applied, and the
// VM that it made.
func applied(t *testing.T, target *acctest.Target, config string) (*cli.Workspace, cli.Resource) {
	t.Helper()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")

	return workspace, acctest.Resource(t, workspace, address)
}

func vmidOf(vm cli.Resource) int {
	number, _ := vm.Values["vmid"].(float64)

	return int(number)
}

// untouched returns a check that a guest's configuration and power are as they
// were when untouched was called.
func untouched(t *testing.T, target *acctest.Target, vmid int) func() {
	t.Helper()
	ctx := context.Background()
	before, err := target.Hand.Config(ctx, vmid)
	acctest.Must(t, err)
	power, err := target.Hand.Status(ctx, vmid)
	acctest.Must(t, err)

	return func() {
		t.Helper()
		after, err := target.Hand.Config(ctx, vmid)
		if err != nil {
			t.Errorf("the stranger %d: %v", vmid, err)
			return
		}
		if before["digest"] != after["digest"] {
			t.Errorf("the stranger %d was changed: %v, before %v", vmid, after, before)
		}
		if now, err := target.Hand.Status(ctx, vmid); err != nil || now != power {
			t.Errorf("the stranger %d is %s (%v), before %s", vmid, now, err, power)
		}
	}
}

func planFails(t *testing.T, workspace *cli.Workspace, want ...string) {
	t.Helper()
	_, output, err := workspace.Plan(context.Background())
	if err == nil {
		t.Fatalf("the plan succeeded:\n%s", output)
	}
	said(t, output, want...)
}

func said(t *testing.T, output string, want ...string) {
	t.Helper()
	flat := strings.ToLower(acctest.Unwrap(output))
	for _, part := range want {
		if !strings.Contains(flat, strings.ToLower(part)) {
			t.Errorf("%q is not said:\n%s", part, output)
		}
	}
}

// TestAccVM_copyOfMarker clones our VM by hand. The copy carries our marker
// line, but with another id in it: it is a stranger.
func TestAccVM_copyOfMarker(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	workspace, vm := applied(t, target, plain(target, "acc-original", ""))

	copied := target.Foreign(0)
	acctest.Must(t, target.Hand.Clone(ctx, vmidOf(vm), copied, "acc-copy", nil))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, copied)) })
	check := untouched(t, target, copied)

	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	other := target.Workspace(t)
	acctest.Must(t, other.Write(plain(target, "acc-copy", "")))
	if output, err := other.Run(ctx, "import", address, fmt.Sprint(copied)); err == nil {
		t.Errorf("the copy could be imported:\n%s", output)
	}

	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	check()
}

// TestAccVM_markerDeleted removes the marker by hand. The VM is still known by
// its SMBIOS uuid and creation time: it stays in state, and nothing changes it
// or makes a second one.
func TestAccVM_markerDeleted(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	workspace, vm := applied(t, target, plain(target, "acc-damaged", `description = "ours"`))
	original, err := target.Hand.Config(ctx, vmidOf(vm))
	acctest.Must(t, err)
	acctest.Must(t, target.Hand.Configure(ctx, vmidOf(vm), byhand.Params{"description": "ours"}))
	check := untouched(t, target, vmidOf(vm))

	_, output, err := workspace.Plan(ctx)
	acctest.Must(t, err)
	said(t, output, "warning", "marker")

	acctest.Must(t, workspace.Write(plain(target, "acc-damaged", `description = "changed"`)))
	output, err = workspace.Apply(ctx)
	if err == nil {
		t.Errorf("a VM without marker was changed:\n%s", output)
	}
	said(t, output, "marker")
	if output, err = workspace.Destroy(ctx); err == nil {
		t.Errorf("a VM without marker was destroyed:\n%s", output)
	}
	check()
	target.One(t, "acc-damaged")

	// Put back by hand, all is as before.
	acctest.Must(t, target.Hand.Configure(ctx, vmidOf(vm), byhand.Params{"description": original["description"]}))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	acctest.Must(t, target.CheckGone("acc-damaged")(nil))
}

// TestAccVM_takenOver destroys our VM by hand and lets a stranger take its id.
func TestAccVM_takenOver(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	workspace, vm := applied(t, target, plain(target, "acc-ours", `tags = ["ours"]`))
	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	acctest.Must(t, target.Hand.Clone(ctx, target.Template, vmidOf(vm), "acc-stranger", byhand.Params{"description": "mine"}))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm))) })
	acctest.Must(t, target.Hand.Power(ctx, vmidOf(vm), "start"))
	check := untouched(t, target, vmidOf(vm))

	changes, output, err := workspace.Plan(ctx)
	acctest.Must(t, err)
	if !changes {
		t.Errorf("the plan is empty:\n%s", output)
	}
	said(t, output, fmt.Sprint(vmidOf(vm)), "will be created")

	// Destroyed from a state that still names the id, without a refresh first.
	output, err = workspace.Destroy(ctx, "-refresh=false")
	if err != nil {
		t.Errorf("destroying what is gone is no error: %v\n%s", err, output)
	}
	said(t, output, "was gone already", "left alone", "it carries no marker")
	check()
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	check()
	if ours := target.One(t, "acc-ours"); ours.VMID == vmidOf(vm) {
		t.Errorf("the new VM has the stranger's id %d", ours.VMID)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	check()
}

// TestAccVM_takenOverUpdate is the same for an update from a stale state.
func TestAccVM_takenOverUpdate(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	workspace, vm := applied(t, target, plain(target, "acc-ours-2", ""))
	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	acctest.Must(t, target.Hand.Clone(ctx, target.Template, vmidOf(vm), "acc-stranger-2", nil))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm))) })
	check := untouched(t, target, vmidOf(vm))

	acctest.Must(t, workspace.Write(plain(target, "acc-ours-2", "cpu = { cores = 2 }\ntags = [\"ours\"]")))
	output, err := workspace.Apply(ctx, "-refresh=false")
	if err == nil {
		t.Errorf("the stranger was taken for ours:\n%s", output)
	}
	said(t, output, fmt.Sprint(vmidOf(vm)), "not the provider's own", "it carries no marker")
	check()
}

// TestAccVM_sameName has a stranger with the name of our VM.
func TestAccVM_sameName(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	stranger := target.Foreign(0)
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, stranger, byhand.Params{"name": "acc-twin"}))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, stranger)) })
	check := untouched(t, target, stranger)

	config := target.Provider() + vmBlock("test", target, "acc-twin", "vmid = "+fmt.Sprint(target.First)+"\npower = \"stopped\"")
	workspace, vm := applied(t, target, config)
	if vmidOf(vm) != target.First {
		t.Errorf("vmid is %d, configured was %d", vmidOf(vm), target.First)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	check()
}

// TestAccVM_vmidTaken asks for an id that a stranger has: at plan, and when
// the stranger came between plan and apply.
func TestAccVM_vmidTaken(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	vmid := target.First + 5
	config := target.Provider() + vmBlock("test", target, "acc-taken", "vmid = "+fmt.Sprint(vmid))
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config))
	acctest.MustRun(t, workspace, "plan", "-out", "saved.plan")

	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, vmid, byhand.Params{"name": "acc-first-come"}))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, vmid)) })
	check := untouched(t, target, vmid)

	output, err := workspace.Run(ctx, "apply", "saved.plan")
	var exit *cli.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("the id of a stranger was taken: %v", err)
	}
	said(t, output, fmt.Sprint(vmid), "taken")
	if output, err := workspace.Run(ctx, "state", "list"); err == nil && strings.Contains(output, "proxmox_vm") {
		t.Errorf("the stranger is in the state:\n%s", output)
	}
	planFails(t, workspace, fmt.Sprint(vmid), "taken")
	check()
}
