package proxmox

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHeldFor: who holds volumes says so beside a marker of its own.
func TestHeldFor(t *testing.T) {
	t.Parallel()

	guest := Guest{VMID: 10000, UID: uidA}
	marker := "\n" + Marker{UID: uidB, VMID: 10005}.String()
	for name, test := range map[string]struct {
		kind        Kind
		description string
		want        int
	}{
		"it does":              {KindContainer, keepsLine(guest, false) + marker, 10000},
		"of one that ran":      {KindContainer, "text\n " + keepsLine(guest, true) + marker, 10000},
		"a copy of its text":   {KindContainer, keepsLine(guest, false), 0},
		"a copy of its marker": {KindContainer, keepsLine(guest, false) + "\n" + Marker{UID: uidB, VMID: 10006}.String(), 0},
		"no id":                {KindContainer, keepsKey + uidA + "/x" + marker, 0},
		"any other":            {KindContainer, "text" + marker, 0},
		"a VM":                 {KindVM, keepsLine(guest, false) + marker, 0},
	} {
		config := newGuestConfig(test.kind, "pve1", 10005)
		config.Current["description"] = test.description
		if vmid, holds := config.HeldFor(); vmid != test.want || holds != (test.want != 0) {
			t.Errorf("%s: %d, %v", name, vmid, holds)
		}
	}
}

// TestParseDevice reads the one form of a network device that both kinds have.
func TestParseDevice(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		kind        Kind
		slot, value string
		want        Link
		ok          bool
	}{
		{KindVM, "net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=1", Link{MAC: "BC:24:11:00:00:01", Bridge: "vmbr0", LinkDown: true}, true},
		{KindVM, "net1", "model=e1000,bridge=vmbr1", Link{Bridge: "vmbr1"}, true},
		{KindContainer, "net0", "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:02,link_down=0", Link{MAC: "BC:24:11:00:00:02", Bridge: "vmbr0"}, true},
		{KindVM, "scsi0", "local:1,size=1G", Link{}, false},
		{KindVM, "network", "virtio,bridge=vmbr0", Link{}, false},
		{KindContainer, "net0", "name=eth0,name=eth1", Link{}, false},
		{KindVM, "net0", "virtio=BC:24:11:00:00:01,virtio=BC:24:11:00:00:02", Link{}, false},
	} {
		if got, ok := ParseDevice(test.kind, test.slot, test.value); got != test.want || ok != test.ok {
			t.Errorf("%s %s=%s: %+v, %v", test.kind, test.slot, test.value, got, ok)
		}
	}
}

// TestMigrationRefusal: the reason that PVE gives for a node, the guest's own
// first. PVE lists allowed nodes among those that are not, with nothing against
// them.
func TestMigrationRefusal(t *testing.T) {
	t.Parallel()

	const check = "GET /nodes/pve1/qemu/10000/migrate?target=pve2"
	answer := func(running int, bound ...string) map[string]any {
		return map[string]any{
			"running": running, "allowed_nodes": []string{"pve4"}, "not_allowed_nodes": map[string]any{
				"pve2": map[string]any{"unavailable_storages": []string{"fast", "slow"}}, "pve4": map[string]any{},
				"pve3": map[string]any{"blocking-ha-resources": []any{map[string]any{"sid": "vm:7", "cause": "resource-affinity"}}},
				"pve5": map[string]any{"unavailable-resources": []string{"hostpci0"}},
			},
			"local_disks": []any{
				map[string]any{"volid": "local:iso/a.iso", "cdrom": 1},
				map[string]any{"volid": "local-lvm:vm-10000-disk-0", "cdrom": 0},
				map[string]any{"volid": "local-lvm:vm-10000-cloudinit", "cdrom": 1},
			},
			"local_resources": bound, "mapped-resources": []string{"usb1"},
		}
	}
	ask := func(answer map[string]any) Migration {
		m, err := script(t, on(check).data200(answer)).VMs.CheckMigration(t.Context(), "pve1", 10000, "pve2")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := ask(answer(1))
	if !slices.Equal(m.Copied(), []string{"local-lvm:vm-10000-disk-0"}) || !slices.Equal(m.Images(), []string{"local:iso/a.iso"}) {
		t.Errorf("copied %q, images %q", m.Copied(), m.Images())
	}
	for node, want := range map[string]string{
		"pve2": "no storage fast, slow", "pve3": "does not allow it there", "pve4": "", "pve5": "no resource mapping of hostpci0",
	} {
		if got := m.Refusal(node); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", node, got)
		}
	}
	for _, test := range []struct {
		running int
		bound   []string
		want    string
	}{{0, []string{"hostpci0", "usb1"}, "its node: hostpci0"}, {0, []string{"usb1"}, ""}, {1, []string{"usb1"}, "its node: usb1"}} {
		if got := ask(answer(test.running, test.bound...)).Refusal("pve4"); !strings.HasSuffix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("running %d with %v: %q", test.running, test.bound, got)
		}
	}
}

// TestMigrate: what runs goes on running, a container by a restart; what is
// there already is left alone, a lost answer's too.
func TestMigrate(t *testing.T) {
	t.Parallel()

	const vm, ct = "POST /nodes/pve1/qemu/10000/migrate", "POST /nodes/pve1/lxc/10000/migrate"
	upid := upidOf("qmigrate", "10000")
	there := on("GET /nodes/pve2/qemu/10000/pending").data200(configOf(Marker{UID: uidA, VMID: 10000}))
	arrived := steps(on(readGuest).fail(500, notHere), on(listGuests).data200([]any{vmResource(10000, "pve2", "web")}), there)
	asked := upidOf(taskHAMigrate, "10000")
	asks := steps(oursHere, now("running"), on(vm).data200(asked), taskSteps(asked, "OK"), oursHere)
	moving := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "lock", "migrate"))
	for name, test := range map[string]struct {
		guest Guest
		steps []step
		says  string
	}{
		"by HA":             {ourGuest(), steps(asks, slices.Repeat([]step{moving}, 60), oursHere, arrived), ""},
		"HA lets it be":     {ourGuest(), steps(asks, slices.Repeat([]step{oursHere}, 46)), "has not begun"},
		"stopped":           {ourGuest(), steps(oursHere, now("stopped"), on(vm).with("target", "pve2").with("with-local-disks", "1").with("online", "").data200(upid), taskSteps(upid, "OK")), ""},
		"running":           {ourGuest(), steps(oursHere, now("running"), on(vm).with("online", "1").data200(upid), taskSteps(upid, "OK")), ""},
		"there":             {ourGuest(), arrived, ""},
		"answer lost":       {ourGuest(), steps(oursHere, now("running"), on(vm).cut(), arrived), ""},
		"running container": {ctGuest(), steps(ctOurs, ctNow("running"), on(ct).with("restart", "1").with("timeout", "60").data200(upid), taskSteps(upid, "OK")), ""},
		"stopped container": {ctGuest(), steps(ctOurs, ctNow("stopped"), on(ct).with("restart", "").with("timeout", "").data200(upid), taskSteps(upid, "OK")), ""},
		"the task fails":    {ourGuest(), steps(oursHere, now("running"), on(vm).data200(upid), taskSteps(upid, "no route")), "migrate to pve2: "},
		"no state":          {ourGuest(), steps(oursHere, on(statusCall).fail(500, "no such qmp")), "no such qmp"},
		"a stranger":        {ourGuest(), steps(strangerHere), "left alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, test.steps...).Migrate(t.Context(), test.guest, nil, "pve2", PowerOptions{ShutdownTimeout: time.Minute})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

// TestContainerReads reads what only containers have.
func TestContainerReads(t *testing.T) {
	t.Parallel()

	const interfaces, snapshots = "GET /nodes/pve1/lxc/10000/interfaces", "GET /nodes/pve1/lxc/10000/snapshot"
	c := script(t,
		on(interfaces).data200([]any{map[string]any{"name": "eth0", "hwaddr": "bc:24:11:00:00:01", "ip-addresses": []any{
			map[string]any{"ip-address": "10.0.0.7", "prefix": 24}, map[string]any{"ip-address": "nonsense", "prefix": 0},
		}}}),
		on(interfaces).fail(500, "CT 10000 not running"),
		on(snapshots).data200([]any{map[string]any{"name": "before"}, map[string]any{"name": "current"}}),
		on(snapshots).fail(403, noAudit),
	)
	ctx := t.Context()
	found, err := c.Containers.Interfaces(ctx, "pve1", 10000)
	if err != nil || len(found) != 1 || found[0].Name != "eth0" || !reflect.DeepEqual(found[0].IPs, []netip.Prefix{netip.MustParsePrefix("10.0.0.7/24")}) {
		t.Errorf("interfaces %+v, %v", found, err)
	}
	if _, err := c.Containers.Interfaces(ctx, "pve1", 10000); !IsStopped(err) {
		t.Errorf("of a stopped one: %v", err)
	}
	if names, err := c.Containers.Snapshots(ctx, "pve1", 10000); err != nil || !slices.Equal(names, []string{"before"}) {
		t.Errorf("snapshots %v, %v", names, err)
	}
	if _, err := c.Containers.Snapshots(ctx, "pve1", 10000); !IsPermission(err) {
		t.Errorf("refused: %v", err)
	}
	var outside *OutOfRangeError
	if _, err := c.Containers.Create(ctx, CreateRequest{Node: "pve1", VMID: 9999}); !errors.As(err, &outside) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("out of range: %v", err)
	}
}

// TestServiceState asks through the agent, of a guest of ours or in the fence scope.
func TestServiceState(t *testing.T) {
	t.Parallel()

	const exec, status = "POST /nodes/pve1/qemu/10000/agent/exec", "GET /nodes/pve1/qemu/10000/agent/exec-status?pid=7"
	began := on(exec).data200(map[string]any{"pid": 7})
	running := on(status).data200(map[string]any{"exited": 0})
	for name, test := range map[string]struct {
		unit  string
		steps []step
		want  string
		says  string
	}{
		"active":          {"sshd.service", steps(began, running, running, on(status).data200(map[string]any{"exited": 1, "out-data": "active\n"})), "active", ""},
		"no state":        {"sshd.service", steps(began, on(status).data200(map[string]any{"exited": 1, "exitcode": 127, "err-data": "no systemd"})), "", "ended with 127 and told no state: no systemd"},
		"an option":       {"--help", nil, "", "not the name of a unit"},
		"no agent":        {"sshd", steps(on(exec).fail(500, "QEMU guest agent is not running")), "", "agent is not running"},
		"it stops asking": {"sshd", steps(began, on(status).fail(500, "VM 10000 is not running")), "", "is not running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, steps(found(oursHere), test.steps)...)
			target, err := c.Gate.Probe(t.Context(), 10000)
			if err != nil || target.Config().Digest != "d1" {
				t.Fatal(err)
			}
			state, err := c.VMs.ServiceState(t.Context(), target, test.unit)
			if state != test.want || (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%q, %v", state, err)
			}
		})
	}
	c := script(t, steps(found(oursHere), began, running, found(foreignHere))...)
	target, err := c.Gate.Probe(t.Context(), 10000)
	noError(t, err)
	if _, err := c.VMs.ServiceState(tire(t, c), target, "sshd"); !errors.Is(err, context.Canceled) {
		t.Errorf("when the context ends: %v", err)
	}
	if _, err := c.Gate.Probe(t.Context(), 10000); !hasStanding(err, Stranger) {
		t.Errorf("a stranger: %v", err)
	}
}

// TestCloudInitDone tells an end, a failure, and what is not there yet.
func TestCloudInitDone(t *testing.T) {
	t.Parallel()

	const read = "GET /nodes/pve1/qemu/10000/agent/file-read?file=%2Frun%2Fcloud-init%2Fresult.json"
	content := func(text string) step { return on(read).data200(map[string]any{"content": text}) }
	for name, test := range map[string]struct {
		answer step
		done   bool
		says   string
	}{
		"done":           {content(`{"v1":{"errors":[]}}`), true, ""},
		"failed":         {content(`{"v1":{"errors":["no such package","no disk"]}}`), true, "cloud-init failed in VM 10000\n  no such package\n  no disk"},
		"not yet":        {on(read).fail(500, "Agent error: failed to open file '/run/cloud-init/result.json': No such file or directory"), false, ""},
		"half written":   {content(`{"v1":{"err`), false, ""},
		"something else": {content(`[]`), false, "result.json of VM 10000"},
		"nobody to ask":  {on(read).fail(500, "QEMU guest agent is not running"), false, "agent is not running"},
	} {
		done, err := script(t, test.answer).VMs.CloudInitDone(t.Context(), "pve1", 10000)
		if done != test.done || (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
}
