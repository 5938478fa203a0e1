package vm_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// eventually polls until the condition holds, for a minute at most.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// hold stops the next task of a type in its middle, until it is released.
type hold struct {
	faults *pvelab.Faults
	id     int
}

func holdNext(t *testing.T, target *acctest.Target, taskType string) hold {
	t.Helper()
	id, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: taskType, Hold: true})
	acctest.Must(t, err)

	return hold{faults: target.Lab.Faults(), id: id}
}

// reached waits until the task stands in its middle.
func (h hold) reached(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acctest.Must(t, h.faults.Reached(ctx, h.id))
}

func (h hold) release() { h.faults.Release(h.id) }

// finishes applies again and wants the same VM, finished, and nothing left to do.
func finishes(t *testing.T, target *acctest.Target, workspace *cli.Workspace, name string) {
	t.Helper()
	ctx := context.Background()

	interrupted := acctest.Resource(t, workspace, address)
	if interrupted.Tainted {
		t.Error("the interrupted VM is tainted: the next apply would destroy it")
	}
	output := acctest.MustRun(t, workspace, "apply", "-auto-approve")
	said(t, output, "0 destroyed", "1 changed")
	finished := acctest.Resource(t, workspace, address)
	if vmidOf(finished) != vmidOf(interrupted) {
		t.Errorf("the next apply made VM %d, but %d was begun", vmidOf(finished), vmidOf(interrupted))
	}
	if finished.Values["provisioned"] != true {
		t.Error("the VM is not provisioned after the next apply")
	}
	target.One(t, name)
	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("a third plan is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	acctest.Must(t, target.CheckGone(name)(nil))
}

// TestAccVM_interruptClone presses Ctrl-C in the middle of the clone. The VM is
// in state, not tainted, and the next apply finishes it.
func TestAccVM_interruptClone(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	hold := holdNext(t, target, "qmclone")
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-ctrl-c", `description = "kept"`)))

	process, err := workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	hold.reached(t)
	acctest.Must(t, process.Interrupt())
	output, _ := process.Wait()
	said(t, output, "warning", "interrupt")
	hold.release()

	finishes(t, target, workspace, "acc-ctrl-c")
}

// TestAccVM_interruptWait presses Ctrl-C while the agent of a started VM is
// waited for.
func TestAccVM_interruptWait(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	silent, err := target.Lab.Faults().Add(pvelab.Fault{
		Path: "/nodes/[^/]+/qemu/[0-9]+/agent/.*", Status: 500, Text: "QEMU guest agent is not running", Times: -1,
	})
	acctest.Must(t, err)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-ctrl-c-wait", `
  agent    = { enabled = true }
  wait_for = "agent"
`)))

	process, err := workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	eventually(t, "the VM runs", func() bool {
		found := target.Named(t, "acc-ctrl-c-wait")
		if len(found) != 1 {
			return false
		}
		status, err := target.Hand.Status(context.Background(), found[0].VMID)
		acctest.Must(t, err)

		return status == "running"
	})
	acctest.Must(t, process.Interrupt())
	output, _ := process.Wait()
	said(t, output, "warning")
	target.Lab.Faults().Remove(silent)

	finishes(t, target, workspace, "acc-ctrl-c-wait")
}

// TestAccVM_killClone kills the CLI and the provider in the middle of a clone,
// as a power cut would. Nothing could be saved, so the next apply names the
// unfinished guest and makes no second one.
func TestAccVM_killClone(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	hold := holdNext(t, target, "qmclone")
	ctx := context.Background()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-killed", `power = "stopped"`)))

	process, err := workspace.Start(ctx, "apply", "-auto-approve")
	acctest.Must(t, err)
	hold.reached(t)
	acctest.Must(t, process.Kill())
	_, _ = process.Wait()
	hold.release()

	output, err := workspace.Run(ctx, "apply", "-auto-approve", "-lock=false")
	if err == nil {
		t.Fatalf("a second VM was made beside the unfinished one:\n%s", output)
	}
	unfinished := target.One(t, "acc-killed")
	said(t, output, "did not finish", "import", "destroy")
	said(t, output, strconv.Itoa(unfinished.VMID))

	// One of the two ways out: import it, and the apply finishes it.
	acctest.MustRun(t, workspace, "import", "-lock=false", address, strconv.Itoa(unfinished.VMID))
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-lock=false")
	if target.One(t, "acc-killed").VMID != unfinished.VMID {
		t.Error("the import was replaced")
	}
	if changes, output, err := workspace.Plan(ctx, "-lock=false"); err != nil || changes {
		t.Errorf("the plan after import and apply is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-lock=false")
	acctest.Must(t, target.CheckGone("acc-killed")(nil))
}

// TestAccVM_killProvider kills the provider alone in the middle of a clone: the
// CLI reports the crash and the VM is unfinished.
func TestAccVM_killProvider(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	hold := holdNext(t, target, "qmclone")
	ctx := context.Background()
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-crashed", `power = "stopped"`)))

	process, err := workspace.Start(ctx, "apply", "-auto-approve")
	acctest.Must(t, err)
	hold.reached(t)
	acctest.Must(t, workspace.KillProvider())
	_, _ = process.Wait()
	hold.release()

	output, err := workspace.Apply(ctx)
	if err == nil {
		t.Fatalf("a second VM was made beside the unfinished one:\n%s", output)
	}
	said(t, output, "did not finish", strconv.Itoa(target.One(t, "acc-crashed").VMID))
}

// heals applies once more after a failure: exactly one VM is there then, the
// plan is empty, and destroying leaves nothing.
func heals(t *testing.T, target *acctest.Target, workspace *cli.Workspace, name string) {
	t.Helper()
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if one := target.One(t, name); one.VMID != vmidOf(acctest.Resource(t, workspace, address)) {
		t.Errorf("PVE has VM %d, the state another", one.VMID)
	}
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	onlyTemplatesLeft(t, target)
}
