package container

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

func TestSchema(t *testing.T) {
	t.Parallel()

	var resp resource.SchemaResponse
	New().Schema(t.Context(), resource.SchemaRequest{}, &resp)
	if problems := resp.Schema.ValidateImplementation(context.Background()); problems.HasError() {
		t.Error(problems)
	}
}

// TestThereAndBack reads what PVE says, writes it anew for another container, and
// wants the same again.
func TestThereAndBack(t *testing.T) {
	t.Parallel()

	for name, values := range map[string]map[string]string{
		"everything": {
			"hostname": "db", "tags": "a;b", "onboot": "1", "memory": "1024", "swap": "0", "cores": "2", "cpulimit": "1.5",
			"features": "nesting=1,mount=cifs;nfs", "nameserver": "10.0.0.1 10.0.0.2", "startup": "3,up=10", "cmode": "shell",
			"net0": "name=eth0,hwaddr=BC:24:11:00:00:01,bridge=vmbr0,tag=7,firewall=1,rate=3.5,mtu=1400,ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto",
			"dev0": "/dev/null,mode=0660", "env": "A=1\x00B=two words",
		},
		"addresses": {"hostname": "x", "net1": "name=lan,bridge=vmbr1,ip=dhcp,ip6=fd00::2/64,gw6=fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &settings.Reader{Values: values, Purpose: settings.Importing}
			read := r.Object(table, "", nil)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			w := &settings.Writer{Real: map[string]string{}, Now: map[string]string{}, Applied: settings.Applied{}}
			table.Walk(path.Empty(), read, func(at path.Path) { w.Applied[at.String()] = true })
			w.Object(table, path.Empty(), "", read, read)
			written := w.Update().Set
			for key, want := range values {
				if !sameProps(t, written[key], want) {
					t.Errorf("%s is %q, not %q", key, written[key], want)
				}
			}
			if len(written) != len(values) {
				t.Errorf("wrote %v, not %v", written, values)
			}
		})
	}
}

// sameProps compares property strings regardless of their order.
func sameProps(t *testing.T, a, b string) bool {
	t.Helper()
	left, errA := proxmox.ParseProps(a)
	right, errB := proxmox.ParseProps(b)
	if errA != nil || errB != nil {
		return a == b
	}
	count := 0
	for _, each := range left.All() {
		if got, ok := right.Get(each.Key); !ok || got != each.Value {
			return false
		}
		count++
	}
	return count == len(right.All())
}

func TestInBackup(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]bool{
		"local-lvm:vm-1-disk-1,mp=/a,backup=1": true,
		"local-lvm:vm-1-disk-1,mp=/a,backup=0": false,
		"local-lvm:vm-1-disk-1,mp=/a":          false,
		"/srv,mp=/srv,backup=1":                false,
		"/dev/sdb,mp=/srv,backup=1":            false,
	} {
		if got, _ := (inBackup{}).Get(value); (got == "1") != want {
			t.Errorf("%s: %s", value, got)
		}
	}
}

func TestSourceChangesWithTemplateAndTrigger(t *testing.T) {
	t.Parallel()

	of := func(template, trigger string) string {
		reinstall := reinstallGroup.Object(map[string]attr.Value{"keep": types.SetNull(types.StringType), "trigger": types.StringValue(trigger)})
		return sourceOf(settings.Document{Values: map[string]attr.Value{"template": types.StringValue(template), "reinstall": reinstall}})
	}
	source, again := of("a", "1"), of("a", "1")
	if source != again {
		t.Error("the same template and trigger make another source")
	}
	if source == of("b", "1") || source == of("a", "2") {
		t.Error("a source does not tell template and trigger apart")
	}
}

func TestUnknownVolumes(t *testing.T) {
	t.Parallel()

	values := map[string]string{
		"rootfs": "l:vm-1-disk-0,size=8G", "mp0": "l:vm-1-disk-1,mp=/a", "mp1": "l:vm-1-disk-2,mp=/b", "mp2": "/srv,mp=/srv",
		"unused0": "l:vm-1-disk-3", "net0": "name=eth0",
	}
	err := kind.CheckUnknown(settings.Document{}, values, []string{"mp0", "unused0"})
	var unknown *guests.UnknownDisksError
	if !errors.As(err, &unknown) {
		t.Fatalf("got %v", err)
	}
	if want := []string{"mp1=l:vm-1-disk-2,mp=/b", "unused0=l:vm-1-disk-3"}; !slices.Equal(unknown.Disks, want) {
		t.Errorf("got %v, want %v", unknown.Disks, want)
	}
	allowed := destroyGroup.Object(map[string]attr.Value{
		"unknown_disks": types.StringValue("destroy"), "unreferenced_disks": types.BoolValue(false), "purge": types.BoolValue(false),
	})
	if err := kind.CheckUnknown(settings.Document{Values: map[string]attr.Value{"on_destroy": allowed}}, values, nil); err != nil {
		t.Error(err)
	}
}
