package vm

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

const uid = "0b9a9d5c-5f0e-4c0f-8f55-2f1d6b1c7a10"

// documentOf is a resource as Terraform would hand it over.
func documentOf(t *testing.T, values o) settings.Document {
	t.Helper()
	object, ok := resourceSchema(t).Schema.Type().(types.ObjectType)
	if !ok {
		t.Fatal("the schema is no object")
	}
	d := settings.Document{Types: object.AttrTypes}
	if values != nil {
		d.Values = value(t, object, values).(types.Object).Attributes()
	}
	return d
}

// configured is a guest's configuration as the gate reads it.
func configured110(values map[string]string) *proxmox.GuestConfig {
	current := maps.Clone(values)
	description, err := proxmox.JoinDescription(current["description"], proxmox.Marker{UID: uid, VMID: 110})
	if err != nil {
		panic(err)
	}
	current["description"] = description
	return &proxmox.GuestConfig{Node: "pve1", VMID: 110, Current: current}
}

func TestUpdateSendsChangedKeysOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config  o
		applied settings.Applied
		state   o
		first   bool
		set     map[string]string
		remove  []string
	}{
		"nothing": {
			config: o{
				"name": "web", "cpu": o{"cores": 2, "type": "host"}, "memory": o{"mib": 2048}, "tags": []string{"b", "A"}, "description": "words\n",
				"disks":      o{"scsi0": o{"size_gib": 3.5, "discard": true, "backup": true}},
				"network":    o{"net0": o{"bridge": "vmbr0", "mac_address": "bc:24:11:00:00:01", "vlan": 20, "model": "virtio", "link_down": false}},
				"cloud_init": o{"user": "ops", "upgrade": true, "interfaces": o{"net0": o{"ipv4": o{"address": "10.0.0.5/24", "gateway": "10.0.0.1"}}}},
			},
			applied: paths(`disks["scsi0"].backup`, `network["net0"].link_down`, "cloud_init.upgrade"),
			set:     map[string]string{},
		},
		"what is PVE's default is written all the same when it is new": {
			config: o{"name": "web", "cpu": o{"sockets": 1}, "tablet": true, "network": o{"net0": o{"link_down": false}}},
			set:    map[string]string{"sockets": "1", "tablet": "1", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20,link_down=0"},
		},
		"scalars": {
			config: o{"name": "new", "cpu": o{"cores": 4, "sockets": 1}, "tags": []string{"x"}, "on_boot": false},
			set:    map[string]string{"name": "new", "cores": "4", "sockets": "1", "tags": "x", "onboot": "0"},
		},
		"a property keeps its neighbours": {
			config: o{
				"name": "web", "cpu": o{"type": "x86-64-v2-AES"}, "agent": o{"enabled": false},
				"disks": o{"scsi0": o{"discard": false, "ssd": true}}, "network": o{"net0": o{"bridge": "vmbr1", "firewall": false, "model": "e1000"}},
			},
			set: map[string]string{
				"cpu": "x86-64-v2-AES,flags=+aes", "agent": "enabled=0,fstrim_cloned_disks=1",
				"scsi0": "local-lvm:vm-110-disk-0,discard=ignore,iothread=1,size=3584M,ssd=1",
				"net0":  "e1000=BC:24:11:00:00:01,bridge=vmbr1,firewall=0,tag=20",
			},
		},
		"removed is deleted, inherited is not": {
			config:  o{"name": "web"},
			applied: paths("cpu.cores", "cpu.type", "tags", "description", "agent.enabled", `network["net0"].vlan`, "network", `network["net0"]`, "cloud_init.user", "cloud_init.password_wo"),
			set:     map[string]string{"cpu": "kvm64,flags=+aes", "agent": "enabled=0,fstrim_cloned_disks=1", "description": "terraform-proxmox-uid=" + uid + "/110"},
			remove:  []string{"cipassword", "ciuser", "cores", "net0", "tags"},
		},
		"empty is deleted": {
			config: o{"name": "web", "tags": []string{}, "description": "", "cloud_init": o{"ssh_keys": []string{}}},
			set:    map[string]string{"description": "terraform-proxmox-uid=" + uid + "/110"},
			remove: []string{"sshkeys", "tags"},
		},
		"new devices": {
			config: o{
				"name": "web", "disks": o{"scsi0": o{}, "virtio1": o{"size_gib": 1.5, "discard": true, "backup": false}},
				"network": o{"net0": o{}, "net1": o{"bridge": "vmbr2", "vlan": 7}, "net2": o{"model": "e1000"}},
			},
			set: map[string]string{"virtio1": "local-lvm:1.5,discard=on,backup=0", "net1": "virtio,bridge=vmbr2,tag=7", "net2": "e1000,bridge=vmbr9"},
		},
		"slots taken away": {
			config:  o{"name": "web", "disks": o{"scsi0": o{}}},
			state:   o{"name": "web", "disks": o{"scsi0": o{}, "scsi1": o{"on_removal": "detach"}}},
			applied: paths("disks", `disks["scsi0"]`, `disks["scsi1"]`, `disks["scsi1"].size_gib`),
			set:     map[string]string{},
			remove:  []string{"scsi1"},
		},
		"slots whose volume is destroyed are left to the next call": {
			config:  o{"name": "web", "disks": o{"scsi0": o{}}},
			state:   o{"name": "web", "disks": o{"scsi0": o{}, "scsi1": o{"on_removal": "destroy"}}},
			applied: paths("disks", `disks["scsi0"]`, `disks["scsi1"]`),
			set:     map[string]string{},
		},
		"another method for an address": {
			config: o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv4": o{"method": "dhcp"}}, "net1": o{"ipv6": o{"address": "2001:db8::5/64"}}}}},
			set:    map[string]string{"ipconfig0": "ip=dhcp,ip6=auto", "ipconfig1": "ip6=2001:db8::5/64"},
		},
		"keys are encoded as PVE wants them": {
			config: o{"name": "web", "cloud_init": o{"ssh_keys": []string{"ssh-ed25519 AA+/= me@x\n"}, "dns": o{"servers": []string{"10.0.0.9"}, "domain": "example.com"}}},
			set:    map[string]string{"sshkeys": "ssh-ed25519%20AA%2B%2F%3D%20me%40x", "nameserver": "10.0.0.9", "searchdomain": "example.com"},
		},
		"a password is set when the guest is made": {
			config: o{"name": "web", "cloud_init": o{"password_wo": "secret", "password_wo_version": 1}}, first: true,
			set: map[string]string{"cipassword": "secret", "description": "words\n\nterraform-proxmox-uid=" + uid + "/110 creating"},
		},
		"and when its version changes": {
			config:  o{"name": "web", "cloud_init": o{"password_wo": "secret", "password_wo_version": 2}},
			state:   o{"name": "web", "cloud_init": o{"password_wo_version": 1}},
			applied: paths("cloud_init.password_wo"),
			set:     map[string]string{"cipassword": "secret"},
		},
		"and not otherwise": {
			config:  o{"name": "web", "cloud_init": o{"password_wo": "secret", "password_wo_version": 1}},
			state:   o{"name": "web", "cloud_init": o{"password_wo_version": 1}},
			applied: paths("cloud_init.password_wo"),
			set:     map[string]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &job{Job: &guests.Job{
				Kind: kind, Config: documentOf(t, test.config), Plan: documentOf(t, test.config), State: documentOf(t, test.state), Applied: test.applied,
				Defaults: framework.Defaults{Bridge: "vmbr9"}, Guest: proxmox.Guest{VMID: 110, UID: uid}, First: test.first,
			}}
			update, err := j.update(configured110(guest))
			must(t, err)
			if diff := cmp.Diff(test.set, update.Set); diff != "" {
				t.Errorf("set: %s", diff)
			}
			slices.Sort(update.Delete)
			if diff := cmp.Diff(test.remove, update.Delete); diff != "" {
				t.Errorf("delete: %s", diff)
			}
		})
	}
}

// A pending change counts as the value: it is not written again.
func TestUpdateKnowsPendingChanges(t *testing.T) {
	t.Parallel()
	config := configured110(guest)
	config.Pending = map[string]string{"cores": "4"}
	config.PendingDelete = []string{"tags"}
	given := documentOf(t, o{"name": "web", "cpu": o{"cores": 4}, "tags": []string{}})
	j := &job{Job: &guests.Job{Kind: kind, Config: given, Plan: given, State: documentOf(t, nil), Guest: proxmox.Guest{VMID: 110, UID: uid}}}
	update, err := j.update(config)
	must(t, err)
	if len(update.Set) > 0 || len(update.Delete) > 0 {
		t.Errorf("sent %v, deleted %v", update.Set, update.Delete)
	}
}

// A guest that is still to be started keeps "creating" in its marker: what takes
// it off is the last call of all.
func TestUpdateKeepsTheMarkerOfACreation(t *testing.T) {
	t.Parallel()
	config := configured110(guest)
	config.Current["description"] += " creating"
	for description, want := range map[string]string{"words": "", "others": "others\n\nterraform-proxmox-uid=" + uid + "/110 creating"} {
		given := documentOf(t, o{"name": "web", "description": description})
		j := &job{Job: &guests.Job{Kind: kind, Config: given, Plan: given, State: documentOf(t, nil), Guest: proxmox.Guest{VMID: 110, UID: uid}, First: true}}
		update, err := j.update(config)
		must(t, err)
		if got := update.Set["description"]; got != want {
			t.Errorf("description is %q, want %q", got, want)
		}
	}
}

func TestUpdateAddsTheCloudInitDrive(t *testing.T) {
	t.Parallel()
	values := maps.Clone(guest)
	values["ide2"] = "local:iso/debian.iso,media=cdrom,size=600M"
	given := documentOf(t, o{"name": "web", "cloud_init": o{"user": "ops"}})
	j := &job{Job: &guests.Job{Kind: kind, Config: given, Plan: given, State: documentOf(t, nil), Guest: proxmox.Guest{VMID: 110, UID: uid}}}
	update, err := j.update(configured110(values))
	must(t, err)
	if got := update.Set["ide0"]; got != "local-lvm:cloudinit" {
		t.Errorf("set %v", update.Set)
	}
}

// What is configured of a disk's size is what it grows to.
func TestSizes(t *testing.T) {
	t.Parallel()
	config := documentOf(t, o{"name": "web", "disks": o{"scsi0": o{"size_gib": 20}, "scsi1": o{"discard": true}}})
	plan := documentOf(t, o{"name": "web", "disks": o{"scsi0": o{"size_gib": 20}, "scsi1": o{"size_gib": 4, "discard": true}}})
	j := &job{Job: &guests.Job{Kind: kind, Config: config, Plan: plan}}
	sizes := j.sizes()
	if len(sizes) != 1 || settings.BytesOf(sizes["scsi0"]) != 20<<30 {
		t.Errorf("sizes are %v", sizes)
	}
}

func TestAppliedPaths(t *testing.T) {
	t.Parallel()
	given := documentOf(t, o{
		"name": "web", "cpu": o{"cores": 2}, "disks": o{"scsi0": o{"size_gib": 1, "on_removal": "detach"}},
		"cloud_init": o{"password_wo": "x", "dns": o{"domain": "a"}, "interfaces": o{"net0": o{"ipv4": o{"method": "dhcp"}}}},
	})
	var got []string
	table.Walk(path.Empty(), given.Object(), func(p path.Path) { got = append(got, p.String()) })
	slices.Sort(got)
	want := []string{
		"cloud_init.dns.domain", `cloud_init.interfaces["net0"]`, `cloud_init.interfaces["net0"].ipv4.method`, "cloud_init.password_wo",
		"cpu.cores", `disks["scsi0"]`, `disks["scsi0"].size_gib`, "name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
