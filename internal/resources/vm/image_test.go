package vm_test

import (
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

const regenerate = "PUT /nodes/{node}/qemu/{vmid}/cloudinit"

// addressed is a running VM with a static address from cloud-init.
func addressed(address string) block {
	ipv4 := block{"ipv4": block{"address": address + "/24"}}
	return config(block{
		"power": nil, "agent": block{"enabled": true}, "network": block{"net0": block{}},
		"cloud_init": block{"user": "ops", "interfaces": block{"net0": ipv4}},
	})
}

// reboots resets the guest by hand, for which PVE makes no new image, and wants
// it to come up with an address.
func (d *device) reboots(t *testing.T, address string) {
	t.Helper()
	must(t, d.lab.Hand.Power(t.Context(), 20000, "reset"))
	d.awaitBoot(t)
	var answer struct {
		Result []struct {
			Addresses []struct {
				Address string `json:"ip-address"`
			} `json:"ip-addresses"`
		} `json:"result"`
	}
	must(t, d.lab.Hand.Call(t.Context(), "GET", "/nodes/pve1/qemu/20000/agent/network-get-interfaces", nil, &answer))
	if !strings.Contains(fmt.Sprint(answer), address) {
		t.Errorf("the guest has %v, not %s", answer.Result, address)
	}
}

// TestCloudInitOfARunningVM: the drive is made anew in place, so that a guest
// which reboots by itself reads what is configured; nothing is restarted.
func TestCloudInitOfARunningVM(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, addressed("10.0.0.5"))
	started := d.uptimeTask(t)
	d.awaitBoot(t)
	d.reboots(t, "10.0.0.5")
	before := d.lab.Counters().Snapshot()
	d.apply(t, addressed("10.0.0.6"))
	if made := d.lab.Counters().Snapshot().Sub(before).Requests[regenerate]; made != 1 {
		t.Errorf("the image was made %d times", made)
	}
	if waits := d.State["reboot_required"].([]any); len(waits) != 0 {
		t.Errorf("waiting are %v", waits)
	}
	d.reboots(t, "10.0.0.6")
	d.apply(t, addressed("10.0.0.6"))
	if again := d.uptimeTask(t); again != started {
		t.Errorf("the VM was started again: %s, then %s", started, again)
	}
}

// TestCloudInitImageIsMadeOnlyWhereItHelps: PVE makes it at each start, and it
// holds nothing of most settings.
func TestCloudInitImageIsMadeOnlyWhereItHelps(t *testing.T) {
	t.Parallel()
	with := func(power any, user string, more block) block {
		if more["network"] == nil {
			more["network"] = block{"net0": block{}}
		}
		more["power"], more["cloud_init"] = power, block{"user": user}
		return config(more)
	}
	d := newDevice(t, "9.2")
	d.apply(t, with("stopped", "ops", block{}))
	for _, each := range []struct {
		what  string
		given block
		want  int
	}{
		{"stopped", with("stopped", "admin", block{}), 0},
		{"started along", with("running", "ops", block{}), 0},
		{"running, a tag", with("running", "ops", block{"tags": []any{"a"}}), 0},
		{"running, the link", with("running", "ops", block{"network": block{"net0": block{"link_down": true}}}), 0},
		{"running, the name", with("running", "ops", block{"name": "renamed"}), 1},
		{"paused along", with("paused", "admin", block{"name": "renamed"}), 1},
		{"stopped along", with("stopped", "ops", block{"name": "renamed"}), 0},
	} {
		before := d.lab.Counters().Snapshot()
		d.apply(t, each.given)
		if made := d.lab.Counters().Snapshot().Sub(before).Requests[regenerate]; made != each.want {
			t.Errorf("%s: the image was made %d times, want %d", each.what, made, each.want)
		}
	}
}

// TestCloudInitWithoutThePrivilege: VM.Config.Network is enough to change what is
// in the image, and not to make it anew, which is said and fails nothing.
func TestCloudInitWithoutThePrivilege(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, addressed("10.0.0.5"))
	hand := d.lab.Hand
	must(t, hand.Call(t.Context(), "POST", "/access/roles", byhand.Params{
		"roleid": "Frugal", "privs": "VM.Audit,VM.Allocate,VM.Config.Options,VM.Config.Network,VM.GuestAgent.Audit,SDN.Use",
	}, nil))
	must(t, hand.Call(t.Context(), "POST", "/access/users", byhand.Params{"userid": "frugal@pve"}, nil))
	must(t, hand.Call(t.Context(), "PUT", "/access/acl", byhand.Params{"path": "/", "users": "frugal@pve", "roles": "Frugal"}, nil))
	var token struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	must(t, hand.Call(t.Context(), "POST", "/access/users/frugal@pve/token/ci", byhand.Params{"privsep": 0}, &token))
	frugal := protocol.New(t, provider.New("test")())
	if diagnostics := frugal.Configure(t, block{
		"endpoint": d.lab.URL(), "ca_pem": string(d.lab.CAPEM()), "token_id": token.ID, "token_secret": token.Value, "vmid_range": idRange["vmid_range"],
	}); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	d.HandTo(frugal)
	diagnostics := d.try(t, addressed("10.0.0.6"))
	if len(diagnostics.Errors()) != 0 || !strings.Contains(diagnostics.String(), "VM.Config.Cloudinit") {
		t.Errorf("got %s", diagnostics)
	}
	d.has(t, map[string]string{"ipconfig0": "ip=10.0.0.6/24"})
}
