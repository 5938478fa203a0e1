package power_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

// newContainerLab has a container of ours, 20000, one of others, 20001, and a VM of ours,
// 20002.
func newContainerLab(t *testing.T) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLab(t, provider.New("test")(), "full", protocol.Object{"vmid_range": protocol.Object{"first": 20000, "last": 20099}})
	for vmid, description := range map[int]string{20000: "terraform-proxmox-uid=" + uid + "/20000", 20001: ""} {
		protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve2/lxc", byhand.Params{
			"vmid": vmid, "description": description, "ostemplate": "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "rootfs": "local-lvm:1",
		}))
	}
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve2", 20002, byhand.Params{"description": "terraform-proxmox-uid=" + uid + "/20002"}))
	return lab
}

func containerStatus(t *testing.T, lab *protocol.Lab) string {
	t.Helper()

	var found struct{ Status string }
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve2/lxc/20000/status/current", nil, &found))
	return found.Status
}

func TestContainerPower(t *testing.T) {
	t.Parallel()

	lab := newContainerLab(t)
	for _, step := range []struct{ command, want string }{
		{"start", "running"}, {"start", "running"}, {"reboot", "running"}, {"shutdown", "stopped"}, {"start", "running"}, {"stop", "stopped"}, {"stop", "stopped"},
	} {
		progress, diagnostics := lab.InvokeAction(t, "proxmox_container_power", protocol.Object{
			"command": step.command, "vmid": 20000, "uid": uid, "shutdown_timeout": "30s",
		})
		told := []string{step.command + " container 20000 on pve2", "container 20000 is " + step.want}
		if len(diagnostics) != 0 || !slices.Equal(progress, told) {
			t.Fatalf("%s: %q, %s", step.command, progress, diagnostics)
		}
		if got := containerStatus(t, lab); got != step.want {
			t.Errorf("after %s the container is %s", step.command, got)
		}
	}
}

func TestContainerPowerUnderHA(t *testing.T) {
	t.Parallel()

	lab := newContainerLab(t)
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": "ct:20000", "state": "stopped"}, nil))
	for _, step := range []struct{ command, want string }{{"start", "running"}, {"stop", "stopped"}} {
		if _, diagnostics := lab.InvokeAction(t, "proxmox_container_power", protocol.Object{"command": step.command, "vmid": 20000}); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		if got := containerStatus(t, lab); got != step.want {
			t.Errorf("after %s the container is %s", step.command, got)
		}
	}
}

func TestContainerPowerRefused(t *testing.T) {
	t.Parallel()

	lab := newContainerLab(t)
	before := lab.Counters().Snapshot()
	for says, config := range map[string]protocol.Object{
		"Pause does not fit, not yet: PVE suspends containers by checkpointing them":  {"command": "pause", "vmid": 20000},
		"Resume does not fit, not yet: PVE suspends containers by checkpointing them": {"command": "resume", "vmid": 20000},
		"does not run":           {"command": "reboot", "vmid": 20000},
		"no marker":              {"command": "start", "vmid": 20001},
		"outside the range":      {"command": "start", "vmid": 101},
		"another guest's marker": {"command": "start", "vmid": 20000, "uid": "00000000-0000-4000-8000-000000000000"},
		"not the guest":          {"command": "start", "vmid": 20002},
		"explode":                {"command": "explode", "vmid": 20000},
	} {
		if _, diagnostics := lab.InvokeAction(t, "proxmox_container_power", config); !strings.Contains(diagnostics.Errors().String(), says) {
			t.Errorf("%s, %v: %s", says, config, diagnostics)
		}
	}
	for call, n := range lab.Counters().Snapshot().Sub(before).Requests {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("%d × %s", n, call)
		}
	}
}
