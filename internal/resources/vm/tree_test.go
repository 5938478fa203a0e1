package vm

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"terraform-provider-proxmox/internal/framework/settings"
)

// unknown stands for a value that is known after apply, in o.
type unknown struct{}

// o is an object or a map in a test; what it lacks is null.
type o = map[string]any

// value builds a value of a type from plain Go values.
func value(t *testing.T, typ attr.Type, raw any) attr.Value {
	t.Helper()
	result, err := typ.ValueFromTerraform(t.Context(), terraform(t, typ.TerraformType(t.Context()), raw))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func terraform(t *testing.T, typ tftypes.Type, raw any) tftypes.Value {
	t.Helper()
	switch raw := raw.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case o:
		return terraformObject(t, typ, raw)
	case []string:
		element := tftypes.Type(tftypes.String)
		items := make([]tftypes.Value, 0, len(raw))
		for _, item := range raw {
			items = append(items, tftypes.NewValue(element, item))
		}
		return tftypes.NewValue(typ, items)
	}
	return tftypes.NewValue(typ, raw)
}

func terraformObject(t *testing.T, typ tftypes.Type, raw o) tftypes.Value {
	t.Helper()
	values := map[string]tftypes.Value{}
	if mapping, ok := typ.(tftypes.Map); ok {
		for key, each := range raw {
			values[key] = terraform(t, mapping.ElementType, each)
		}
		return tftypes.NewValue(typ, values)
	}
	object, ok := typ.(tftypes.Object)
	if !ok {
		t.Fatalf("%s is no object", typ)
	}
	for name, attribute := range object.AttributeTypes {
		values[name] = terraform(t, attribute, raw[name])
	}
	for name := range raw {
		if _, ok := object.AttributeTypes[name]; !ok {
			t.Fatalf("no attribute %q", name)
		}
	}
	return tftypes.NewValue(typ, values)
}

// plain is the opposite: null is left out, unknown is "?".
func plain(t *testing.T, value attr.Value) any {
	t.Helper()
	raw, err := value.ToTerraformValue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plainTerraform(t, raw)
}

func plainTerraform(t *testing.T, raw tftypes.Value) any {
	t.Helper()
	switch {
	case raw.IsNull():
		return nil
	case !raw.IsKnown():
		return "?"
	case raw.Type().Is(tftypes.Object{}) || raw.Type().Is(tftypes.Map{}):
		var values map[string]tftypes.Value
		must(t, raw.As(&values))
		result := o{}
		for key, each := range values {
			if simple := plainTerraform(t, each); simple != nil {
				result[key] = simple
			}
		}
		return result
	case raw.Type().Is(tftypes.Bool):
		var flag bool
		must(t, raw.As(&flag))
		return flag
	case raw.Type().Is(tftypes.String):
		var text string
		must(t, raw.As(&text))
		return text
	}
	return raw.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want compares an object's attributes with the ones named, at every depth; of
// disks and network devices no other may be there.
func want(t *testing.T, got attr.Value, wanted o) {
	t.Helper()
	if diff := cmp.Diff(any(wanted), named(plain(t, got), wanted)); diff != "" {
		t.Error(diff)
	}
}

// named are the attributes of a value that the pattern names.
func named(value, pattern any) any {
	all, isObject := value.(o)
	names, wantsObject := pattern.(o)
	if !isObject || !wantsObject {
		return value
	}
	some := o{}
	for name := range all {
		if diskSlot.MatchString(name) || networkSlot.MatchString(name) {
			some[name] = named(all[name], names[name])
		}
	}
	for name := range names {
		some[name] = named(all[name], names[name])
	}
	return some
}

func num(text string) string { return `tftypes.Number<"` + text + `">` }

func list(items ...string) string {
	text := "tftypes.List[tftypes.String]<"
	for i, item := range items {
		if i > 0 {
			text += ", "
		}
		text += `tftypes.String<"` + item + `">`
	}
	return text + ">"
}

func paths(names ...string) settings.Applied {
	set := settings.Applied{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func TestPlanner(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config, state o
		applied       settings.Applied
		keepLocal     bool
		want          o
	}{
		"new: what is not configured is known after apply": {
			config: o{"name": "web", "cpu": o{"cores": 2}},
			want: o{
				"name": "web", "description": "?", "memory": "?", "disks": "?", "cloud_init": nil,
				"cpu": o{"cores": num("2"), "sockets": "?", "type": "?"}, "wait_for": "none",
			},
		},
		"inherited: state's value stays": {
			config: o{"name": "web"},
			state:  o{"name": "web", "cpu": o{"cores": 4, "type": "host"}, "tags": []string{"template"}},
			want:   o{"cpu": o{"cores": num("4"), "type": "host"}},
		},
		"removed: PVE's default returns": {
			config:  o{"name": "web"},
			state:   o{"name": "web", "cpu": o{"cores": 4, "sockets": 2}, "description": "words", "on_boot": true},
			applied: paths("cpu.cores", "description", "on_boot"),
			want:    o{"cpu": o{"cores": num("1"), "sockets": num("2")}, "description": nil, "on_boot": false},
		},
		"one spelling is kept": {
			config: o{"name": "web", "tags": []string{"B", "a"}, "description": "x\n", "network": o{"net0": o{"mac_address": "bc:24:11:00:00:01"}}},
			state:  o{"name": "web", "tags": []string{"a", "b"}, "description": "x", "network": o{"net0": o{"mac_address": "BC:24:11:00:00:01"}}},
			want: o{
				"tags": `tftypes.Set[tftypes.String]<tftypes.String<"a">, tftypes.String<"b">>`, "description": "x",
				"network": o{"net0": o{"mac_address": "BC:24:11:00:00:01"}},
			},
		},
		"empty is not null": {
			config: o{"name": "web", "tags": []string{}, "description": "", "disks": o{}},
			state:  o{"name": "web", "tags": []string{"a"}, "description": "x", "disks": o{"scsi0": o{"size_gib": 1}}},
			want:   o{"tags": `tftypes.Set[tftypes.String]<>`, "description": "", "disks": o{}},
		},
		"slots are those configured": {
			config: o{"name": "web", "disks": o{"scsi0": o{"size_gib": 20}, "scsi1": o{"size_gib": 5}}},
			state:  o{"name": "web", "disks": o{"scsi0": o{"size_gib": 10, "discard": true, "on_removal": "detach"}, "scsi2": o{"size_gib": 1}}},
			want: o{"disks": o{
				"scsi0": o{"size_gib": num("20"), "discard": true, "on_removal": "detach"},
				"scsi1": o{
					"size_gib": num("5"), "discard": "?", "on_removal": "detach", "storage": "?", "cache": "?", "backup": "?", "iothread": "?", "ssd": "?",
				},
			}},
		},
		"unconfigured slots stay": {
			config: o{"name": "web"},
			state:  o{"name": "web", "disks": o{"scsi0": o{"size_gib": 10}}},
			want:   o{"disks": o{"scsi0": o{"size_gib": num("10")}}},
		},
		"the last slot taken away": {
			config:  o{"name": "web"},
			state:   o{"name": "web", "disks": o{"scsi1": o{"size_gib": 10}}},
			applied: paths("disks", `disks["scsi1"]`, `disks["scsi1"].size_gib`),
			want:    o{"disks": "?"},
		},
		"unknown stays unknown": {
			config: o{"name": unknown{}, "cpu": o{"cores": unknown{}}, "network": unknown{}},
			state:  o{"name": "web", "cpu": o{"cores": 4}, "network": o{"net0": o{}}},
			want:   o{"name": "?", "cpu": o{"cores": "?"}, "network": "?"},
		},
		"a static address implies its method": {
			config: o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv4": o{"address": "10.0.0.1/24"}}}}},
			state:  o{"name": "web", "cloud_init": o{"interfaces": o{"net0": o{"ipv4": o{"method": "dhcp"}}}}},
			want: o{"cloud_init": o{"dns": nil, "interfaces": o{"net0": o{
				"ipv4": o{"address": "10.0.0.1/24", "method": "static"}, "ipv6": nil,
			}}}},
		},
		"an import keeps local settings": {
			config:    o{"name": "web", "wait_for": "agent", "stop": o{"shutdown_timeout": "5m"}},
			state:     o{"name": "web", "wait_for": "none", "stop": o{"shutdown_timeout": "60s", "force": true}},
			keepLocal: true,
			want:      o{"wait_for": "none", "stop": o{"shutdown_timeout": "60s", "force": true}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var state any
			if test.state != nil {
				state = test.state
			}
			p := settings.Planner{Applied: test.applied, KeepLocal: test.keepLocal}
			got := p.Object(table, path.Empty(), value(t, table.Typ(), test.config), value(t, table.Typ(), state))
			want(t, got, test.want)
		})
	}
}

// guest is a configuration as PVE writes it.
var guest = map[string]string{
	"name": "web", "cores": "2", "cpu": "host,flags=+aes", "memory": "2048", "tags": "a;b", "onboot": "1",
	"agent": "enabled=1,fstrim_cloned_disks=1", "description": "words", "scsihw": "virtio-scsi-single",
	"scsi0": "local-lvm:vm-110-disk-0,discard=on,iothread=1,size=3584M", "scsi1": "nfs:110/vm-110-disk-1.raw,backup=0,size=1G",
	"boot": "order=ide2;scsi0", "ide2": "local-lvm:vm-110-cloudinit,media=cdrom,size=4M",
	"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20", "ciuser": "ops",
	"ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto", "nameserver": "10.0.0.1 10.0.0.2", "sshkeys": "ssh-ed25519%20AAAA%2Bx%20me%0Assh-rsa%20BBBB%0A",
}

func TestReaderImports(t *testing.T) {
	t.Parallel()
	r := &settings.Reader{Values: guest, Purpose: settings.Importing}
	got := r.Object(table, "", nil)
	must(t, r.Err())
	want(t, got, o{
		"name": "web", "description": "words", "on_boot": true, "wait_for": "none",
		"tags": `tftypes.Set[tftypes.String]<tftypes.String<"a">, tftypes.String<"b">>`,
		"cpu":  o{"cores": num("2"), "sockets": num("1"), "type": "host"}, "memory": o{"mib": num("2048")}, "agent": o{"enabled": true},
		"disks": o{
			"scsi0": o{
				"size_gib": num("3.5"), "storage": "local-lvm", "discard": true, "iothread": true, "ssd": false, "cache": "none",
				"backup": true, "on_removal": "detach",
			},
			"scsi1": o{
				"size_gib": num("1"), "storage": "nfs", "discard": false, "iothread": false, "ssd": false, "cache": "none",
				"backup": false, "on_removal": "detach",
			},
		},
		"network": o{"net0": o{
			"model": "virtio", "mac_address": "BC:24:11:00:00:01", "bridge": "vmbr0", "vlan": num("20"), "firewall": true, "link_down": false,
		}},
		"cloud_init": o{
			"user": "ops", "upgrade": true, "password_wo_version": num("0"), "ssh_keys": list("ssh-ed25519 AAAA+x me", "ssh-rsa BBBB"), "dns": o{"servers": list("10.0.0.1", "10.0.0.2")},
			"interfaces": o{"net0": o{
				"ipv4": o{"address": "10.0.0.5/24", "gateway": "10.0.0.1", "method": "static"}, "ipv6": o{"method": "auto"},
			}},
		},
	})
}

func TestReaderRefreshes(t *testing.T) {
	t.Parallel()
	state := o{
		"name": "old", "description": "words ", "tags": []string{"B", "A"}, "wait_for": "agent",
		"disks":   o{"scsi0": o{"size_gib": 1}, "scsi9": o{"size_gib": 1}},
		"network": o{"net0": o{"mac_address": "bc:24:11:00:00:01", "ipv4_addresses": []string{"10.0.0.5"}}},
	}
	r := &settings.Reader{Values: guest, Purpose: settings.Refreshing}
	got := r.Object(table, "", value(t, table.Typ(), state))
	want(t, got, o{
		"name": "web", "description": "words ", "wait_for": "agent", "cloud_init": nil,
		"tags": `tftypes.Set[tftypes.String]<tftypes.String<"B">, tftypes.String<"A">>`,
		"disks": o{"scsi0": o{
			"size_gib": num("3.5"), "storage": "local-lvm", "discard": true, "iothread": true, "ssd": false, "cache": "none",
			"backup": true, "on_removal": "detach",
		}},
		"network": o{"net0": o{
			"model": "virtio", "mac_address": "bc:24:11:00:00:01", "bridge": "vmbr0", "vlan": num("20"), "firewall": true, "link_down": false,
			"ipv4_addresses": list("10.0.0.5"),
		}},
	})
}

// What PVE keeps as nothing at all is read back as it was configured.
func TestReaderKeepsEmpty(t *testing.T) {
	t.Parallel()
	state := o{"name": "web", "description": "", "tags": []string{}, "disks": o{}}
	r := &settings.Reader{Values: map[string]string{"name": "web"}, Purpose: settings.Refreshing}
	got := r.Object(table, "", value(t, table.Typ(), state))
	want(t, got, o{"description": "", "tags": `tftypes.Set[tftypes.String]<>`, "disks": o{}})

	r = &settings.Reader{Values: map[string]string{"name": "web"}, Purpose: settings.Refreshing}
	got = r.Object(table, "", value(t, table.Typ(), o{"name": "web", "disks": o{}}))
	want(t, got, o{"description": nil, "tags": nil})
}

// PVE reads back one blank for what was set to nothing.
func TestReaderKnowsBlanks(t *testing.T) {
	t.Parallel()
	r := &settings.Reader{Values: map[string]string{"name": "web", "tags": " ", "ciuser": " "}, Purpose: settings.Importing}
	want(t, r.Object(table, "", nil), o{"tags": nil, "cloud_init": nil})
}

func TestReaderSettles(t *testing.T) {
	t.Parallel()
	plan := o{
		"name": "web", "description": unknown{}, "cpu": o{"cores": 8, "sockets": unknown{}, "type": unknown{}},
		"disks": unknown{}, "network": o{"net0": o{"bridge": "vmbr7", "mac_address": unknown{}}},
	}
	r := &settings.Reader{Values: guest, Purpose: settings.Settling}
	got := r.Object(table, "", value(t, table.Typ(), plan))
	want(t, got, o{
		"description": "words", "cpu": o{"cores": num("8"), "sockets": num("1"), "type": "host"},
		"network": o{"net0": o{"bridge": "vmbr7", "mac_address": "BC:24:11:00:00:01"}},
	})
	disks := settings.Entries(settings.Fields(got)["disks"])
	if slots := slices.Sorted(maps.Keys(disks)); !slices.Equal(slots, []string{"scsi0", "scsi1"}) {
		t.Errorf("disks hold %v", slots)
	}

	// Interrupted before anything could be read: everything is known all the same.
	r = &settings.Reader{Purpose: settings.Settling}
	got = r.Object(table, "", value(t, table.Typ(), plan))
	raw, err := got.ToTerraformValue(t.Context())
	must(t, err)
	if !raw.IsFullyKnown() {
		t.Errorf("not known: %s", raw)
	}
}
