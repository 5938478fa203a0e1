package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// emptyPlan wants nothing to do.
func emptyPlan(t *testing.T, workspace *cli.Workspace) {
	t.Helper()
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
}

// apply applies another configuration.
func apply(t *testing.T, workspace *cli.Workspace, config string) (output string) {
	t.Helper()
	acctest.Must(t, workspace.Write(config))

	return acctest.MustRun(t, workspace, "apply", "-auto-approve")
}

// refuses wants a command to fail, and to say so.
func refuses(t *testing.T, workspace *cli.Workspace, args []string, want ...string) {
	t.Helper()
	output, err := workspace.Run(context.Background(), args...)
	if err == nil {
		t.Fatalf("%v succeeded:\n%s", args, output)
	}
	said(t, output, want...)
}

var (
	destroyArgs = []string{"destroy", "-auto-approve"}
	applyArgs   = []string{"apply", "-auto-approve"}
)

// TestAccVM_unknownDisks adds a disk by hand and detaches another: destroying
// and replacing name them and do nothing, until it is said that they go too.
func TestAccVM_unknownDisks(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(body string) string {
		return plain(target, "acc-disks", "disks = { scsi3 = { size_gib = 1, storage = \"local-lvm\" } }\n"+body)
	}
	workspace, vm := applied(t, target, config(""))
	vmid := vmidOf(vm)
	acctest.Must(t, target.Hand.Configure(ctx, vmid, byhand.Params{"scsi5": "local-lvm:1"}))
	acctest.Must(t, target.Hand.Configure(ctx, vmid, byhand.Params{"virtio7": "local-lvm:1"}))
	acctest.Must(t, target.Hand.Configure(ctx, vmid, byhand.Params{"virtio7": nil}))
	before := volumes(t, target)
	emptyPlan(t, workspace)

	refuses(t, workspace, destroyArgs, "scsi5=local-lvm:", "unused0=local-lvm:", "unknown_disks")
	acctest.Must(t, workspace.Write(strings.Replace(config(""), fmt.Sprint(target.Template), "9001", 1)))
	refuses(t, workspace, applyArgs, "scsi5=local-lvm:", "unused0=local-lvm:")
	// Right before the call they are looked at once more.
	acctest.Must(t, workspace.Write(config("")))
	refuses(t, workspace, append(destroyArgs, "-refresh=false"), "scsi5=local-lvm:", "Nothing was stopped")
	if after := volumes(t, target); len(after) != len(before) {
		t.Errorf("the volumes are %v, before %v", after, before)
	}

	apply(t, workspace, config(`on_destroy = { unknown_disks = "destroy" }`))
	acctest.MustRun(t, workspace, destroyArgs...)
	accounted(t, target)
}

// TestAccVM_managed refuses in the plan to destroy what HA or replication stand
// on, and stops nothing.
func TestAccVM_managed(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-managed", "storage = \"local-zfs\"\n"+body)
	}
	workspace, vm := applied(t, target, config(""))
	vmid := vmidOf(vm)
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/cluster/replication",
		byhand.Params{"id": fmt.Sprintf("%d-0", vmid), "type": "local", "target": "pve2", "schedule": "*/15"}, nil))
	refuses(t, workspace, destroyArgs, fmt.Sprintf("job %d-0", vmid))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, fmt.Sprintf("/cluster/replication/%d-0", vmid), byhand.Params{"force": 1}, nil))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": fmt.Sprintf("vm:%d", vmid)}, nil))
	eventually(t, "HA sees the VM", func() bool {
		var status struct {
			HA struct {
				Managed int `json:"managed"`
			} `json:"ha"`
		}
		path := fmt.Sprintf("/nodes/%s/qemu/%d/status/current", target.Node, vmid)
		acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, path, nil, &status))
		var guests []struct {
			VMID    int    `json:"vmid"`
			HAState string `json:"hastate"`
		}
		acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, "/cluster/resources", byhand.Params{"type": "vm"}, &guests))
		for _, guest := range guests {
			if guest.VMID == vmid && guest.HAState != "" {
				return status.HA.Managed == 1
			}
		}

		return false
	})
	refuses(t, workspace, destroyArgs, "HA manager")
	if status, err := target.Hand.Status(ctx, vmid); err != nil || status != "running" {
		t.Errorf("the VM is %s (%v)", status, err)
	}
	apply(t, workspace, config("on_destroy = { purge = true }"))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, fmt.Sprintf("/cluster/ha/resources/vm:%d", vmid), nil, nil))
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_power goes through the powers, and leaves a VM alone that somebody
// else has stopped, unless that is to be repaired.
func TestAccVM_power(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-power", body)
	}
	workspace := target.Workspace(t)
	status := func(want string) {
		t.Helper()
		if got := acctest.Resource(t, workspace, address).Values["status"]; got != want {
			t.Errorf("status is %v, not %s", got, want)
		}
		emptyPlan(t, workspace)
	}
	apply(t, workspace, config(`power = "paused"`))
	status("paused")
	target.PowerByHand(t, "acc-power", "resume")
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-refresh-only")
	status("running")
	apply(t, workspace, config(`power = "running"`))
	status("running")
	apply(t, workspace, config(`power = "paused"`))
	apply(t, workspace, config(`power = "stopped"`))
	status("stopped")
	apply(t, workspace, config(`power = "running"`))
	target.PowerByHand(t, "acc-power", "stop")
	emptyPlan(t, workspace)
	apply(t, workspace, config("power = \"running\"\nenforce_power = true"))
	status("running")
	target.PowerByHand(t, "acc-power", "stop")
	output := acctest.MustRun(t, workspace, applyArgs...)
	said(t, output, "1 changed", `"stopped"`)
	status("running")
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_hardStop: a guest deaf to shutdowns is stopped when its time is over,
// or that is an error; a protected one is not even asked.
func TestAccVM_hardStop(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-deaf", body)
	}
	workspace, vm := applied(t, target, config(`stop = { shutdown_timeout = "5s", force = false }`))
	target.Lab.Faults().IgnoreShutdown(vmidOf(vm), true)
	refuses(t, workspace, destroyArgs, "timeout")
	apply(t, workspace, config("protection = true\nstop = { shutdown_timeout = \"5s\" }"))
	refuses(t, workspace, destroyArgs, "protected", "Nothing was stopped")
	if status, err := target.Hand.Status(ctx, vmidOf(vm)); err != nil || status != "running" {
		t.Errorf("the VM is %s (%v)", status, err)
	}
	apply(t, workspace, config("protection = false\nstop = { shutdown_timeout = \"5s\" }"))
	acctest.MustRun(t, workspace, destroyArgs...)
	onlyTemplatesLeft(t, target)
}

// TestAccVM_cloudInit waits for cloud-init: the VM is installing, then running;
// a failure is told in the guest's own words, and fails.
func TestAccVM_cloudInit(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(name, body string) string {
		return target.Provider() + vmBlock("test", target, name, "agent = { enabled = true }\ncloud_init = { user = \"ops\" }\nwait_for = \"cloud-init\"\n"+body)
	}
	workspace := target.Workspace(t)
	target.Lab.Faults().MuteAgent(target.First, true)
	output := apply(t, workspace, config("acc-cloud-init", `timeouts = { create = "8s" }`))
	said(t, output, "warning", "waiting for cloud-init")
	vm := acctest.Resource(t, workspace, address)
	if vm.Values["status"] != "installing" || vm.Values["provisioned"] != false || vm.Tainted {
		t.Errorf("status %v, provisioned %v, tainted %t", vm.Values["status"], vm.Values["provisioned"], vm.Tainted)
	}
	target.Lab.Faults().MuteAgent(target.First, false)
	apply(t, workspace, config("acc-cloud-init", ""))
	vm = acctest.Resource(t, workspace, address)
	if vm.Values["status"] != "running" || vm.Values["provisioned"] != true || vmidOf(vm) != target.First || vm.Values["addresses_stale"] != false {
		t.Errorf("VM %d: status %v, provisioned %v", vmidOf(vm), vm.Values["status"], vm.Values["provisioned"])
	}
	emptyPlan(t, workspace)
	acctest.MustRun(t, workspace, destroyArgs...)

	for vmid := target.First; vmid < target.First+3; vmid++ {
		target.Lab.Faults().FailCloudInit(vmid, "('scripts_user', RuntimeError('Runparts: 1 failures'))")
	}
	acctest.Must(t, workspace.Write(config("acc-cloud-fails", "")))
	refuses(t, workspace, applyArgs, "cloud-init failed", "Runparts: 1 failures")
	for vmid := target.First; vmid < target.First+3; vmid++ {
		target.Lab.Faults().FailCloudInit(vmid, "")
	}
	heals(t, target, workspace, "acc-cloud-fails")

	// Without the privilege it is refused in the plan, by name.
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/access/roles", byhand.Params{
		"roleid": "Blind", "privs": "VM.Audit,VM.Clone,VM.Allocate,VM.Config.Options,VM.Config.CPU,VM.Config.Memory,VM.Config.Disk,VM.Config.Network,VM.Config.Cloudinit,VM.Config.CDROM,VM.PowerMgmt,Datastore.AllocateSpace,Datastore.Audit,SDN.Use",
	}, nil))
	blind := restricted(t, target, "Blind")
	acctest.Must(t, workspace.Write(strings.ReplaceAll(config("acc-blind", ""), providerSecret(target), providerSecret(blind))))
	planFails(t, workspace, "VM.GuestAgent.FileRead", "cloud-init")
}

// restricted is the target with a token of its own that has one role everywhere.
func restricted(t *testing.T, target *acctest.Target, role string) *acctest.Target {
	t.Helper()
	ctx := context.Background()
	var token struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	user := "acc-" + strings.ToLower(role) + "@pve"
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/access/users", byhand.Params{"userid": user}, nil))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPut, "/access/acl", byhand.Params{"path": "/", "users": user, "roles": role}, nil))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/access/users/"+user+"/token/acc", byhand.Params{"privsep": 0}, &token))
	other := *target
	other.TokenID, other.TokenSecret = token.ID, token.Value

	return &other
}

// providerSecret are the lines of the provider block that sign in.
func providerSecret(target *acctest.Target) string {
	return fmt.Sprintf("token_id     = %q\n  token_secret = %q", target.TokenID, target.TokenSecret)
}
