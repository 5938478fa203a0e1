package vm_test

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

// starts counts the tasks that start or restart a VM on a node.
func starts(t *testing.T, target *acctest.Target) int {
	t.Helper()
	number := 0
	for _, typ := range []string{"qmstart", "qmreboot", "qmshutdown", "qmstop"} {
		var tasks []struct {
			UPID string `json:"upid"`
		}
		path := fmt.Sprintf("/nodes/%s/tasks", target.Node)
		acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, path, byhand.Params{"typefilter": typ, "source": "all"}, &tasks))
		number += len(tasks)
	}

	return number
}

// TestAccVM_silentAgent: an agent that never answers holds up nothing. The
// addresses known last stay, and are said to be stale.
func TestAccVM_silentAgent(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-silent", "agent = { enabled = true }\nnetwork = { net0 = {} }\ncloud_init = { interfaces = { net0 = { ipv4 = { method = \"dhcp\" } } } }\n"+body)
	}
	workspace, vm := applied(t, target, config(`wait_for = "agent"`))
	addresses := func() any {
		network, _ := acctest.Resource(t, workspace, address).Values["network"].(map[string]any)
		device, _ := network["net0"].(map[string]any)

		return fmt.Sprint(device["ipv4_addresses"])
	}
	known := addresses()
	if known == "[]" {
		t.Fatal("the agent told no address: the test proves nothing")
	}
	target.Lab.Faults().MuteAgent(vmidOf(vm), true)
	count := counted(t, target, workspace, "plan", "-detailed-exitcode")
	if asked := count.Requests["GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"]; asked != 1 {
		t.Errorf("the agent was asked %d times", asked)
	}
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-refresh-only")
	if addresses() != known || acctest.Resource(t, workspace, address).Values["addresses_stale"] != true {
		t.Errorf("the addresses were %s and are %s, stale: %v", known, addresses(), acctest.Resource(t, workspace, address).Values["addresses_stale"])
	}
	emptyPlan(t, workspace)
	count = counted(t, target, workspace, destroyArgs...)
	if asked := count.Requests["GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"]; asked > 1 {
		t.Errorf("the agent was asked %d times by a destroy", asked)
	}
}

// TestAccVM_changedWhileRunning: what a running VM cannot take waits and is named,
// or restarts it as the plan has said; all else is in the plan and restarts
// nothing: tags, an address, another order of what has none.
func TestAccVM_changedWhileRunning(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	config := func(host int, body string) string {
		return target.Provider() + vmBlock("test", target, "acc-changed", fmt.Sprintf(`
  network    = { net1 = { bridge = "vmbr1" }, net0 = {} }
  cloud_init = { interfaces = { net0 = { ipv4 = { address = "10.0.0.%d/24" } } } }
  %s
`, host, body))
	}
	workspace, _ := applied(t, target, config(5, "tags = [\"a\", \"b\"]"))
	began := starts(t, target)
	waits := func(want string) {
		t.Helper()
		if got := fmt.Sprint(acctest.Resource(t, workspace, address).Values["reboot_required"]); got != want {
			t.Errorf("waiting is %s, want %s", got, want)
		}
		emptyPlan(t, workspace)
	}

	acctest.Must(t, workspace.Write(strings.Replace(config(5, "tags = [\"b\", \"a\"]"), `net1 = { bridge = "vmbr1" }, net0 = {}`, `net0 = {}, net1 = { bridge = "vmbr1" }`, 1)))
	emptyPlan(t, workspace)
	output := apply(t, workspace, config(6, "tags = [\"c\"]"))
	said(t, output, "10.0.0.6/24", "1 changed", "0 destroyed")
	waits("[]")
	apply(t, workspace, config(6, "tags = [\"c\"]\ncpu = { cores = 3 }\nmemory = { mib = 1024 }"))
	waits("[cores memory]")
	if now := starts(t, target); now != began {
		t.Errorf("the VM was restarted: %d tasks, then %d", began, now)
	}
	output = apply(t, workspace, config(6, "tags = [\"c\"]\ncpu = { cores = 3 }\nmemory = { mib = 4096 }\nreboot = \"auto\""))
	said(t, output, "may be restarted", "memory")
	waits("[]")
	if now := starts(t, target); now == began {
		t.Error("the VM was not restarted")
	}
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_badToken: a token that PVE does not know is named in the plan.
func TestAccVM_badToken(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	wrong := *target
	wrong.TokenSecret = "00000000-0000-0000-0000-000000000000"
	acctest.Must(t, workspace.Write(plain(&wrong, "acc-token", "")))
	planFails(t, workspace, "the API token is not accepted", "Check token_id")
	wrong.TokenID = "terraform@pve"
	acctest.Must(t, workspace.Write(plain(&wrong, "acc-token", "")))
	planFails(t, workspace, "token_id", "!")
	acctest.Must(t, target.CheckGone("acc-token")(nil))
}

// TestAccVM_destroyedAfterStart: a destroy right after a start does not trust the
// list of guests, which lags.
func TestAccVM_destroyedAfterStart(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace, _ := applied(t, target, target.Provider()+vmBlock("test", target, "acc-brief", ""))
	acctest.MustRun(t, workspace, append(destroyArgs, "-refresh=false")...)
	onlyTemplatesLeft(t, target)
}

// TestAccVM_unreadable: a guest that the token may not see any more is not gone.
func TestAccVM_unreadable(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodPost, "/access/roles", byhand.Params{"roleid": "Unseeing", "privs": "Datastore.Audit,SDN.Use"}, nil))
	unseeing := restricted(t, target, "Unseeing")
	config := plain(target, "acc-unreadable", "")
	workspace, vm := applied(t, target, config)
	acctest.Must(t, workspace.Write(strings.ReplaceAll(config, providerSecret(target), providerSecret(unseeing))))
	planFails(t, workspace, "VM.Audit", fmt.Sprint(vmidOf(vm)))
	acctest.Must(t, workspace.Write(config))
	emptyPlan(t, workspace)
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_on84 is what differs on PVE 8: privileges of the guest agent, HA
// groups, and settings that came later.
func TestAccVM_on84(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Version: "8.4"})
	ctx := context.Background()
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-eight", "agent = { enabled = true }\ncloud_init = { user = \"ops\", upgrade = false }\nwait_for = \"cloud-init\"\n"+body)
	}
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config("memory = { allow_ksm = false }")))
	planFails(t, workspace, "PVE 8 does not know memory.allow_ksm")
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/access/roles", byhand.Params{
		"roleid": "Blind", "privs": "VM.Audit,VM.Clone,VM.Allocate,VM.Config.Options,VM.Config.CPU,VM.Config.Memory,VM.Config.Disk,VM.Config.Network,VM.Config.Cloudinit,VM.Config.CDROM,VM.PowerMgmt,Datastore.AllocateSpace,Datastore.Audit,SDN.Use",
	}, nil))
	blind := restricted(t, target, "Blind")
	acctest.Must(t, workspace.Write(strings.ReplaceAll(config(""), providerSecret(target), providerSecret(blind))))
	planFails(t, workspace, "VM.Monitor", "cloud-init")

	apply(t, workspace, config(""))
	vm := acctest.Resource(t, workspace, address)
	if vm.Values["status"] != "running" || vm.Values["provisioned"] != true || vm.Values["addresses_stale"] != false {
		t.Errorf("status %v, provisioned %v, stale %v", vm.Values["status"], vm.Values["provisioned"], vm.Values["addresses_stale"])
	}
	emptyPlan(t, workspace)
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/cluster/ha/groups", byhand.Params{"group": "first", "nodes": "pve1"}, nil))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": fmt.Sprintf("vm:%d", vmidOf(vm)), "group": "first"}, nil))
	eventually(t, "HA sees the VM", func() bool {
		output, err := workspace.Run(ctx, "plan", "-destroy")
		return err != nil && strings.Contains(acctest.Unwrap(output), "HA manager")
	})
	acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, fmt.Sprintf("/cluster/ha/resources/vm:%d", vmidOf(vm)), nil, nil))
	apply(t, workspace, config("on_destroy = { purge = true }"))
	acctest.MustRun(t, workspace, destroyArgs...)
	onlyTemplatesLeft(t, target)
}
