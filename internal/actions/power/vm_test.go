package power_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

const uid = "5f0c1f3e-6a7b-4c8d-9e0f-112233445566"

// bothVersions runs a test with a lab of either version of PVE.
func bothVersions(t *testing.T, test func(t *testing.T, lab *protocol.Lab)) {
	t.Helper()
	protocol.EachVersion(t, func(t *testing.T, version string) { test(t, newLab(t, version)) })
}

// newLab has a VM of ours, 20000, and a stranger in the fence scope, 101.
func newLab(t *testing.T, version string) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099}, "fence_scope": protocol.Object{"vmids": []any{101}},
	})
	for vmid, params := range map[int]byhand.Params{101: {}, 20000: {"description": "terraform-proxmox-uid=" + uid + "/20000"}} {
		if err := lab.Hand.CreateVM(t.Context(), "pve2", vmid, params); err != nil {
			t.Fatal(err)
		}
	}
	return lab
}

func qmpStatus(t *testing.T, lab *protocol.Lab, vmid string) string {
	t.Helper()

	var status struct {
		QMPStatus string `json:"qmpstatus"`
	}
	if err := lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve2/qemu/"+vmid+"/status/current", nil, &status); err != nil {
		t.Fatal(err)
	}
	return status.QMPStatus
}

func TestPower(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		lab.Faults().IgnoreShutdown(20000, true)
		for _, step := range []struct{ command, want string }{
			{"start", "running"}, {"start", "running"}, {"pause", "paused"}, {"resume", "running"}, {"shutdown", "stopped"}, {"stop", "stopped"},
		} {
			progress, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", protocol.Object{
				"command": step.command, "vmid": 20000, "uid": uid, "shutdown_timeout": "5s", "force_stop": true,
			})
			if len(diagnostics) != 0 || !slices.Contains(progress, step.command+" VM 20000 on pve2") || progress[len(progress)-1] != "VM 20000 is "+step.want {
				t.Fatalf("%s: %q, %s", step.command, progress, diagnostics)
			}
			if got := qmpStatus(t, lab, "20000"); got != step.want {
				t.Errorf("after %s the VM is %s", step.command, got)
			}
		}
		for _, step := range []struct{ command, want string }{{"start", "running"}, {"stop", "stopped"}} {
			if _, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", protocol.Object{"command": step.command, "vmid": 101, "foreign": true}); len(diagnostics) != 0 {
				t.Fatal(diagnostics)
			}
			if got := qmpStatus(t, lab, "101"); got != step.want {
				t.Errorf("after %s the stranger is %s", step.command, got)
			}
		}
	})
}

// TestPowerUnderHA holds that a command waits for the manager, for which it is
// only a request.
func TestPowerUnderHA(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		err := lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": "vm:20000", "state": "stopped"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ command, want string }{{"start", "running"}, {"stop", "stopped"}} {
			if _, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", protocol.Object{"command": step.command, "vmid": 20000}); len(diagnostics) != 0 {
				t.Fatal(diagnostics)
			}
			if got := qmpStatus(t, lab, "20000"); got != step.want {
				t.Errorf("after %s the VM is %s", step.command, got)
			}
		}
	})
}

func TestPowerRefused(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		before := lab.Counters().Snapshot()
		for says, config := range map[string]protocol.Object{
			"does not fit, never":    {"command": "pause", "vmid": 101, "foreign": true},
			"does not run":           {"command": "reboot", "vmid": 20000},
			"not yet":                {"command": "pause", "vmid": 20000},
			"is not paused":          {"command": "resume", "vmid": 20000},
			"not in the fence scope": {"command": "start", "vmid": 20000, "foreign": true},
			"outside the range":      {"command": "start", "vmid": 101},
			"another guest's marker": {"command": "start", "vmid": 20000, "uid": "00000000-0000-4000-8000-000000000000"},
			"explode":                {"command": "explode", "vmid": 20000},
		} {
			if _, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", config); !strings.Contains(diagnostics.Errors().String(), says) {
				t.Errorf("%v: %s", config, diagnostics)
			}
		}
		for call, n := range lab.Counters().Snapshot().Sub(before).Requests {
			if !strings.HasPrefix(call, "GET ") {
				t.Errorf("%d × %s", n, call)
			}
		}
	})
}

// TestPowerPlan refuses without a call what the range and the fence scope do not
// allow.
func TestPowerPlan(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "9.2")
	before := lab.Counters().Snapshot()
	for _, test := range []struct {
		says, action string
		config       protocol.Object
	}{
		{"not in the fence scope", "proxmox_vm_power", protocol.Object{"command": "start", "vmid": 20000, "foreign": true}},
		{"outside the range", "proxmox_vm_power", protocol.Object{"command": "start", "vmid": 101}},
		{"outside the range", "proxmox_container_power", protocol.Object{"command": "start", "vmid": 101}},
	} {
		if diagnostics := lab.PlanAction(t, test.action, test.config); !strings.Contains(diagnostics.Errors().String(), test.says) {
			t.Errorf("%v: %s", test.config, diagnostics)
		}
	}
	if requests := lab.Counters().Snapshot().Sub(before).Requests; len(requests) != 0 {
		t.Errorf("calls were made: %v", requests)
	}
}

// TestPowerFails has a command fail, run out of time, and be interrupted.
func TestPowerFails(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		start := protocol.Object{"command": "start", "vmid": 20000, "timeout": "1s"}
		fails := func(fault pvelab.TaskFault, wanted ...string) {
			t.Helper()
			id, err := lab.Faults().AddTask(fault)
			if err != nil {
				t.Fatal(err)
			}
			progress, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", start)
			lab.Faults().Remove(id)
			if !slices.Contains(progress, "start VM 20000 on pve2") {
				t.Errorf("progress is %q", progress)
			}
			for _, want := range wanted {
				if !strings.Contains(diagnostics.Errors().String(), want) {
					t.Errorf("nothing says %q: %s", want, diagnostics)
				}
			}
		}
		fails(pvelab.TaskFault{Type: "qmstart", Exit: "start failed: QEMU exited with code 1", Log: []string{"kvm: no such bridge"}}, "QEMU exited", "no such bridge")
		fails(pvelab.TaskFault{Type: "qmstart", Hold: true}, "may still be running", "deadline")
	})
	lab := newLab(t, "9.2")
	start := protocol.Object{"command": "start", "vmid": 20000}
	if _, diagnostics := lab.InterruptAction(t, "proxmox_vm_power", start, func(string) bool { return true }); !strings.Contains(diagnostics.Errors().String(), "context canceled") {
		t.Errorf("it is not interrupted: %s", diagnostics)
	}
}

// TestPowerRights holds the least rights of a command, and that one less refuses
// it by name.
func TestPowerRights(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		start := protocol.Object{"command": "start", "vmid": 101, "foreign": true}
		lab.Restrict(t, map[string]string{"/vms/101": "VM.Audit"})
		if _, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", start); !strings.Contains(diagnostics.Errors().String(), "VM.PowerMgmt") {
			t.Errorf("nothing names what the token lacks: %s", diagnostics)
		}
		lab.Restrict(t, map[string]string{"/vms/101": "VM.Audit VM.PowerMgmt"})
		if _, diagnostics := lab.InvokeAction(t, "proxmox_vm_power", start); len(diagnostics) != 0 {
			t.Error(diagnostics)
		}
		if got := qmpStatus(t, lab, "101"); got != "running" {
			t.Errorf("the VM is %s", got)
		}
	})
}
