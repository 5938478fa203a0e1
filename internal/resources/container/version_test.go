package container_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

// newer are the rows of PVE 9 that PVE 8 lacks, by what is refused: each with what
// configures it, and with what PVE is sent for it.
var newer = map[string]struct {
	configured protocol.Object
	key, value string
}{
	"entrypoint":  {protocol.Object{"entrypoint": "/sbin/init"}, "entrypoint", "/sbin/init"},
	"environment": {protocol.Object{"environment": []any{"A=1"}}, "env", "A=1"},
	"root_volume.id_map": {
		protocol.Object{"root_volume": protocol.Object{"storage": "local-lvm", "size_gib": 1.0, "id_map": "passthrough"}},
		"rootfs", "local-lvm:vm-20000-disk-0,size=1G,idmap=passthrough",
	},
	`mount_points["mp0"].id_map`: {
		protocol.Object{"mount_points": protocol.Object{"mp0": protocol.Object{"storage": "local-lvm", "size_gib": 1.0, "path": "/data", "backup": true, "id_map": "passthrough"}}},
		"mp0", "local-lvm:1,mp=/data,idmap=passthrough",
	},
	`mount_points["mp1"].keep_attributes`: {
		protocol.Object{"mount_points": protocol.Object{
			"mp1": protocol.Object{"storage": "local-lvm", "size_gib": 1.0, "path": "/srv", "backup": true, "keep_attributes": true},
		}},
		"mp1", "local-lvm:1,mp=/srv,keepattrs=1",
	},
	`network["net0"].host_managed`: {
		protocol.Object{"network": protocol.Object{"net0": protocol.Object{"bridge": "vmbr0", "host_managed": true}}},
		"net0", "name=eth0,bridge=vmbr0,host-managed=1",
	},
}

// TestRowsOfPVE9: what PVE 8 does not know is refused in the plans of containers
// that are made and of those that there are, and there alone; PVE 8 would refuse it.
func TestRowsOfPVE9(t *testing.T) {
	t.Parallel()
	lab := place(t, "8.4")
	guest := lab.Manage(t, "proxmox_container")
	apply(t, guest, placed(protocol.Object{"node": "pve1"}))
	for name, row := range newer {
		config := placed(protocol.Object{"node": "pve1"})
		maps.Copy(config, row.configured)
		for what, each := range map[string]*protocol.Resource{"a new one": lab.Manage(t, "proxmox_container"), "one that there is": guest} {
			plan, diagnostics := each.Plan(t, config)
			if plan != nil || !strings.Contains(diagnostics.String(), "PVE 8 does not know "+name) {
				t.Errorf("%s of %s is planned: %s", name, what, diagnostics)
			}
		}
		err := lab.Hand.Call(t.Context(), http.MethodPut, "/nodes/pve1/lxc/20000/config", byhand.Params{row.key: row.value}, nil)
		if err == nil || !strings.Contains(err.Error(), "not defined in schema") {
			t.Errorf("PVE 8 takes %s=%s: %v", row.key, row.value, err)
		}
	}
}

// TestRowsOnPVE9: PVE 9 takes them all.
func TestRowsOnPVE9(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	config := placed(protocol.Object{"node": "pve1"})
	for _, name := range slices.Sorted(maps.Keys(newer)) {
		for attribute, configured := range newer[name].configured {
			row, isObject := configured.(protocol.Object)
			if !isObject {
				config[attribute] = configured
				continue
			}
			devices := protocol.Object{}
			others, _ := config[attribute].(protocol.Object)
			maps.Copy(devices, others)
			maps.Copy(devices, row) // Each row has a slot of its own.
			config[attribute] = devices
		}
	}
	guest := lab.Manage(t, "proxmox_container")
	apply(t, guest, config)
	if plan, diagnostics := guest.Plan(t, config); plan == nil || !plan.Empty() {
		t.Errorf("the plan is not empty: %s", diagnostics)
	}
	var real map[string]any
	if err := lab.Hand.Call(t.Context(), http.MethodGet, "/nodes/pve1/lxc/20000/config", nil, &real); err != nil {
		t.Fatal(err)
	}
	for name, row := range newer {
		want := row.value[strings.LastIndex(row.value, ",")+1:]
		if text, _ := real[row.key].(string); !strings.Contains(text, want) {
			t.Errorf("%s: %s is %q, without %q", name, row.key, text, want)
		}
	}
}

// TestStateOfAnEarlierRelease: attributes that it did not know make no difference.
func TestStateOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	config := placed(protocol.Object{"node": "pve1", "on_boot": true})
	guest := lab.Manage(t, "proxmox_container")
	apply(t, guest, config)
	kept := []string{
		"vmid", "uid", "node", "hostname", "template", "unprivileged", "pool", "power", "provisioned", "status", "marked", "root_volume", "network", "on_boot", "timeouts",
	}
	later := slices.DeleteFunc(slices.Collect(maps.Keys(guest.State)), func(name string) bool { return slices.Contains(kept, name) })
	for _, refreshes := range []bool{false, true} {
		guest.Forget(t, later...)
		if refreshes {
			if diagnostics := guest.Refresh(t); len(diagnostics) != 0 {
				t.Fatal(diagnostics)
			}
		}
		if plan, diagnostics := guest.Plan(t, config); plan == nil || !plan.Empty() || len(diagnostics) != 0 {
			t.Errorf("refreshed: %t: the plan is not empty: %s", refreshes, diagnostics)
		}
	}
}
