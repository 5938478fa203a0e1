package vm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

// finished is the state of a guest that was made and is stopped.
func finished(changes o) o {
	state := o{
		"name": "web", "node": "pve1", "vmid": 20001, "uid": uid, "template": 9000, "storage": "local-lvm", "power": "stopped",
		"provisioned": true, "status": "stopped", "reboot_required": []string{}, "on_boot": false,
		"wait_for": "none", "on_wait_timeout": "warn", "reboot": "never", "enforce_power": false, "restore_marker": false,
		"marked": true, "addresses_stale": false, "on_destroy": o{"unknown_disks": "refuse", "unreferenced_disks": false, "purge": false}, "stop": o{"shutdown_timeout": "60s", "force": true},
		"cpu": o{"cores": 1, "sockets": 1, "type": "host"}, "memory": o{"mib": 512}, "agent": o{"enabled": false},
		"disks": o{"scsi0": o{
			"size_gib": 4, "storage": "local-lvm", "discard": false, "iothread": false, "ssd": false, "cache": "none", "backup": true, "on_removal": "detach",
		}},
		"network": o{"net0": o{
			"model": "virtio", "mac_address": "BC:24:11:00:00:01", "bridge": "vmbr0", "firewall": false, "link_down": false,
			"ipv4_addresses": []string{"10.0.0.5"}, "ipv6_addresses": []string{},
		}},
		"devices":       map[string]any{"scsi0": "local-lvm:vm-20001-disk-0,size=4G", "scsi5": "local-lvm:vm-20001-disk-1,size=2G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "ide2": "none,media=cdrom"},
		"mac_addresses": map[string]any{"net0": "BC:24:11:00:00:01"},
	}
	for name, each := range changes {
		state[name] = each
	}
	return state
}

// drafted makes a plan without a cluster.
func drafted(t *testing.T, config, state o, change func(*draft)) (*draft, diag.Diagnostics) {
	t.Helper()
	var diags diag.Diagnostics
	d := &draft{Draft: &guests.Draft{Kind: kind, Config: documentOf(t, config), State: documentOf(t, state), Diags: &diags}}
	if change != nil {
		change(d)
	}
	d.Make(t.Context(), d)
	if d.Changes() {
		d.CheckSettings()
	}
	return d, diags
}

// changed names what a plan changes, and how.
func changed(t *testing.T, d *draft) o {
	t.Helper()
	result := o{}
	for name, planned := range d.Plan.Values {
		if !planned.Equal(d.State.Values[name]) {
			result[name] = plain(t, planned)
		}
	}
	return result
}

func TestDraftChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config, state o
		change        func(*draft)
		want          o
		replace       string
	}{
		"nothing but a name": {config: o{"name": "web", "template": 9000}, want: o{}},
		"all as it is": {
			config: o{"name": "web", "cpu": o{"cores": 1}, "disks": o{"scsi0": o{"size_gib": 4}}, "network": o{"net0": o{"bridge": "vmbr0"}}, "power": "stopped"},
			want:   o{},
		},
		"cores": {
			config: o{"name": "web", "cpu": o{"cores": 2}},
			want:   o{"cpu": o{"cores": num("2"), "sockets": num("1"), "type": "host"}, "reboot_required": "?"},
		},
		"a bridge keeps the addresses": {
			config: o{"name": "web", "network": o{"net0": o{"bridge": "vmbr1"}}},
			want: o{
				"network": o{"net0": o{
					"model": "virtio", "mac_address": "BC:24:11:00:00:01", "bridge": "vmbr1", "firewall": false, "link_down": false,
					"ipv4_addresses": list("10.0.0.5"), "ipv6_addresses": list(),
				}},
				"devices": "?", "reboot_required": "?",
			},
		},
		"a local setting touches nothing else": {config: o{"name": "web", "on_wait_timeout": "fail"}, want: o{"on_wait_timeout": "fail"}},
		"a disk not named before": {
			config: o{"name": "web", "disks": o{"scsi5": o{"discard": true}}},
			want: o{
				"disks": o{"scsi5": o{
					"size_gib": "?", "storage": "?", "discard": true, "iothread": "?", "ssd": "?", "cache": "?", "backup": "?", "on_removal": "detach",
				}},
				"devices": "?", "reboot_required": "?",
			},
		},
		"another template": {
			config: o{"name": "web", "template": 9001}, want: o{"template": num("9001")}, replace: "template",
		},
		"another vmid":                  {config: o{"name": "web", "vmid": 20002}, want: o{"vmid": num("20002")}, replace: "vmid"},
		"a template not known yet":      {config: o{"name": "web", "template": unknown{}, "vmid": unknown{}, "node": unknown{}}, want: o{}},
		"power left out":                {config: o{"name": "web"}, want: o{}},
		"a moved guest is brought back": {config: o{"name": "web", "node": "pve2"}, want: o{"node": "pve2", "devices": "?", "status": "?"}},
		"a moved guest stays on allowed nodes": {
			config: o{"name": "web", "node": "pve2", "allowed_nodes": []string{"pve1", "pve2"}}, state: finished(o{"allowed_nodes": []string{"pve1", "pve2"}}), want: o{},
		},
		"a guest that may not be where it is": {
			config: o{"name": "web", "allowed_nodes": []string{"pve3", "pve2"}}, want: o{"node": "pve2", "allowed_nodes": strings.Replace(list("pve3", "pve2"), "List", "Set", 1), "devices": "?", "status": "?"},
		},
		"a power that is enforced": {
			config: o{"name": "web", "power": "running", "enforce_power": true}, state: finished(o{"power": "running", "enforce_power": true}),
			want: o{"status": "?", "reboot_required": "?", "addresses_stale": "?", "network": o{"net0": o{
				"model": "virtio", "mac_address": "BC:24:11:00:00:01", "bridge": "vmbr0", "firewall": false, "link_down": false,
				"ipv4_addresses": "?", "ipv6_addresses": "?",
			}}},
		},
		"a power that is not":                            {config: o{"name": "web", "power": "running"}, state: finished(o{"power": "running"}), want: o{}},
		"a marker that was lost is not restored unasked": {config: o{"name": "web"}, state: finished(o{"marked": false}), want: o{}},
		"a marker that is restored": {
			config: o{"name": "web", "restore_marker": true}, state: finished(o{"marked": false}), want: o{"marked": true, "restore_marker": true},
		},
		"an adoption": {
			config: o{"name": "web"}, state: finished(o{"marked": false, "uid": nil}),
			change: func(d *draft) { d.Imported, d.Adopting = true, "0b9a9d5c-5f0e-4c0f-8f55-2f1d6b1c7a11" },
			want:   o{"marked": true, "uid": "0b9a9d5c-5f0e-4c0f-8f55-2f1d6b1c7a11"},
		},
		"a configured storage": {config: o{"name": "web", "storage": "other"}, want: o{}},
		"an unfinished guest is finished": {
			config: o{"name": "web"},
			state: finished(o{
				"provisioned": false, "status": nil, "cpu": o{}, "devices": nil, "mac_addresses": nil, "disks": nil, "network": nil, "memory": nil, "agent": nil, "on_boot": nil,
			}),
			want: o{
				"provisioned": "?", "status": "?", "reboot_required": "?", "devices": "?", "mac_addresses": "?", "cloud_init_effective": "?",
				"cpu": o{"cores": "?", "sockets": "?", "type": "?"}, "disks": "?", "network": "?", "memory": "?", "agent": "?", "on_boot": "?", "tags": "?", "description": "?",
			},
		},
		"nothing is concluded from a guest that was not seen": {
			config: o{"name": "web", "disks": o{"scsi1": o{"discard": true}}},
			state:  finished(o{"provisioned": false, "devices": nil, "disks": o{"scsi1": o{"discard": true, "on_removal": "detach"}}}),
			want: o{
				"provisioned": "?", "status": "?", "reboot_required": "?", "devices": "?", "mac_addresses": "?", "cloud_init_effective": "?",
				"tags": "?", "description": "?", "memory": o{"balloon_mib": "?", "mib": num("512")},
				"disks": o{"scsi1": o{
					"size_gib": "?", "storage": "?", "discard": true, "iothread": "?", "ssd": "?", "cache": "?", "backup": "?", "on_removal": "detach",
				}},
				"network": o{"net0": o{
					"model": "virtio", "mac_address": "BC:24:11:00:00:01", "bridge": "vmbr0", "firewall": false, "link_down": false,
					"ipv4_addresses": "?", "ipv6_addresses": "?",
				}},
			},
		},
		"an import changes nothing": {
			config: o{
				"name": "web", "template": 9000, "wait_for": "agent", "stop": o{"shutdown_timeout": "5m"}, "reboot": "auto",
				"disks": o{"scsi0": o{"on_removal": "destroy"}}, "network": o{"net0": o{}},
			},
			state: finished(o{"template": 0}), change: func(d *draft) { d.Imported = true },
			want: o{},
		},
		"the first change after an import records the rest": {
			config: o{"name": "web", "template": 9000, "reboot": "auto", "on_boot": true},
			state:  finished(o{"template": 0}), change: func(d *draft) { d.Imported = true },
			want: o{"template": num("9000"), "reboot": "auto", "on_boot": true, "reboot_required": "?"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := test.state
			if state == nil {
				state = finished(nil)
			}
			d, diags := drafted(t, test.config, state, test.change)
			if diags.HasError() {
				t.Fatal(diags)
			}
			got := changed(t, d)
			if diff := cmp.Diff(any(test.want), named(got, test.want)); diff != "" {
				t.Error(diff)
			}
			if len(got) != len(test.want) && d.State.Provisioned() {
				t.Errorf("changed are %v", slices.Sorted(maps.Keys(got)))
			}
			replaced := ""
			if len(d.Replaces) > 0 {
				replaced = d.Replaces[0].String()
			}
			if replaced != test.replace {
				t.Errorf("replaced because of %q, want %q", replaced, test.replace)
			}
		})
	}
}

func TestDraftCreates(t *testing.T) {
	t.Parallel()
	d, diags := drafted(t, o{"name": "web", "template": 9000, "pool": "mine"}, nil, func(d *draft) {
		d.Defaults = framework.Defaults{Node: "pve2", Storage: "nfs", Pool: "theirs"}
	})
	if diags.HasError() {
		t.Fatal(diags)
	}
	got := changed(t, d)
	wanted := o{"node": "pve2", "storage": "nfs", "pool": "mine", "power": nil, "vmid": "?", "provisioned": "?", "disks": "?", "timeouts": nil}
	for name, want := range wanted {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDraftRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config, state o
		creates       bool
		change        func(*draft)
		want          string
	}{
		"no template":                       {config: o{"name": "web"}, creates: true, want: "No template"},
		"shrink":                            {config: o{"name": "web", "disks": o{"scsi0": o{"size_gib": 3.5}}}, want: "scsi0 would shrink"},
		"shrink of a disk not named before": {config: o{"name": "web", "disks": o{"scsi0": o{}, "scsi5": o{"size_gib": 1}}}, want: "scsi5 would shrink"},
		"a disk in a drive":                 {config: o{"name": "web", "disks": o{"scsi0": o{}, "ide2": o{"size_gib": 1}}}, want: "ide2 is a CD-ROM drive"},
		"a disk without size":               {config: o{"name": "web", "disks": o{"scsi0": o{}, "scsi1": o{}}}, want: "needs a size"},
		"another version of the TPM":        {config: o{"name": "web", "tpm": o{"version": "v2.0"}}, change: func(d *draft) { d.State.Values["tpm"] = value(t, tpmGroup.Typ(), o{"version": "v1.2"}) }, want: "tpm.version cannot be changed"},
		"a burst without its base":          {config: o{"name": "web", "disks": o{"scsi0": o{"limits": o{"iops_read_max": 5}}}}, want: "iops_read_max needs iops_read"},
		"bounds in all and apart":           {config: o{"name": "web", "disks": o{"scsi0": o{"limits": o{"mbps": 5, "mbps_write": 5}}}}, want: "mbps_write and mbps exclude each other"},
		"no device":                         {config: o{"name": "web", "usb": o{"usb0": o{"usb3": true}}}, want: "Which device is not said"},
		"two devices":                       {config: o{"name": "web", "pci": o{"hostpci0": o{"mapping": "gpu", "host": "01:00"}}}, want: "exclude each other"},
		"more processors than there are":    {config: o{"name": "web", "cpu": o{"cores": 2, "vcpus": 3}}, want: "More processors"},
		"a balloon larger than the memory":  {config: o{"name": "web", "memory": o{"mib": 512, "balloon_mib": 513}}, want: "The balloon leaves more"},
		"ssd on virtio":                     {config: o{"name": "web", "disks": o{"scsi0": o{}, "virtio1": o{"size_gib": 1, "ssd": true}}}, want: "ssd is not for virtio disks"},
		"thread on sata":                    {config: o{"name": "web", "disks": o{"scsi0": o{}, "sata1": o{"size_gib": 1, "iothread": true}}}, want: "iothread is not for sata disks"},
		"address and dhcp": {
			config: o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv4": o{"address": "10.0.0.1/24", "method": "dhcp"}}}}}, want: "An address is static",
		},
		"static without address": {config: o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv6": o{"method": "static"}}}}}, want: "No address"},
		"gateway alone":          {config: o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv4": o{"gateway": "10.0.0.1"}}}}}, want: "A gateway needs"},
		"too long":               {config: o{"name": "web", "description": strings.Repeat("x", 8192)}, want: "description cannot be used"},
		"no agent to wait for":   {config: o{"name": "web", "wait_for": "agent"}, want: "no agent"},
		"the first NIC taken away": {
			config: o{"name": "web"}, change: func(d *draft) { d.Applied = paths("network", `network["net0"]`) }, want: "net0 cannot be removed",
		},
		"a pool afterwards": {config: o{"name": "web", "pool": "mine"}, want: "pool of an existing VM"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := finished(nil)
			if test.creates {
				state = nil
			}
			_, diags := drafted(t, test.config, state, test.change)
			if !diags.HasError() || !strings.Contains(diags.Errors()[0].Summary(), test.want) {
				t.Errorf("want %q, got %v", test.want, diags)
			}
		})
	}
}

// A restart is announced where it may happen, and happens only there.
func TestDraftAnnouncesRestarts(t *testing.T) {
	t.Parallel()
	running := func(changes o) o {
		state := finished(o{"status": "running", "power": nil, "reboot": "auto"})
		for name, each := range changes {
			state[name] = each
		}
		return state
	}
	tests := map[string]struct {
		config, state o
		want          bool
	}{
		"cores of a running guest":        {o{"name": "web", "reboot": "auto", "cpu": o{"cores": 2}}, running(nil), true},
		"tags of a running guest":         {o{"name": "web", "reboot": "auto", "tags": []string{"a"}}, running(nil), false},
		"nothing":                         {o{"name": "web", "reboot": "auto"}, running(nil), false},
		"what waits already":              {o{"name": "web", "reboot": "auto"}, running(o{"reboot_required": []string{"cores"}}), true},
		"never":                           {o{"name": "web", "reboot": "never", "cpu": o{"cores": 2}}, running(nil), false},
		"a stopped guest":                 {o{"name": "web", "reboot": "auto", "cpu": o{"cores": 2}}, running(o{"status": "stopped"}), false},
		"a guest that is stopped with it": {o{"name": "web", "reboot": "auto", "power": "stopped", "cpu": o{"cores": 2}}, running(nil), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, diags := drafted(t, test.config, test.state, nil)
			announced := false
			for _, each := range diags.Warnings() {
				announced = announced || strings.Contains(each.Summary(), "restarted")
			}
			if announced != test.want {
				t.Errorf("announced is %t", announced)
			}
			if kind.Restarts(d.Plan, d.State) != test.want {
				t.Errorf("the update would restart: %t", !test.want)
			}
		})
	}
}

// Unknown values are planned as they are, and nothing is concluded from them.
func TestDraftToleratesUnknown(t *testing.T) {
	t.Parallel()
	config := o{
		"name": unknown{}, "template": unknown{}, "vmid": unknown{}, "node": unknown{}, "tags": unknown{}, "disks": unknown{},
		"network": o{"net0": o{"bridge": unknown{}}}, "cloud_init": o{"interfaces": unknown{}}, "description": unknown{},
	}
	d, diags := drafted(t, config, nil, nil)
	if diags.HasError() {
		t.Fatal(diags)
	}
	for _, name := range []string{"name", "template", "vmid", "node", "tags", "disks"} {
		if !d.Plan.Values[name].IsUnknown() {
			t.Errorf("%s is %s", name, d.Plan.Values[name])
		}
	}
	if bridge := settings.Fields(settings.Entries(d.Plan.Values["network"])["net0"])["bridge"]; !bridge.Equal(types.StringUnknown()) {
		t.Errorf("bridge is %s", bridge)
	}
}
