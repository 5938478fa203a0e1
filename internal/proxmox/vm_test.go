package proxmox

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"
)

func TestPending(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on("GET /nodes/pve1/qemu/110/pending", data(`[{"key":"agent","value":"enabled=1"},{"key":"cores","value":1,"pending":2},{"key":"memory","value":"128"},
		{"key":"net1","pending":"virtio=BC:24:11:64:71:2A,bridge=vmbr0"},{"key":"tags","value":"a;b;c","delete":1},{"key":"scsi1","value":"local:110/vm-110-disk-1.raw,size=1G","delete":2},
		{"key":"digest","value":"`+testDigest+`"},{"key":"description","value":"line one\nline two \u00fc"},{"key":"numa","value":0},{"key":"lock","value":"clone"},
		{"key":"scsi0","value":"local:110/vm-110-disk-0.qcow2,discard=on,iothread=1,size=1G"},{"key":"ide2","value":"local:iso/lab-guest.iso,media=cdrom,size=16582K"},
		{"key":"net0","value":"virtio=BC:24:11:D7:08:9E,bridge=vmbr0,firewall=1"},{"key":"unused0","value":"local:110/vm-110-disk-2.raw"},{"key":"efidisk0","value":"local:110/vm-110-disk-3.raw,size=528K"},
		{"key":"boot","value":"order=ide2;net0;scsi0"},{"key":"smbios1","value":"uuid=dae1c79c-3efc-4682-8d14-c99d540c1c13"},{"key":"meta","value":"creation-qemu=10.0.13,ctime=1795997776"},{"key":"scsihw","value":"virtio-scsi-single"}]`))
	config, err := pve.client(t).VMs.Pending(t.Context(), "pve1", 110)
	if err != nil {
		t.Fatal(err)
	}
	if config.Node != "pve1" || config.VMID != 110 || config.Digest != testDigest || config.Get("digest") != "" {
		t.Errorf("read %+v", config)
	}
	for key, want := range map[string]string{"cores": "2", "memory": "128", "tags": "", "net1": "virtio=BC:24:11:64:71:2A,bridge=vmbr0"} {
		if got := config.Wanted(key); got != want {
			t.Errorf("%s will be %q, not %q", key, got, want)
		}
	}
	if config.Get("cores") != "1" || config.Get("net1") != "" || config.Get("numa") != "0" || config.Description() != "line one\nline two ü" || config.Lock() != "clone" {
		t.Errorf("in force %q", config.Current)
	}
	if got := config.PendingKeys(); !slices.Equal(got, []string{"cores", "net1", "scsi1", "tags"}) {
		t.Errorf("waiting %q", got)
	}
	slots := map[string][]string{
		"scsi0 scsi1": slices.Sorted(maps.Keys(config.Disks())), "ide2": slices.Sorted(maps.Keys(config.CDROMs())),
		"net0": slices.Sorted(maps.Keys(config.NICs())), "unused0": slices.Sorted(maps.Keys(config.Unused())),
	}
	for want, got := range slots {
		if joined := join(got); joined != want {
			t.Errorf("slots %q, want %q", joined, want)
		}
	}
	if slot, ok := config.BootDisk(); slot != "scsi0" || !ok {
		t.Errorf("boots from %q", slot)
	}
	if config.SMBIOSUUID() != "dae1c79c-3efc-4682-8d14-c99d540c1c13" || config.CTime() != 1795997776 || config.Template() {
		t.Errorf("uuid %q, ctime %d, template %v", config.SMBIOSUUID(), config.CTime(), config.Template())
	}
}

func join(slots []string) string {
	joined := ""
	for i, slot := range slots {
		if i > 0 {
			joined += " "
		}
		joined += slot
	}
	return joined
}

func TestBootDisk(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		current map[string]string
		want    string
	}{
		"order":             {map[string]string{"boot": "order=virtio0;scsi0", "scsi0": "l:1", "virtio0": "l:2"}, "virtio0"},
		"after a CD-ROM":    {map[string]string{"boot": "order=ide2;net0;scsi1", "ide2": "l:iso/x.iso,media=cdrom", "scsi0": "l:1", "scsi1": "l:2"}, "scsi1"},
		"bootdisk":          {map[string]string{"boot": "cdn", "bootdisk": "sata0", "sata0": "l:1", "scsi0": "l:2"}, "sata0"},
		"bootdisk alone":    {map[string]string{"bootdisk": "scsi0", "scsi0": "l:1", "scsi1": "l:2"}, "scsi0"},
		"an only disk":      {map[string]string{"boot": " ", "scsi0": "l:1", "ide2": "none,media=cdrom"}, "scsi0"},
		"nobody knows":      {map[string]string{"scsi0": "l:1", "scsi1": "l:2"}, ""},
		"order of no disk":  {map[string]string{"boot": "order=net0", "scsi0": "l:1", "scsi1": "l:2"}, ""},
		"no disk":           {map[string]string{"boot": "order=net0", "ide2": "none,media=cdrom"}, ""},
		"EFI is no disk":    {map[string]string{"efidisk0": "l:1", "boot": "order=efidisk0"}, ""},
		"cloud-init is not": {map[string]string{"ide2": "l:vm-1-cloudinit,media=cdrom", "boot": "order=ide2"}, ""},
	}
	for name, test := range tests {
		config := &GuestConfig{Current: test.current}
		if got, ok := config.BootDisk(); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: boots from %q", name, got)
		}
	}
}

func TestConfigAndStatus(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /nodes/pve1/qemu/9000/config", data(`{"template":1,"memory":"128","cores":1,"digest":"9bdc","scsi0":"local:9000/base-9000-disk-0.qcow2,size=1G"}`)).
		on("GET /nodes/pve1/qemu/110/status/current", data(`{"vmid":110,"status":"running","qmpstatus":"paused","name":"tf-110","uptime":1,"pid":8806,"clipboard":null,"ha":{"managed":0},"template":""}`)).
		on("GET /nodes/pve1/qemu", data(`[{"vmid":9000,"template":1,"status":"stopped","name":"tmpl-empty","cpus":1},{"vmid":161,"status":"stopped","lock":"clone","tags":"x"}]`))
	c := pve.client(t)
	config, err := c.VMs.Config(t.Context(), "pve1", 9000)
	if err != nil || !config.Template() || config.Digest != "9bdc" || config.Get("cores") != "1" || *config.Disks()["scsi0"].Size != Size(1<<30) {
		t.Errorf("config %+v (%v)", config, err)
	}
	status, err := c.VMs.Status(t.Context(), "pve1", 110)
	if err != nil || !status.Running() || !status.Paused() || bool(status.Template) {
		t.Errorf("status %+v (%v)", status, err)
	}
	list, err := c.VMs.List(t.Context(), "pve1")
	if err != nil || len(list) != 2 || !bool(list[0].Template) || list[1].Lock != "clone" || list[1].Running() {
		t.Errorf("list %+v (%v)", list, err)
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	const clone = "POST /nodes/pve1/qemu/9000/clone"
	pve := newRecordedPVE(t).on(clone, data(`"UPID:pve1:0000AA23:000C97DD:6B0CD6B8:qmclone:9000:root@pam!lab:"`))
	c := pve.client(t)
	upid, err := c.VMs.Clone(t.Context(), CloneRequest{TemplateNode: "pve1", Template: 9000, NewID: 161, Name: "c-161", Description: "x\ny", Full: true, Pool: "tf"})
	if err != nil || upid.ID != "9000" {
		t.Errorf("task %v (%v)", upid, err)
	}
	if got := pve.last(t, clone).params.Encode(); got != "description=x%0Ay&full=1&name=c-161&newid=161&pool=tf" {
		t.Errorf("asked %s", got)
	}
	for _, id := range []int{99, 200, 0} {
		_, err := c.VMs.Clone(t.Context(), CloneRequest{TemplateNode: "pve1", Template: 9000, NewID: id})
		var outside *OutOfRangeError
		if !errors.As(err, &outside) || outside.VMID != id {
			t.Errorf("id %d: %v", id, err)
		}
	}
	unbounded := pve.client(t, func(o *Options) { o.VMIDRange = VMIDRange{} })
	if _, err := unbounded.VMs.Clone(t.Context(), CloneRequest{TemplateNode: "pve1", Template: 9000, NewID: 161}); err == nil {
		t.Error("a guest is made without a range")
	}
	if n := len(pve.calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestChangesOfAGuest(t *testing.T) {
	t.Parallel()
	const vm = "/nodes/pve1/qemu/110"
	ctx := t.Context()
	tests := map[string]struct {
		do   func(c *Client, own *Owned) error
		call string
		want string
	}{
		"update": {func(c *Client, own *Owned) error {
			return c.VMs.Update(ctx, own, ConfigUpdate{Set: map[string]string{"cores": "2"}, Delete: []string{"tags", "startup"}, Revert: []string{"memory"}})
		}, "PUT " + vm + "/config", "cores=2&delete=startup%2Ctags&digest=" + testDigest + "&revert=memory"},
		"update in a task": {func(c *Client, own *Owned) error {
			_, err := c.VMs.UpdateAsync(ctx, own, ConfigUpdate{Set: map[string]string{"scsi1": "local:1"}})
			return err
		}, "POST " + vm + "/config", "digest=" + testDigest + "&scsi1=local%3A1"},
		"resize": {func(c *Client, own *Owned) error {
			_, err := c.VMs.Resize(ctx, own, "scsi0", Size(20<<30))
			return err
		}, "PUT " + vm + "/resize", "digest=" + testDigest + "&disk=scsi0&size=20G"},
		"unlink": {func(c *Client, own *Owned) error {
			return c.VMs.Unlink(ctx, own, []string{"scsi1"}, true)
		}, "PUT " + vm + "/config", "delete=scsi1&digest=" + testDigest + "&force=1"},
		"delete": {func(c *Client, own *Owned) error {
			_, err := c.VMs.Delete(ctx, own, DeleteOptions{Purge: true, DestroyUnreferencedDisks: true})
			return err
		}, "DELETE " + vm, "destroy-unreferenced-disks=1&purge=1"},
		"plain delete": {func(c *Client, own *Owned) error {
			_, err := c.VMs.Delete(ctx, own, DeleteOptions{})
			return err
		}, "DELETE " + vm, ""},
		"start":  {func(c *Client, own *Owned) error { _, err := c.VMs.Start(ctx, own); return err }, "POST " + vm + "/status/start", ""},
		"stop":   {func(c *Client, own *Owned) error { _, err := c.VMs.Stop(ctx, own); return err }, "POST " + vm + "/status/stop", ""},
		"pause":  {func(c *Client, own *Owned) error { _, err := c.VMs.Suspend(ctx, own); return err }, "POST " + vm + "/status/suspend", ""},
		"resume": {func(c *Client, own *Owned) error { _, err := c.VMs.Resume(ctx, own); return err }, "POST " + vm + "/status/resume", ""},
		"reboot": {func(c *Client, own *Owned) error { _, err := c.VMs.Reboot(ctx, own); return err }, "POST " + vm + "/status/reboot", ""},
		"reset":  {func(c *Client, own *Owned) error { _, err := c.VMs.Reset(ctx, own); return err }, "POST " + vm + "/status/reset", ""},
		"shutdown": {func(c *Client, own *Owned) error {
			_, err := c.VMs.Shutdown(ctx, own, ShutdownOptions{Timeout: 59500 * time.Millisecond, ForceStop: true})
			return err
		}, "POST " + vm + "/status/shutdown", "forceStop=1&timeout=60"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on(test.call, data(`"`+startUPID+`"`))
			c := pve.client(t)
			own := owned(110)
			if err := test.do(c, own); err != nil {
				t.Fatal(err)
			}
			if got := pve.last(t, test.call).params.Encode(); got != test.want {
				t.Errorf("asked %s, want %s", got, test.want)
			}
			if err := test.do(c, own); !errors.Is(err, ErrPermissionSpent) {
				t.Errorf("with a spent permission: %v", err)
			}
			for what, none := range map[string]*Owned{"nil": nil, "zero": {}} {
				if err := test.do(c, none); !errors.Is(err, ErrNoPermission) {
					t.Errorf("with a %s permission: %v", what, err)
				}
			}
			if n := len(pve.calls()); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestNoPowerWithoutPermission(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t)
	c := pve.client(t)
	for _, power := range []func(context.Context, PowerPermission) (UPID, error){c.VMs.Start, c.VMs.Stop, c.VMs.Suspend, c.VMs.Resume, c.VMs.Reboot, c.VMs.Reset} {
		if _, err := power(t.Context(), nil); !errors.Is(err, ErrNoPermission) {
			t.Errorf("error %v", err)
		}
	}
	if n := len(pve.calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestEmptyUpdateIsRefused(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t)
	own := owned(110)
	if err := pve.client(t).VMs.Update(t.Context(), own, ConfigUpdate{Force: true}); err == nil || len(pve.calls()) != 0 {
		t.Errorf("error %v, calls %q", err, pve.calls())
	}
	if _, err := own.spend(); err != nil {
		t.Errorf("the permission was spent on no call: %v", err)
	}
}

func TestPathsAreEscaped(t *testing.T) {
	t.Parallel()
	if got := at("nodes", "p/v?e", "storage", "a b", "content", "local:iso/x.iso"); got != "/nodes/p%2Fv%3Fe/storage/a%20b/content/local:iso%2Fx.iso" {
		t.Errorf("path %s", got)
	}
	pve := newRecordedPVE(t)
	req, err := pve.client(t).request(t.Context(), "pve1:8006", http.MethodGet, at("storage", "local:iso/x.iso"), nil)
	if err != nil || req.URL.EscapedPath() != "/api2/json/storage/local:iso%2Fx.iso" {
		t.Errorf("path %v (%v)", req.URL, err)
	}
}
