package fence_test

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

// bothVersions runs a test with a lab of either version of PVE.
func bothVersions(t *testing.T, test func(t *testing.T, lab *protocol.Lab)) {
	t.Helper()
	protocol.EachVersion(t, func(t *testing.T, version string) { test(t, newLab(t, version)) })
}

// newLab has two running VMs on pve2: 101, in the fence scope, and 102, which
// starts with its node.
func newLab(t *testing.T, version string) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), "full", protocol.Object{
		"fence_scope": protocol.Object{"vmids": []any{101}, "nodes": []any{"pve2"}},
	})
	for vmid, params := range map[int]byhand.Params{101: {}, 102: {"onboot": 1}} {
		if err := lab.Hand.CreateVM(t.Context(), "pve2", vmid, params); err != nil {
			t.Fatal(err)
		}
		if err := lab.Hand.Power(t.Context(), vmid, "start"); err != nil {
			t.Fatal(err)
		}
	}
	return lab
}

func status(t *testing.T, lab *protocol.Lab, vmid int) string {
	t.Helper()

	power, err := lab.Hand.Status(t.Context(), vmid)
	if err != nil {
		t.Fatal(err)
	}
	return power
}

func TestFenceAction(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		progress, diagnostics := lab.InvokeAction(t, "proxmox_fence", protocol.Object{"action": "vm.stop", "node": "pve2", "vmid": 101, "foreign": true})
		if len(diagnostics) != 0 || !slices.Contains(progress, "stopping VM 101 on pve2") || progress[len(progress)-1] != "proven: fenced" {
			t.Errorf("progress is %q (%s)", progress, diagnostics)
		}
		if got := status(t, lab, 101); got != "stopped" {
			t.Errorf("the VM is %s", got)
		}
		progress, diagnostics = lab.InvokeAction(t, "proxmox_fence", protocol.Object{"action": "node.stop-guests", "node": "pve2", "foreign": true, "guest_timeout": "20s"})
		if warnings := diagnostics.Warnings(); len(diagnostics) != 1 || !strings.Contains(warnings.String(), "VM 102") {
			t.Errorf("a guest that starts with its node: %s", diagnostics)
		}
		if !slices.ContainsFunc(progress, func(line string) bool { return strings.Contains(line, "VM 102") && strings.Contains(line, "(1 of 1)") }) {
			t.Errorf("progress is %q", progress)
		}
	})
}

func TestFenceActionRefused(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		before := lab.Counters().Snapshot()
		for says, config := range map[string]protocol.Object{
			"needs vmid":                  {"action": "vm.stop", "node": "pve2", "foreign": true},
			"never takes nics":            {"action": "vm.stop", "node": "pve2", "vmid": 101, "foreign": true, "nics": []any{"net0"}},
			"not in the fence scope":      {"action": "vm.stop", "node": "pve2", "vmid": 102, "foreign": true},
			"foreign = true":              {"action": "node.shutdown", "node": "pve2"},
			"on node pve2, not on pve1":   {"action": "vm.stop", "node": "pve1", "vmid": 101, "foreign": true},
			"no VMID range is configured": {"action": "vm.stop", "node": "pve2", "vmid": 101},
			"onboot":                      {"action": "node.stop-guests", "node": "pve2", "foreign": true, "require_durable": true},
		} {
			progress, diagnostics := lab.InvokeAction(t, "proxmox_fence", config)
			if len(progress) != 0 || !strings.Contains(diagnostics.Errors().String(), says) {
				t.Errorf("%v: %q, %s", config, progress, diagnostics)
			}
		}
		for call, n := range lab.Counters().Snapshot().Sub(before).Requests {
			if !strings.HasPrefix(call, "GET ") {
				t.Errorf("%d × %s", n, call)
			}
		}
	})
}

var (
	stop  = protocol.Object{"action": "vm.stop", "node": "pve2", "vmid": 101, "foreign": true}
	links = protocol.Object{"action": "vm.link-down", "node": "pve2", "vmid": 101, "foreign": true, "nics": []any{"net0"}}
	node  = protocol.Object{"action": "node.stop-guests", "node": "pve2", "foreign": true, "guest_timeout": "20s"}
	off   = protocol.Object{"action": "node.shutdown", "node": "pve2", "foreign": true, "guest_timeout": "20s"}
)

func has(t *testing.T, progress []string, wanted ...string) {
	t.Helper()

	for _, want := range wanted {
		if !slices.ContainsFunc(progress, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("no progress says %q: %q", want, progress)
		}
	}
}

// TestFenceActionTellsHA holds that what HA wants started is told, and stopped.
func TestFenceActionTellsHA(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": "vm:101", "state": "started"}, nil))
		progress, diagnostics := lab.InvokeAction(t, "proxmox_fence", stop)
		has(t, progress, "HA wants VM 101 started", "proven: fenced")
		diagnostics.Warnings().Says(t, "HA wanted these guests started", "VM 101")
		if got := status(t, lab, 101); got != "stopped" {
			t.Errorf("the VM is %s", got)
		}
	})
}

// TestFenceActionInterrupted presses Ctrl-C while a guest of two is still stopping:
// what is stopped by then is told.
func TestFenceActionInterrupted(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		_, err := lab.Faults().AddTask(pvelab.TaskFault{Type: "qmshutdown", ID: "102", Hold: true})
		protocol.Must(t, err)
		progress, diagnostics := lab.InterruptAction(t, "proxmox_fence", node, func(line string) bool { return strings.Contains(line, "VM 101") })
		has(t, progress, "VM 101")
		diagnostics.Errors().Says(t, "it could not be proven", "VM 102 \"VM 102\" runs", "context canceled", "Stopped by now, and left so: VM 101")
	})
}

// TestFenceActionFails has a stop fail, and one run out of time.
func TestFenceActionFails(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		_, err := lab.Faults().AddTask(pvelab.TaskFault{Type: "qmstop", Exit: "unable to read PID file", Log: []string{"trying to stop"}})
		protocol.Must(t, err)
		progress, diagnostics := lab.InvokeAction(t, "proxmox_fence", stop)
		has(t, progress, "stopping VM 101 on pve2")
		diagnostics.Errors().Says(t, "unable to read PID file", "trying to stop", "Nothing is stopped by now")

		_, err = lab.Faults().AddTask(pvelab.TaskFault{Type: "qmstop", Hold: true})
		protocol.Must(t, err)
		late := protocol.Object{"timeout": "1s"}
		for name, value := range stop {
			late[name] = value
		}
		_, diagnostics = lab.InvokeAction(t, "proxmox_fence", late)
		diagnostics.Errors().Says(t, "may still be running", "deadline", "Nothing is stopped by now")
		if got := status(t, lab, 101); got != "running" {
			t.Errorf("the VM is %s", got)
		}
	})
}

// TestFenceActionRights holds the least rights of each action, and that one less
// refuses it by name and stops nothing.
func TestFenceActionRights(t *testing.T) {
	t.Parallel()

	vm := map[string]string{"/vms/101": "VM.Audit VM.PowerMgmt"}
	guests := map[string]string{"/": "Sys.Audit", "/vms": "VM.Audit VM.PowerMgmt"}
	shutdown := map[string]string{"/": "Sys.Audit", "/vms": "VM.Audit VM.PowerMgmt", "/nodes/pve2": "Sys.PowerMgmt"}
	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		protocol.Must(t, lab.Hand.Configure(t.Context(), 101, byhand.Params{"net0": "virtio,bridge=vmbr0"}))
		for _, tc := range []struct {
			config protocol.Object
			rights map[string]string
			lacks  string
		}{
			{stop, map[string]string{"/vms/101": "VM.Audit"}, "VM.PowerMgmt"},
			{links, vm, "VM.Config.Network"},
			{node, vm, "Sys.Audit"},
			{off, guests, "Sys.PowerMgmt"},
			{links, map[string]string{"/vms/101": "VM.Audit VM.Config.Network", "/sdn/zones/localnetwork/vmbr0": "SDN.Use"}, ""},
			{stop, vm, ""},
			{node, guests, ""},
			{off, shutdown, ""},
		} {
			lab.Restrict(t, tc.rights)
			_, diagnostics := lab.InvokeAction(t, "proxmox_fence", tc.config)
			if tc.lacks == "" && len(diagnostics.Errors()) > 0 {
				t.Errorf("%s: %s", tc.config["action"], diagnostics)
			}
			if diagnostics.Errors().Says(t, tc.lacks); tc.lacks == "" {
				continue
			}
			if status(t, lab, 101) != "running" || status(t, lab, 102) != "running" {
				t.Fatalf("%s stopped a VM without %s", tc.config["action"], tc.lacks)
			}
		}
	})
}
