package container_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

// place is a lab with containers in a range of their own.
func place(t *testing.T, version string) *protocol.Lab {
	t.Helper()
	return protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: fast}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 29999},
	})
}

// protocolLab is the same with defaults.
func protocolLab(t *testing.T, defaults protocol.Object) *protocol.Lab {
	t.Helper()
	return protocol.NewLabOf(t, pvelab.Options{Speed: fast}, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 29999}, "defaults": defaults,
	})
}

func placed(extra protocol.Object) protocol.Object {
	config := protocol.Object{
		"hostname": "db", "template": oldTemplate, "root_volume": protocol.Object{"storage": "local-lvm", "size_gib": 1.0},
		"network": protocol.Object{"net0": protocol.Object{"bridge": "vmbr0"}},
	}
	for name, value := range extra {
		config[name] = value
	}
	return config
}

// TestMove: a changed node moves the container, which is restarted where it runs;
// one that was moved to another allowed node stays there.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			lab := place(t, version)
			guest := lab.Manage(t, "proxmox_container")
			apply(t, guest, placed(protocol.Object{"node": "pve1"}))
			uid, content := guest.State["uid"], lab.Contents(20000)["rootfs"]
			plan, diagnostics := guest.Plan(t, placed(protocol.Object{"node": "pve2"}))
			if plan == nil || !strings.Contains(diagnostics.String(), "is migrated from pve1 to pve2") || !strings.Contains(diagnostics.String(), "it is shut down, moved, and started there") {
				t.Fatalf("the plan does not tell of the move: %s", diagnostics)
			}
			if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
				t.Fatal(diagnostics)
			}
			if guest.State["node"] != "pve2" || guest.State["uid"] != uid || lab.Contents(20000)["rootfs"] != content {
				t.Errorf("it is %v", guest.State)
			}
			var status struct{ Status string }
			if err := lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve2/lxc/20000/status/current", nil, &status); err != nil || status.Status != "running" {
				t.Errorf("it is %s: %v", status.Status, err)
			}
			empty, diagnostics := guest.Plan(t, placed(protocol.Object{"node": "pve1", "allowed_nodes": []any{"pve1", "pve2"}}))
			if empty == nil || guest.State["node"] != "pve2" || strings.Contains(diagnostics.String(), "is migrated") {
				t.Errorf("a container on an allowed node is planned to move: %s", diagnostics)
			}
		})
	}
}

// TestAdopt: a container without a marker is imported, changed in nothing but its
// marker, and known by the addresses of its interfaces until then.
func TestAdopt(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	for vmid, extra := range map[int]byhand.Params{20005: {"net0": "name=eth0,bridge=vmbr0"}, 20006: {}} {
		params := byhand.Params{"vmid": vmid, "ostemplate": oldTemplate, "rootfs": "local-lvm:1", "hostname": "db", "description": "theirs", "unprivileged": 1}
		for key, value := range extra {
			params[key] = value
		}
		if err := lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc", params); err != nil {
			t.Fatal(err)
		}
	}
	if _, diagnostics := lab.Import(t, "proxmox_container", "adopt:20006", nil); !strings.Contains(diagnostics.String(), "network interfaces' addresses") {
		t.Errorf("one that could not be known is adopted: %s", diagnostics)
	}
	guest, diagnostics := lab.Import(t, "proxmox_container", "adopt:20005", nil)
	if guest == nil || len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	if diagnostics := guest.Refresh(t); len(diagnostics.Errors()) != 0 || guest.State["uid"] != nil || guest.State["marked"] != false {
		t.Fatalf("it is %v: %s", guest.State, diagnostics)
	}
	apply(t, guest, placed(protocol.Object{"node": "pve1", "description": "theirs"}))
	var config struct{ Description string }
	if err := lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve1/lxc/20005/config", nil, &config); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("theirs\n\nterraform-proxmox-uid=%s/20005", guest.State["uid"]); strings.TrimSpace(config.Description) != want {
		t.Errorf("the description is %q, want %q", config.Description, want)
	}
}

// TestHolder: a container that holds the volumes of another one is nobody's
// resource.
func TestHolder(t *testing.T) {
	t.Parallel()
	const uid = "5f0c1f3e-6a7b-4c8d-9e0f-112233445566"
	lab := place(t, "9.2")
	if err := lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": 20001, "ostemplate": oldTemplate, "rootfs": "local-lvm:1", "hostname": "keeps-20000",
		"description": "terraform-proxmox-keeps=7d9c1f6e-0000-4000-8000-000000000001/20000 running\n\nterraform-proxmox-uid=" + uid + "/20001",
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"20001", uid} {
		if _, diagnostics := lab.Import(t, "proxmox_container", id, nil); !strings.Contains(diagnostics.String(), "holds volumes of container 20000") {
			t.Errorf("%s: it is imported: %s", id, diagnostics)
		}
	}
	state, diagnostics := lab.ReadDataSource(t, "proxmox_guests", protocol.Object{"marked": true})
	if found := state["guests"].([]any); len(found) != 0 || len(diagnostics) != 0 {
		t.Errorf("it is listed as marked: %v, %s", found, diagnostics)
	}
}

// TestReinstallRefusesSnapshots: they would be lost, and volumes that have some cannot
// move.
func TestReinstallRefusesSnapshots(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	config := protocol.Object{"node": "pve1", "power": "stopped", "reinstall": protocol.Object{"trigger": "1"}}
	apply(t, guest, placed(config))
	before := lab.Contents(20000)["rootfs"]
	if err := lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc/20000/snapshot", byhand.Params{"snapname": "monday"}); err != nil {
		t.Fatal(err)
	}
	config["reinstall"] = protocol.Object{"trigger": "2"}
	_, diagnostics := guest.Plan(t, placed(config))
	if !strings.Contains(diagnostics.String(), "A container with snapshots is not reinstalled") || !strings.Contains(diagnostics.String(), "monday") {
		t.Errorf("the plan does not refuse it: %s", diagnostics)
	}
	if lab.Contents(20000)["rootfs"] != before {
		t.Error("it was touched")
	}
}

func apply(t *testing.T, guest *protocol.Resource, config protocol.Object) {
	t.Helper()
	if diagnostics := guest.Apply(t, config); len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
}

// TestPrivilegedWithoutBridges: what a privileged container takes beside is asked
// for no more than of any other one: no privilege on bridges, and none on what is
// not configured.
func TestPrivilegedWithoutBridges(t *testing.T) {
	t.Parallel()
	lab := place(t, "8.4")
	config := placed(protocol.Object{"node": "pve1", "unprivileged": false, "network": nil})
	lab.Restrict(t, map[string]string{"/": "VM.Allocate VM.Audit VM.PowerMgmt VM.Config.Options VM.Config.Network VM.Config.Disk Datastore.Audit Datastore.AllocateSpace Sys.Audit"})
	if plan, diagnostics := lab.Manage(t, "proxmox_container").Plan(t, config); plan != nil || !strings.Contains(diagnostics.String(), "Sys.Modify on /, to make a privileged container") {
		t.Errorf("planned without Sys.Modify: %s", diagnostics)
	}
	lab.Restrict(t, map[string]string{"/": "VM.Allocate VM.Audit VM.PowerMgmt VM.Config.Options VM.Config.Network VM.Config.Disk Datastore.Audit Datastore.AllocateSpace Sys.Audit Sys.Modify"})
	if plan, diagnostics := lab.Manage(t, "proxmox_container").Plan(t, config); plan == nil {
		t.Error(diagnostics)
	}
}
