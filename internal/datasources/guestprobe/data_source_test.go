package guestprobe_test

import (
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

const uid = "5f0c1f3e-6a7b-4c8d-9e0f-112233445566"

// newLab has a stranger in the fence scope, 101, a guest of ours, 20000, and a
// stranger that nobody may ask, 102.
func newLab(t *testing.T, version string) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099}, "fence_scope": protocol.Object{"vmids": []any{101}},
	})
	for _, vmid := range []int{101, 102, 20000} {
		params := byhand.Params{"agent": 1}
		if vmid == 20000 {
			params["description"] = "terraform-proxmox-uid=" + uid + "/20000"
		}
		protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", vmid, params))
		protocol.Must(t, lab.Hand.Power(t.Context(), vmid, "start"))
	}
	lab.Faults().SetService(101, "nginx", "active")
	lab.Faults().SetService(20000, "postgresql", "failed")
	return lab
}

// probe reads until the agent answers as wanted: guests take their time to boot.
func probe(t *testing.T, lab *protocol.Lab, config protocol.Object, answers bool) protocol.Object {
	t.Helper()

	for range 400 {
		state, diagnostics := lab.ReadDataSource(t, "proxmox_guest_probe", config)
		if len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		if state["agent_answers"] == answers {
			return state
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the agent of %v does not become %t", config["vmid"], answers)
	return nil
}

func TestProbe(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version)
		probe(t, lab, protocol.Object{"vmid": 101}, true).Want(t, protocol.Object{"node": "pve1", "service_state": nil, "service_active": nil})
		probe(t, lab, protocol.Object{"vmid": 101, "service": "nginx"}, true).Want(t, protocol.Object{"service_state": "active", "service_active": true})
		probe(t, lab, protocol.Object{"vmid": 20000, "service": "postgresql"}, true).Want(t, protocol.Object{"service_state": "failed", "service_active": false})
		probe(t, lab, protocol.Object{"vmid": 20000, "service": "other.service"}, true).Want(t, protocol.Object{"service_state": "inactive", "service_active": false})
		protocol.Must(t, lab.Hand.Power(t.Context(), 101, "stop"))
		probe(t, lab, protocol.Object{"vmid": 101, "service": "nginx"}, false).Want(t, protocol.Object{"service_state": nil, "service_active": nil})
	})
}

func TestProbeRefused(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version)
		before := lab.Counters().Snapshot()
		for says, config := range map[string]protocol.Object{
			"there is no VM":    {"vmid": 20050},
			"outside the range": {"vmid": 102},
			"not the name":      {"vmid": 101, "service": "nginx; reboot"},
			"name of a unit":    {"vmid": 101, "service": "--help"},
		} {
			_, diagnostics := lab.ReadDataSource(t, "proxmox_guest_probe", config)
			if !strings.Contains(diagnostics.String(), says) {
				t.Errorf("%v: %s", config, diagnostics)
			}
		}
		if n := lab.Counters().Snapshot().Sub(before).Requests["POST /nodes/{node}/qemu/{vmid}/agent/exec"]; n != 0 {
			t.Errorf("%d commands were run", n)
		}
	})
}

// TestProbeRights holds what the agent takes: PVE 9 tells asking for a sign of life
// from running a command, PVE 8 does not.
func TestProbeRights(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version)
		probe(t, lab, protocol.Object{"vmid": 101}, true)
		ping, command := "VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted"
		if version == "8.4" {
			ping, command = "VM.Monitor", "VM.Monitor"
		}
		service := protocol.Object{"vmid": 101, "service": "nginx"}
		denied := func(config protocol.Object, privilege string) {
			t.Helper()
			if _, d := lab.ReadDataSource(t, "proxmox_guest_probe", config); !strings.Contains(d.Errors().String(), privilege) {
				t.Errorf("it is not refused for want of %s: %s", privilege, d)
			}
		}
		lab.Restrict(t, map[string]string{"/vms/101": "VM.Audit"})
		denied(protocol.Object{"vmid": 101}, ping)
		lab.Restrict(t, map[string]string{"/vms/101": "VM.Audit " + ping})
		probe(t, lab, protocol.Object{"vmid": 101}, true)
		if ping != command {
			denied(service, command)
		}
		lab.Restrict(t, map[string]string{"/vms/101": "VM.Audit " + command})
		probe(t, lab, service, true).Want(t, protocol.Object{"service_state": "active"})
	})
}
