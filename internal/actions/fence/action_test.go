package fence_test

import (
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

func newLab(t *testing.T) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLab(t, provider.New("test")(), "full", protocol.Object{
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

	lab := newLab(t)
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
}

func TestFenceActionRefused(t *testing.T) {
	t.Parallel()

	lab := newLab(t)
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
}
