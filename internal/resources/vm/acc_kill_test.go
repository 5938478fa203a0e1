package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// killed runs a command and kills the provider with SIGKILL when the lab has
// done the call that comes after skip others, before its answer. It reports
// false if the command came to its end before that.
func killed(t *testing.T, target *acctest.Target, workspace *cli.Workspace, skip int, args ...string) bool {
	t.Helper()

	return killedAt(t, target, workspace, pvelab.Fault{Path: ".*", Skip: skip}, args...)
}

// killedAt does the same at the call that a fault describes.
func killedAt(t *testing.T, target *acctest.Target, workspace *cli.Workspace, at pvelab.Fault, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	faults := target.Lab.Faults()
	at.Hold = true
	id, err := faults.Add(at)
	acctest.Must(t, err)
	defer faults.Remove(id)

	process, err := workspace.Start(ctx, args...)
	acctest.Must(t, err)
	ended := make(chan error, 1)
	go func() {
		output, err := process.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, output)
		}
		ended <- err
	}()
	reached := make(chan error, 1)
	go func() { reached <- faults.Reached(ctx, id) }()
	select {
	case err := <-ended:
		acctest.Must(t, err)
		return false
	case err := <-reached:
		acctest.Must(t, err)
	}
	acctest.Must(t, workspace.KillProvider())
	if err := <-ended; err == nil {
		t.Error("the CLI took a provider that was killed for a success")
	}

	return true
}

// recovers applies again until a VM is in the state: an unfinished one of the
// run that was killed is named, imported and finished.
func recovers(t *testing.T, target *acctest.Target, workspace *cli.Workspace, name string) (output string) {
	t.Helper()
	ctx := context.Background()
	output, err := workspace.Apply(ctx)
	if err == nil {
		return output
	}
	said(t, output, "did not finish", "import", "destroy")
	unfinished := target.One(t, name).VMID
	said(t, output, strconv.Itoa(unfinished))
	acctest.MustRun(t, workspace, "import", address, strconv.Itoa(unfinished))

	return acctest.MustRun(t, workspace, "apply", "-auto-approve")
}

// volumes are the volumes of the test's ids on all storages of all nodes.
func volumes(t *testing.T, target *acctest.Target) map[string]int {
	t.Helper()
	ctx := context.Background()
	found := map[string]int{}
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		for _, storage := range []string{"local", "local-lvm", "local-zfs", "shared-nfs"} {
			var content []struct {
				VolID string `json:"volid"`
				VMID  int    `json:"vmid"`
			}
			path := fmt.Sprintf("/nodes/%s/storage/%s/content", node, storage)
			acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, path, byhand.Params{"content": "images"}, &content))
			for _, volume := range content {
				if volume.VMID >= target.First && volume.VMID <= target.Last {
					found[node+" "+volume.VolID] = volume.VMID
				}
			}
		}
	}

	return found
}

// accounted wants every volume to belong to a guest that there is.
func accounted(t *testing.T, target *acctest.Target, guests ...int) {
	t.Helper()
	for volume, vmid := range volumes(t, target) {
		owned := false
		for _, guest := range guests {
			owned = owned || guest == vmid
		}
		if !owned {
			t.Errorf("the volume %s belongs to nobody", volume)
		}
	}
}

// killable is a VM whose life makes every kind of call: it is grown, started
// and waited for.
func killable(target *acctest.Target, facts acctest.Facts, name string, cores int) string {
	return target.Provider() + vmBlock("test", target, name, fmt.Sprintf(`
  cpu        = { cores = %d }
  disks      = { %s = { size_gib = %d } }
  agent      = { enabled = true }
  cloud_init = { user = "ops" }
  wait_for   = "agent"
  reboot     = "auto"
`, cores, facts.BootDisk, facts.SizeGiB+cores))
}

// bystander is a stranger's VM in the test's ids, and the check that it was left
// alone.
func bystander(t *testing.T, target *acctest.Target) (vmid int, check func()) {
	t.Helper()
	vmid = target.Foreign(0)
	acctest.Must(t, target.Hand.CreateVM(context.Background(), target.Node, vmid, byhand.Params{"name": "acc-bystander", "scsi0": "local-lvm:1"}))

	return vmid, untouched(t, target, vmid)
}

// TestAccVM_killedInCreate kills the provider after every single call of a
// create. One VM is there in the end, or the run has said which are.
func TestAccVM_killedInCreate(t *testing.T) {
	if testing.Short() {
		t.Skip("creates a VM for every call that a create makes")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	facts := target.Facts(t)
	stranger, check := bystander(t, target)
	calls, more := 0, true
	for ; more; calls++ {
		name := fmt.Sprintf("acc-killed-%d", calls)
		more, _ = killedCreate(t, target, name, killable(target, facts, name, 1), pvelab.Fault{Path: ".*", Skip: calls})
		accounted(t, target, stranger)
		check()
	}
	t.Logf("killed after each of %d calls", calls-1)

	// How many polls come before it differs, so that no number tells the last call.
	if _, lost := killedCreate(t, target, "acc-killed-last", killable(target, facts, "acc-killed-last", 1), lastCall); !lost {
		t.Error("killed at its last call a create leaves no finished VM outside the state")
	}
	accounted(t, target, stranger)
	check()
}

// lastCall is the last one of a create: the write that says that the VM is finished.
var lastCall = pvelab.Fault{Method: http.MethodPut, Path: configPath, Skip: 1}

// killedCreate kills the provider at a call of a create, recovers, and destroys. It
// reports whether it came to that call, and whether the VM was finished and in no
// state then.
func killedCreate(t *testing.T, target *acctest.Target, name, configuration string, at pvelab.Fault) (hit, unsaved bool) {
	t.Helper()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(configuration))
	acctest.MustRun(t, workspace, "plan", "-out", "create.plan")
	hit = killedAt(t, target, workspace, at, "apply", "create.plan")
	settled(t, target)
	lost := finishedButUnsaved(t, target, workspace, name)
	output := recovers(t, target, workspace, name)
	if lost != 0 {
		said(t, output, "warning", "finished guest of this name", strconv.Itoa(lost))
		acctest.Must(t, target.Hand.Destroy(context.Background(), lost))
	}
	one := target.One(t, name).VMID
	if vmidOf(acctest.Resource(t, workspace, address)) != one {
		t.Errorf("%s: PVE has VM %d, the state another", name, one)
	}
	accounted(t, target, target.Foreign(0), one)
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("%s: the plan is not empty: %v\n%s", name, err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")

	return hit, lost != 0
}

// TestAccVM_lastCall: nothing follows the write that says that the VM is
// finished. So there is one moment only, until the CLI has saved what the
// provider returns, in which a kill leaves a finished VM in no state.
func TestAccVM_lastCall(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	ctx, faults := context.Background(), target.Lab.Faults()
	last, err := faults.Add(pvelab.Fault{Method: lastCall.Method, Path: lastCall.Path, Skip: lastCall.Skip, Hold: true})
	acctest.Must(t, err)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(killable(target, target.Facts(t), "acc-last", 1)))
	process, err := workspace.Start(ctx, "apply", "-auto-approve")
	acctest.Must(t, err)
	acctest.Must(t, faults.Reached(ctx, last))
	before := target.Lab.Counters().Snapshot()
	faults.Release(last)
	output, err := process.Wait()
	acctest.Must(t, err)
	said(t, output, "1 added")
	if after := target.Lab.Counters().Snapshot().Sub(before); after.Total > 0 {
		t.Errorf("these follow the last write: %v", after.Requests)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}

// finishedButUnsaved finds a VM that is finished by its marker and in no state.
func finishedButUnsaved(t *testing.T, target *acctest.Target, workspace *cli.Workspace, name string) int {
	t.Helper()
	ctx := context.Background()
	state, err := workspace.State(ctx)
	acctest.Must(t, err)
	found := target.Named(t, name)
	if _, saved := state.Resource(address); saved || len(found) == 0 {
		return 0
	}
	config, err := target.Hand.Config(ctx, found[0].VMID)
	acctest.Must(t, err)
	if !strings.Contains(config["description"], "terraform-proxmox-uid=") || strings.Contains(config["description"], " creating") {
		return 0
	}

	return found[0].VMID
}

// settled waits until PVE has ended what the killed run began.
func settled(t *testing.T, target *acctest.Target) {
	t.Helper()
	eventually(t, "all tasks end", func() bool {
		for _, node := range []string{"pve1", "pve2", "pve3"} {
			var tasks []struct{}
			acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, "/nodes/"+node+"/tasks", byhand.Params{"source": "active"}, &tasks))
			if len(tasks) > 0 {
				return false
			}
		}

		return true
	})
}

// TestAccVM_killedInUpdate kills the provider after every single call of an
// update that grows a disk, changes the processors and restarts the VM.
func TestAccVM_killedInUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("updates a VM for every call that an update makes")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	facts := target.Facts(t)
	stranger, check := bystander(t, target)
	ctx := context.Background()
	const name = "acc-killed-update"
	workspace, vm := applied(t, target, killable(target, facts, name, 1))
	for skip, more := 0, true; more; skip++ {
		acctest.Must(t, workspace.Write(killable(target, facts, name, skip+2)))
		acctest.MustRun(t, workspace, "plan", "-out", "update.plan")
		if more = killed(t, target, workspace, skip, "apply", "update.plan"); !more {
			t.Logf("killed after each of %d calls", skip)
		}
		settled(t, target)
		acctest.MustRun(t, workspace, "apply", "-auto-approve")
		if one := target.One(t, name).VMID; one != vmidOf(vm) {
			t.Errorf("call %d: VM %d became %d", skip, vmidOf(vm), one)
		}
		config, err := target.Hand.Config(ctx, vmidOf(vm))
		acctest.Must(t, err)
		if config["cores"] != strconv.Itoa(skip+2) {
			t.Errorf("call %d: cores are %s, not %d", skip, config["cores"], skip+2)
		}
		if changes, output, err := workspace.Plan(ctx); err != nil || changes {
			t.Errorf("call %d: the plan is not empty: %v\n%s", skip, err, output)
		}
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	accounted(t, target, stranger)
	check()
}

// TestAccVM_killedInDelete kills the provider after every single call of the
// destruction of a running VM.
func TestAccVM_killedInDelete(t *testing.T) {
	if testing.Short() {
		t.Skip("destroys a VM for every call that a destroy makes")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	facts := target.Facts(t)
	stranger, check := bystander(t, target)
	for skip, more := 0, true; more; skip++ {
		name := fmt.Sprintf("acc-killed-delete-%d", skip)
		workspace, _ := applied(t, target, killable(target, facts, name, 1))
		acctest.MustRun(t, workspace, "plan", "-destroy", "-out", "destroy.plan")
		if more = killed(t, target, workspace, skip, "apply", "destroy.plan"); !more {
			t.Logf("killed after each of %d calls", skip)
		}
		settled(t, target)
		acctest.MustRun(t, workspace, "destroy", "-auto-approve")
		acctest.Must(t, target.CheckGone(name)(nil))
		accounted(t, target, stranger)
		check()
	}
}
