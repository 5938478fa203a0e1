package provider

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestGeneratedConfiguration holds that a configuration which is generated for an
// imported guest says what the guest has beside defaults, and changes nothing.
func TestGeneratedConfiguration(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	check(t, lab.Hand.Configure(t.Context(), 20001, byhand.Params{
		"cores": 4, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1", "scsi0": "local-lvm:8", "onboot": 1, "kvm": 1,
	}))
	check(t, lab.Hand.Call(t.Context(), http.MethodPut, "/nodes/pve1/lxc/20011/config", byhand.Params{"cores": 2, "mp0": "local-lvm:1,mp=/data,backup=1"}, nil))
	for kind, want := range map[string]protocol.Object{
		"proxmox_vm": {
			"name": "web", "description": "The front", "tags": []any{"prod", "web"}, "pool": "terraform", "node": "pve2", "vmid": 20001.0, "power": "stopped", "storage": "local-lvm",
			"cpu": protocol.Object{"cores": 4.0}, "memory": protocol.Object{"mib": 64.0}, "on_boot": true,
			"network": protocol.Object{"net0": protocol.Object{"bridge": "vmbr0", "firewall": true, "mac_address": "BC:24:11:00:00:01"}},
			"disks":   protocol.Object{"scsi0": protocol.Object{"size_gib": 8.0, "storage": "local-lvm", "format": "raw"}},
		},
		"proxmox_container": {
			"hostname": "ct-20011", "node": "pve1", "vmid": 20011.0, "power": "stopped", "unprivileged": true, "cpu": protocol.Object{"cores": 2.0},
			"root_volume":  protocol.Object{"size_gib": 1.0, "storage": "local-lvm"},
			"mount_points": protocol.Object{"mp0": protocol.Object{"size_gib": 1.0, "storage": "local-lvm", "path": "/data", "backup": true, "volume": "local-lvm:vm-20011-disk-1"}},
		},
	} {
		imported, diagnostics := lab.Import(t, kind, "", protocol.Object{"vmid": want["vmid"]})
		if imported == nil {
			t.Fatalf("%s: %s", kind, diagnostics)
		}
		config := imported.Generated(t)
		for _, name := range slices.Sorted(maps.Keys(config)) {
			if got := said(config[name]); !reflect.DeepEqual(got, want[name]) {
				t.Errorf("%s: %s is generated as %v, want %v", kind, name, got, want[name])
			}
		}
		plan, diagnostics := imported.Plan(t, config)
		if plan == nil || len(diagnostics) != 0 || !plan.Empty() {
			t.Fatalf("%s: what is generated changes it: %s", kind, diagnostics)
		}
	}
}

// TestDefaultsOfAnImportedGuest holds that defaults which are configured for an
// imported guest are not written with its first change, since PVE takes some from
// root alone, and that they can be taken out of the configuration again.
func TestDefaultsOfAnImportedGuest(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	imported, diagnostics := lab.Import(t, "proxmox_vm", "20001", nil)
	if imported == nil {
		t.Fatal(diagnostics)
	}
	before, err := lab.Hand.Config(t.Context(), 20001)
	check(t, err)
	bare := imported.Generated(t)
	full := maps.Clone(bare)
	full["kvm"], full["memory"] = true, protocol.Object{"mib": 64, "keep_hugepages": false, "shares": 1000}
	for tag, config := range map[string]protocol.Object{"one": full, "two": bare} {
		config["tags"] = []any{tag}
	}
	for _, config := range []protocol.Object{full, bare} {
		plan, diagnostics := imported.Plan(t, config)
		if plan == nil {
			t.Fatal(diagnostics)
		}
		if diagnostics := plan.Apply(t); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
	}
	after, err := lab.Hand.Config(t.Context(), 20001)
	check(t, err)
	before["tags"], before["digest"] = "two", after["digest"]
	if !maps.Equal(before, after) {
		t.Errorf("the configuration is %v, want %v", after, before)
	}
}

// said is a value without what is null in it.
func said(value any) any {
	object, ok := value.(protocol.Object)
	if !ok {
		return value
	}
	object = maps.Clone(object)
	maps.DeleteFunc(object, func(_ string, each any) bool { return each == nil })
	for name, each := range object {
		object[name] = said(each)
	}
	return object
}
