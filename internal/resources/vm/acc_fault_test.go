package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	clonePath      = "/nodes/[^/]+/qemu/9000/clone"
	taskStatusPath = "/nodes/[^/]+/tasks/[^/]+/status"
	configPath     = "/nodes/[^/]+/qemu/2[0-9]+/config"
)

// survived are faults that a user never notices: one apply, one VM.
var survived = map[string]struct {
	calls []pvelab.Fault
	tasks []pvelab.TaskFault
}{
	"answer to the clone lost before PVE took it": {calls: []pvelab.Fault{
		{Method: http.MethodPost, Path: clonePath, Drop: pvelab.DropBefore},
	}},
	"answer to the clone lost after PVE took it": {calls: []pvelab.Fault{
		{Method: http.MethodPost, Path: clonePath, Drop: pvelab.DropAfter},
	}},
	"answer to the clone cut in its body": {calls: []pvelab.Fault{
		{Method: http.MethodPost, Path: clonePath, Drop: pvelab.DropBody},
	}},
	"596 while polling": {calls: []pvelab.Fault{
		{Path: taskStatusPath, Status: 596, Text: "Connection timed out", Times: 3},
	}},
	"500 while polling": {calls: []pvelab.Fault{
		{Path: taskStatusPath, Status: 500, Text: "unable to open file", Times: 2},
	}},
	"EOF while polling": {calls: []pvelab.Fault{
		{Path: taskStatusPath, Drop: pvelab.DropBefore, Times: 3},
	}},
	"lock time-out of the clone's call": {calls: []pvelab.Fault{
		pvelab.LockTimeout(http.MethodPost, clonePath, 9000),
	}},
	"lock time-out as the clone's exit status": {tasks: []pvelab.TaskFault{
		pvelab.TaskLockTimeout("qmclone", "9000", 9000),
	}},
	"lock time-out of the configuration": {calls: []pvelab.Fault{
		pvelab.LockTimeout(http.MethodPut, configPath, 20000),
	}},
	"lock time-out as the start's exit status": {tasks: []pvelab.TaskFault{
		pvelab.TaskLockTimeout("qmstart", "", 20000),
	}},
	"answer to the configuration lost after PVE took it": {calls: []pvelab.Fault{
		{Method: http.MethodPut, Path: configPath, Drop: pvelab.DropAfter},
	}},
	"answer to the start lost after PVE took it": {calls: []pvelab.Fault{
		{Method: http.MethodPost, Path: "/nodes/[^/]+/qemu/2[0-9]+/status/start", Drop: pvelab.DropAfter},
	}},
}

func TestAccVM_faultsSurvived(t *testing.T) {
	t.Parallel()
	for name, faults := range survived {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			var added []int
			for _, fault := range faults.calls {
				id, err := target.Lab.Faults().Add(fault)
				acctest.Must(t, err)
				added = append(added, id)
			}
			for _, fault := range faults.tasks {
				id, err := target.Lab.Faults().AddTask(fault)
				acctest.Must(t, err)
				added = append(added, id)
			}

			workspace, vm := applied(t, target, target.Provider()+vmBlock("test", target, "acc-fault", `tags = ["t"]`))
			for _, id := range added {
				if target.Lab.Faults().Hits(id) == 0 {
					t.Error("the fault did not happen: the test proves nothing")
				}
			}
			one := target.One(t, "acc-fault")
			if one.VMID != vmidOf(vm) {
				t.Errorf("the state names VM %d, PVE has %d", vmidOf(vm), one.VMID)
			}
			if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
				t.Errorf("the plan is not empty: %v\n%s", err, output)
			}
			acctest.MustRun(t, workspace, "destroy", "-auto-approve")
			onlyTemplatesLeft(t, target)
		})
	}
}

// onlyTemplatesLeft wants no guest in the test's ids, whatever its name.
func onlyTemplatesLeft(t *testing.T, target *acctest.Target) {
	t.Helper()
	guests, err := target.Hand.LiveVMs(context.Background())
	acctest.Must(t, err)
	for _, guest := range guests {
		if guest.VMID >= target.First && guest.VMID <= target.Last {
			t.Errorf("guest %d %q is left", guest.VMID, guest.Name)
		}
	}
}

// TestAccVM_faultsReported are faults that end an apply: it says what happened,
// and the next apply heals without a second VM.
func TestAccVM_faultsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault pvelab.TaskFault
		want  []string
	}{
		"the clone fails": {
			pvelab.TaskFault{Type: "qmclone", Log: []string{"copying disk", "no space left on device"}, Exit: "clone failed: copy failed"},
			[]string{"clone failed: copy failed", "no space left on device"},
		},
		"the resize fails": {
			pvelab.TaskFault{Type: "resize", Log: []string{"lvextend says no"}, Exit: "volume resize failed"},
			[]string{"volume resize failed", "lvextend says no"},
		},
		"the start fails": {
			pvelab.TaskFault{Type: "qmstart", Log: []string{"kvm: no such device"}, Exit: "start failed: QEMU exited with code 1"},
			[]string{"start failed: QEMU exited with code 1", "kvm: no such device"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			facts := target.Facts(t)
			_, err := target.Lab.Faults().AddTask(test.fault)
			acctest.Must(t, err)

			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-failed",
				fmt.Sprintf("disks = { %s = { size_gib = %d } }", facts.BootDisk, facts.SizeGiB+1))))
			output, err := workspace.Apply(context.Background())
			if err == nil {
				t.Errorf("the apply succeeded:\n%s", output)
			}
			said(t, output, test.want...)

			heals(t, target, workspace, "acc-failed")
		})
	}
}

// TestAccVM_taskWarnings shows what a task warned of, and goes on.
func TestAccVM_taskWarnings(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	_, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: "qmclone", Warnings: []string{"the thin pool is nearly full"}})
	acctest.Must(t, err)

	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(plain(target, "acc-warned", "")))
	output := acctest.MustRun(t, workspace, "apply", "-auto-approve")
	said(t, output, "warning", "the thin pool is nearly full")
	heals(t, target, workspace, "acc-warned")
}

// TestAccVM_nodeLostMidTask takes the node away while it clones. PVE's worker is
// lost with it, and the stub keeps its lock for ever: no token may remove that,
// so the provider says who can, touches nothing, and goes on when it was done.
func TestAccVM_nodeLostMidTask(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	faults := target.Lab.Faults()
	held := holdNext(t, target, "qmclone")
	workspace := target.Workspace(t)
	// Another node answers the API than the one that is lost.
	elsewhere := *target
	elsewhere.Endpoint = target.Lab.NodeURL("pve3")
	acctest.Must(t, workspace.Write(elsewhere.Provider()+vmBlock("test", target, "acc-away", `power = "stopped"`)))

	process, err := workspace.Start(ctx, "apply", "-auto-approve")
	acctest.Must(t, err)
	held.reached(t)
	acctest.Must(t, faults.NodeOffline("pve1"))
	before := target.Lab.Counters().Snapshot()
	eventually(t, "the provider asks after the task that is lost", func() bool {
		return target.Lab.Counters().Snapshot().Sub(before).Requests["GET /nodes/{node}/tasks/{upid}/status"] > 0
	})
	acctest.Must(t, faults.NodeOnline("pve1"))
	held.release()
	if output, err := process.Wait(); err == nil {
		t.Fatalf("a clone that was lost counts as a success:\n%s", output)
	}

	left := acctest.Resource(t, workspace, address)
	output, err := workspace.Apply(ctx)
	if err == nil {
		t.Errorf("a locked stub was taken for ours:\n%s", output)
	}
	said(t, output, fmt.Sprintf("qm unlock %d", vmidOf(left)))

	root, err := byhand.Login(ctx, target.Endpoint, "root@pam", target.Lab.RootPassword(), target.Lab.CAPEM())
	acctest.Must(t, err)
	acctest.Must(t, root.Task(ctx, http.MethodDelete, fmt.Sprintf("/nodes/pve1/qemu/%d", vmidOf(left)), byhand.Params{"skiplock": 1}))
	heals(t, target, workspace, "acc-away")
}

// TestAccVM_nodeAwayAtRefresh keeps what it cannot see: no plan to make it anew,
// and no change until the node is back.
func TestAccVM_nodeAwayAtRefresh(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(tag string) string {
		return target.Provider() + vmBlock("test", target, "acc-offline",
			fmt.Sprintf("node = \"pve2\"\nstorage = \"shared-nfs\"\npower = \"stopped\"\ntags = [%q]", tag))
	}
	workspace, vm := applied(t, target, config("one"))
	acctest.Must(t, target.Lab.Faults().NodeOffline("pve2"))

	changes, output, err := workspace.Plan(ctx)
	acctest.Must(t, err)
	if changes {
		t.Errorf("a VM on a node that is away is planned anew:\n%s", output)
	}
	said(t, output, "warning", "pve2")
	acctest.Must(t, workspace.Write(config("two")))
	if output, err := workspace.Apply(ctx); err == nil {
		t.Errorf("a VM that could not be seen was changed:\n%s", output)
	}

	acctest.Must(t, target.Lab.Faults().NodeOnline("pve2"))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if after := acctest.Resource(t, workspace, address); vmidOf(after) != vmidOf(vm) {
		t.Errorf("VM %d became %d", vmidOf(vm), vmidOf(after))
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
