package container_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

// of reads a container's configuration by hand, numbers as text.
func of(t *testing.T, lab *protocol.Lab, vmid int) map[string]string {
	t.Helper()
	var values map[string]any
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodGet, fmt.Sprintf("/nodes/pve1/lxc/%d/config", vmid), nil, &values))
	text := map[string]string{}
	for key, value := range values {
		text[key] = fmt.Sprint(value)
	}
	return text
}

// vmids are the ids of the containers on pve1.
func vmids(t *testing.T, lab *protocol.Lab) string {
	t.Helper()
	var listed []struct {
		VMID int `json:"vmid"`
	}
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve1/lxc", nil, &listed))
	return fmt.Sprint(listed)
}

// wantEmpty refreshes in another run, and wants a plan that changes nothing.
func wantEmpty(t *testing.T, lab *protocol.Lab, guest *protocol.Resource, config object) {
	t.Helper()
	lab.NextRun(t)
	if diagnostics := guest.Refresh(t); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	if plan, diagnostics := guest.Plan(t, config); plan == nil || !plan.Empty() {
		t.Errorf("the plan is not empty: %s", diagnostics)
	}
}

// TestChangesInPlace: volumes grow, come and go, interfaces come, settings return to
// PVE's defaults, and a volume goes for good only where that is said.
func TestChangesInPlace(t *testing.T) {
	t.Parallel()
	lab := protocolLab(t, object{"storage": "local-lvm", "bridge": "vmbr0", "node": "pve1"})
	guest := lab.Manage(t, "proxmox_container")
	config := object{
		"hostname": "db", "template": oldTemplate, "power": "stopped", "timezone": "host", "cpu": object{"cores": 2}, "memory": object{"mib": 256.0},
		"mount_points": object{
			"mp0": object{"size_gib": 1.0, "path": "/data", "backup": true},
			"mp1": object{"size_gib": 1.0, "path": "/cache", "backup": false, "on_removal": "destroy"},
			"mp2": object{"size_gib": 1.0, "path": "/old", "backup": false},
		},
	}
	apply(t, guest, config)
	values := of(t, lab, 20000)
	if !strings.HasSuffix(values["rootfs"], ",size=4G") || !strings.HasPrefix(values["mp0"], "local-lvm:") || values["timezone"] != "host" {
		t.Errorf("it is made as %v", values)
	}
	wantEmpty(t, lab, guest, config)
	old, _, _ := strings.Cut(values["mp2"], ",")

	apply(t, guest, object{
		"hostname": "db", "template": oldTemplate, "power": "stopped", "root_volume": object{"size_gib": 5.0},
		"network": object{"net1": object{"vlan": 7}},
		"mount_points": object{
			"mp0": object{"size_gib": 2.0, "path": "/data", "backup": true},
			"mp3": object{"size_gib": 1.5, "path": "/new", "backup": true},
		},
	})
	values = of(t, lab, 20000)
	for key, part := range map[string]string{"rootfs": "size=5G", "mp0": "size=2G", "mp3": "mp=/new,backup=1,size=1536M", "net1": "name=eth1,bridge=vmbr0"} {
		if !strings.Contains(values[key], part) {
			t.Errorf("%s is %q, not %q", key, values[key], part)
		}
	}
	if values["memory"] != "512" {
		t.Errorf("the memory is %s, not PVE's default", values["memory"])
	}
	if values["cores"] != "" || values["timezone"] != "" || values["mp1"] != "" || values["mp2"] != "" {
		t.Errorf("what is no longer configured is there: %v", values)
	}
	var unused []string
	for key, value := range values {
		if strings.HasPrefix(key, "unused") {
			unused = append(unused, value)
		}
	}
	if len(unused) != 1 || unused[0] != old {
		t.Errorf("detached is %v, not %s alone", unused, old)
	}
}

// reinstalled is the stopped container of a reinstallation that keeps mp0, and its
// configuration with another template.
func reinstalled(t *testing.T, lab *protocol.Lab) (guest *protocol.Resource, changed object) {
	t.Helper()
	guest = lab.Manage(t, "proxmox_container")
	apply(t, guest, keeping(nil))
	lab.NextRun(t)
	return guest, keeping(object{"template": newTemplate})
}

// wantRebuilt wants what was kept, and nothing else, to be what it was.
func wantRebuilt(t *testing.T, lab *protocol.Lab, before map[string]string) {
	t.Helper()
	after := lab.Contents(20000)
	if after["mp0"] != before["mp0"] || after["rootfs"] == before["rootfs"] || after["mp1"] == before["mp1"] {
		t.Errorf("it holds %v, before %v", after, before)
	}
	if ids := vmids(t, lab); ids != "[{20000}]" {
		t.Errorf("there are %s", ids)
	}
	if description := of(t, lab, 20000)["description"]; strings.Contains(description, "creating") {
		t.Errorf("it is unfinished: %s", description)
	}
}

// TestReinstall is one update in place that the plan announces volume by volume. A
// trigger asks for another one, but not the first that is configured.
func TestReinstall(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest, changed := reinstalled(t, lab)
	before, uid := lab.Contents(20000), guest.State["uid"]
	plan, diagnostics := guest.Plan(t, changed)
	if plan == nil || len(plan.Replace) != 0 {
		t.Fatalf("%v: %s", plan, diagnostics)
	}
	plan.After.At(t, "reinstallation").Want(t, object{"rootfs": "rebuilt", "mp0": "kept", "mp1": "rebuilt"})
	diagnostics.Warnings().Says(t, "Container 20000 is reinstalled", "mp0: kept", "mp1: rebuilt", "rootfs: rebuilt")
	if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	wantRebuilt(t, lab, before)
	if guest.State["uid"] != uid || guest.State["provisioned"] != true {
		t.Errorf("it is %v", guest.State)
	}
	wantEmpty(t, lab, guest, changed)

	trigger := func(text string) object {
		return keeping(object{"template": newTemplate, "reinstall": object{"keep": []any{"mp0"}, "trigger": text}})
	}
	before = lab.Contents(20000)
	apply(t, guest, trigger("1"))
	if after := lab.Contents(20000); !maps.Equal(after, before) {
		t.Errorf("a first trigger asks for a reinstallation: %v, before %v", after, before)
	}
	apply(t, guest, trigger("2"))
	wantRebuilt(t, lab, before)
}

// TestReinstallationBreaks: wherever it breaks, the kept data stay, the state says
// what is to be done, and the next apply does it.
func TestReinstallationBreaks(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pvelab.Fault{
		"moving out":         {Method: http.MethodPost, Path: "/nodes/pve1/lxc/20000/move_volume"},
		"destroying":         {Method: http.MethodDelete, Path: "/nodes/pve1/lxc/20000"},
		"making it anew":     {Method: http.MethodPost, Path: "/nodes/pve1/lxc", Skip: 1},
		"moving back":        {Method: http.MethodPost, Path: "/nodes/pve1/lxc/20001/move_volume"},
		"destroying another": {Method: http.MethodDelete, Path: "/nodes/pve1/lxc/20001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := place(t, "9.2")
			guest, changed := reinstalled(t, lab)
			before := lab.Contents(20000)
			fault.Status, fault.Text = http.StatusInternalServerError, "not now"
			lab.Spoil(t, fault)
			diagnostics := guest.Apply(t, changed)
			if len(diagnostics.Errors()) == 0 {
				t.Fatal("nothing is said")
			}
			diagnostics.Says(t, "not now")

			lab.NextRun(t)
			diagnostics = guest.Refresh(t)
			if len(diagnostics.Errors()) != 0 || guest.State == nil || guest.State["provisioned"] != false {
				t.Fatalf("it is %v: %s", guest.State, diagnostics)
			}
			if name == "making it anew" {
				diagnostics.Says(t, `container 20000 "db" is being reinstalled`, "container 20001", "The next apply goes on")
			}
			apply(t, guest, changed)
			wantRebuilt(t, lab, before)
			wantEmpty(t, lab, guest, changed)
		})
	}
}

// TestAbandonedReinstallation is destroyed with the container that holds its volumes;
// as long as that cannot be looked for, or destroyed, it stays in the state.
func TestAbandonedReinstallation(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest, changed := reinstalled(t, lab)
	lab.Spoil(t, pvelab.Fault{Method: http.MethodPost, Path: "/nodes/pve1/lxc", Skip: 1, Status: http.StatusInternalServerError, Text: "not now"})
	guest.Apply(t, changed).Says(t, "not now")
	lab.NextRun(t)
	mend := lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: "/nodes/pve1/lxc/20001/.*", Status: http.StatusInternalServerError, Text: "no look", Times: -1})
	diagnostics := guest.Refresh(t)
	if len(diagnostics.Errors()) != 1 || guest.State == nil {
		t.Errorf("it is %v", guest.State)
	}
	diagnostics.Says(t, "find out whether volumes of", "no look")
	mend()

	lab.NextRun(t)
	if diagnostics := guest.Refresh(t); len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	lab.Spoil(t, pvelab.Fault{Method: http.MethodDelete, Path: "/nodes/pve1/lxc/20001", Status: http.StatusInternalServerError, Text: "not now"})
	guest.Apply(t, nil).Says(t, "destroy what holds volumes of", "not now")
	if guest.State == nil {
		t.Fatal("it is forgotten")
	}
	if diagnostics := guest.Apply(t, nil); len(diagnostics.Errors()) != 0 || vmids(t, lab) != "[]" {
		t.Errorf("there are %s: %s", vmids(t, lab), diagnostics)
	}
}

// TestKeptVolumeGone: somebody destroys the container in the middle of a reinstallation,
// before its volume was moved. It is the user who gives the data up.
func TestKeptVolumeGone(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest, changed := reinstalled(t, lab)
	lab.Spoil(t, pvelab.Fault{Method: http.MethodPost, Path: "/nodes/pve1/lxc/20000/move_volume", Status: http.StatusInternalServerError, Text: "not now"})
	guest.Apply(t, changed).Says(t, "not now")
	protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodDelete, "/nodes/pve1/lxc/20000", nil))

	lab.NextRun(t)
	guest.Refresh(t)
	guest.Apply(t, changed).Says(t, "a volume that is to be kept is gone", "take mp0 out of reinstall.keep")
	if guest.State == nil || vmids(t, lab) != "[{20001}]" {
		t.Fatalf("there are %s, and in the state %v", vmids(t, lab), guest.State)
	}

	lab.NextRun(t)
	changed["reinstall"] = object{"keep": []any{}}
	apply(t, guest, changed)
	if vmids(t, lab) != "[{20000}]" || lab.Contents(20000)["mp0"] == "" {
		t.Errorf("there are %s, the new one with %v", vmids(t, lab), lab.Contents(20000))
	}
	wantEmpty(t, lab, guest, changed)
}

// TestGoneContainer leaves the state, with a warning.
func TestGoneContainer(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	apply(t, guest, placed(object{"node": "pve1", "power": "stopped"}))
	protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodDelete, "/nodes/pve1/lxc/20000", nil))
	lab.NextRun(t)
	guest.Refresh(t).Warnings().Says(t, "is gone")
	if guest.State != nil {
		t.Errorf("it is %v", guest.State)
	}
}

// TestLeasedAddresses are those that a running container tells; where it does not
// tell, the last known ones stay, and the plan is empty.
func TestLeasedAddresses(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	config := placed(object{"node": "pve1", "network": object{
		"net0": object{"bridge": "vmbr0", "ipv4": object{"method": "dhcp"}},
		"net1": object{"bridge": "vmbr1", "ipv4": object{"address": "10.0.0.5/24"}},
	}})
	apply(t, guest, config)
	lab.NextRun(t)
	if diagnostics := guest.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	addresses := func(slot string) string { return fmt.Sprint(guest.State.At(t, "network", slot)["ipv4_addresses"]) }
	leased := addresses("net0")
	if addresses("net1") != "[10.0.0.5]" || !strings.Contains(leased, ".") {
		t.Fatalf("it has %s and %s", leased, addresses("net1"))
	}
	lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: "/nodes/pve1/lxc/20000/interfaces", Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
	wantEmpty(t, lab, guest, config)
	if addresses("net0") != leased {
		t.Errorf("it has %s, and had %s", addresses("net0"), leased)
	}
	protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc/20000/status/stop", byhand.Params{}))
	wantEmpty(t, lab, guest, config)
	if addresses("net1") != "[10.0.0.5]" {
		t.Errorf("stopped it has %s", addresses("net1"))
	}
}
