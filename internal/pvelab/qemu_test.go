package pvelab

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// vmLab is a lab with a directory storage, a shared one, and one of ISOs, and
// its root.
func vmLab(t *testing.T, o Options) (*Lab, *client) {
	t.Helper()
	l := startLab(t, o)
	l.locked(func() {
		l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz", "content": "images,iso,import,snippets"})
		l.addStorage("nfs", "nfs", 1<<40, map[string]string{"path": "/mnt/pve/nfs", "content": "images"})
		l.addStorage("seed", "dir", 1<<40, map[string]string{"path": "/var/lib/seed", "content": "iso"})
	})
	return l, rootClient(t, l)
}

// form makes url.Values of "key=value" pairs.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		v.Set(key, value)
	}
	return v
}

// must makes a call that succeeds; the task that it begins ends with "OK".
func (c *client) must(method, path string, pairs ...string) any {
	c.t.Helper()
	a := c.call(method, path, form(pairs...))
	if a.status != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s %v", method, path, a.status, a.reason, a.errors)
	}
	if upid, ok := a.data.(string); ok && strings.HasPrefix(upid, "UPID:") {
		if exit := c.exit(upid); exit != "OK" {
			c.t.Fatalf("%s %s: the task ends with %q", method, path, exit)
		}
	}
	return a.data
}

// exit waits for a task and returns its exit status.
func (c *client) exit(upid string) string {
	c.t.Helper()
	node := strings.Split(upid, ":")[1]
	for range 5000 {
		a := c.call("GET", "/nodes/"+node+"/tasks/"+url.PathEscape(upid)+"/status", nil)
		if s, _ := a.data.(map[string]any); s["status"] == "stopped" {
			exit, _ := s["exitstatus"].(string)
			return exit
		}
		time.Sleep(2 * time.Millisecond)
	}
	c.t.Fatalf("task %s does not end", upid)
	return ""
}

// fails makes a call and returns status and reason.
func (c *client) fails(method, path string, pairs ...string) (int, string) {
	c.t.Helper()
	a := c.call(method, path, form(pairs...))
	if a.status == http.StatusOK {
		c.t.Fatalf("%s %s: succeeds", method, path)
	}
	return a.status, a.reason
}

func (c *client) config(vmid string, pairs ...string) map[string]any {
	c.t.Helper()
	conf, _ := c.must("GET", "/nodes/pve1/qemu/"+vmid+"/config", pairs...).(map[string]any)
	return conf
}

// waiting lists the options that wait for the VM's next start.
func (c *client) waiting(vmid string) []string {
	c.t.Helper()
	list, _ := c.must("GET", "/nodes/pve1/qemu/"+vmid+"/pending").([]any)
	var keys []string
	for _, e := range list {
		item, _ := e.(map[string]any)
		_, pending := item["pending"]
		_, deleted := item["delete"]
		if key, _ := item["key"].(string); pending || deleted {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (c *client) create(pairs ...string) { c.t.Helper(); c.must("POST", "/nodes/pve1/qemu", pairs...) }

func (c *client) start(vmid string) {
	c.t.Helper()
	c.must("POST", "/nodes/pve1/qemu/"+vmid+"/status/start")
}

// boot starts a VM and waits until its operating system is up.
func (c *client) boot(l *Lab, vmid string) {
	c.t.Helper()
	c.start(vmid)
	time.Sleep(l.clock.scale(bootTime) + 2*time.Millisecond)
}

func TestChangesOfRunningVM(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, set, waits string
	}{
		{"name", "name=other", ""},
		{"description", "description=words", ""},
		{"tags", "tags=b;a", ""},
		{"onboot", "onboot=1", ""},
		{"cloud-init user", "ciuser=ops", ""},
		{"cores", "cores=2", "cores"},
		{"memory", "memory=256", "memory"},
		{"cpu type", "cpu=host", "cpu"},
		{"bridge", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr1", ""},
		{"link down", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=1", ""},
		{"new disk", "scsi1=local:1", ""},
		{"new disk on ide", "ide0=local:1", "ide0"},
		{"cache mode", "scsi0=local:100/vm-100-disk-0.raw,cache=writeback", "scsi0"},
		{"bandwidth", "scsi0=local:100/vm-100-disk-0.raw,mbps_rd=10", ""},
		{"medium", "ide2=none,media=cdrom", ""},
		{"delete serial port", "delete=serial0", "serial0"},
		{"delete NIC", "delete=net0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, c := vmLab(t, Options{})
			l.locked(func() { l.nodes["pve1"].addBridge("vmbr1") })
			c.create("vmid=100", "memory=128", "scsi0=local:1", "scsihw=virtio-scsi-pci", "serial0=socket",
				"ide2=none,media=cdrom", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0", "boot=order=scsi0;ide2")
			c.boot(l, "100")
			c.must("PUT", "/nodes/pve1/qemu/100/config", tc.set)
			if got := strings.Join(c.waiting("100"), ","); got != tc.waits {
				t.Fatalf("%q waits, not %q", got, tc.waits)
			}
			c.must("POST", "/nodes/pve1/qemu/100/status/stop")
			if got := c.waiting("100"); len(got) > 0 {
				t.Errorf("%q waits still, though the VM was stopped", got)
			}
		})
	}
}

func TestHotplugFollowsTheVMsFeatures(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=1024", "numa=1", "hotplug=memory,cpu", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0")
	c.boot(l, "100")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "memory=2048", "vcpus=1", "scsi0=local:1")
	if got := c.waiting("100"); !slices.Equal(got, []string{"scsi0"}) {
		t.Errorf("%q waits, not only scsi0", got)
	}
}

func TestFailedHotplugLeavesTheChangePending(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=128", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0")
	c.boot(l, "100")
	a := c.call("PUT", "/nodes/pve1/qemu/100/config", form("net1=virtio=BC:24:11:00:00:02,bridge=vmbr99"))
	want := "hotplug problem - VM 100 qmp command 'netdev_add' failed - network script " +
		"/usr/libexec/qemu-server/pve-bridge-hotplug failed with status 512\n"
	if a.status != http.StatusBadRequest || a.errors["net1"] != want {
		t.Fatalf("%d %v", a.status, a.errors)
	}
	if got := c.waiting("100"); !slices.Equal(got, []string{"net1"}) {
		t.Errorf("%q waits, not net1", got)
	}
	if c.config("100")["net1"] == nil {
		t.Error("the configuration hides the pending NIC")
	}
	if c.config("100", "current=1")["net1"] != nil {
		t.Error("the running configuration shows a NIC that was not plugged")
	}
}

func TestRevert(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=128", "serial0=socket", "cores=1")
	c.start("100")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "cores=2", "memory=256", "delete=serial0")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "revert=cores,serial0")
	if got := c.waiting("100"); !slices.Equal(got, []string{"memory"}) {
		t.Errorf("%q waits, not only memory", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=128", "scsi0=local:1")
	digest, _ := c.config("100")["digest"].(string)
	c.must("PUT", "/nodes/pve1/qemu/100/config", "memory=256", "digest="+digest)
	const text = "checksum mismatch (file change by other user?)"
	for _, method := range []string{"PUT", "POST"} {
		if status, reason := c.fails(method, "/nodes/pve1/qemu/100/config", "memory=512", "digest="+digest); status != 500 || reason != text {
			t.Errorf("%s with a stale digest: %d %s", method, status, reason)
		}
	}
	a := c.call("PUT", "/nodes/pve1/qemu/100/resize", form("disk=scsi0", "size=+1G", "digest="+digest))
	if exit := c.exit(a.data.(string)); exit != text {
		t.Errorf("a resize with a stale digest ends with %q", exit)
	}
	before := c.config("100")["digest"]
	c.must("PUT", "/nodes/pve1/qemu/100/config", "name=x")
	if after := c.config("100")["digest"]; after == before {
		t.Error("the digest does not follow a change")
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=name")
	if after := c.config("100")["digest"]; after != before {
		t.Error("the same configuration has another digest")
	}
}

func TestLockedVM(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=128", "scsi0=local:1")
	l.locked(func() { l.guests[100].conf["lock"] = "backup" })
	const text = "VM is locked (backup)"
	for _, call := range [][]string{
		{"PUT", "/nodes/pve1/qemu/100/config", "memory=256"},
		{"POST", "/nodes/pve1/qemu/100/clone", "newid=101"},
		{"POST", "/nodes/pve1/qemu/100/template"},
	} {
		if status, reason := c.fails(call[0], call[1], call[2:]...); status != 500 || reason != text {
			t.Errorf("%v: %d %s", call, status, reason)
		}
	}
	for _, call := range [][]string{
		{"POST", "/nodes/pve1/qemu/100/status/start"},
		{"PUT", "/nodes/pve1/qemu/100/resize", "disk=scsi0", "size=+1G"},
		{"DELETE", "/nodes/pve1/qemu/100"},
	} {
		a := c.call(call[0], call[1], form(call[2:]...))
		if upid, ok := a.data.(string); !ok || c.exit(upid) != text {
			t.Errorf("%v: %d %v", call, a.status, a.data)
		}
	}
}

// template makes VM 9000 a template with a cloud-init drive, which is cloned
// first, and a disk.
func (c *client) template(pairs ...string) {
	c.t.Helper()
	c.create(append([]string{
		"vmid=9000", "name=golden", "memory=128", "scsi0=local:4", "boot=order=scsi0", "description=of the template",
		"net0=virtio=BC:24:11:00:90:00,bridge=vmbr0",
	}, pairs...)...)
	c.must("POST", "/nodes/pve1/qemu/9000/template")
}

func TestCloneInProgress(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.template()
	hold, err := l.Faults().AddTask(TaskFault{Type: "qmclone", Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	upid, _ := c.call("POST", "/nodes/pve1/qemu/9000/clone",
		form("newid=101", "name=mine", "description=marker", "full=1")).data.(string)
	if !strings.Contains(upid, ":qmclone:9000:") {
		t.Errorf("the task %s does not carry the template's id", upid)
	}
	if err := l.Faults().Reached(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	stub := c.config("101")
	delete(stub, "digest")
	if want := map[string]any{"lock": "clone", "description": " qmclone temporary file"}; !maps.Equal(stub, want) {
		t.Errorf("the stub reads %v", stub)
	}
	if status, reason := c.fails("PUT", "/nodes/pve1/qemu/101/config", "memory=256"); status != 500 || reason != "VM is locked (clone)" {
		t.Errorf("a change of the stub: %d %s", status, reason)
	}
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/9000/clone", "newid=101"); reason != "unable to create VM 101: config file already exists" {
		t.Errorf("a second clone to the id: %s", reason)
	}
	l.Faults().Release(hold)
	if exit := c.exit(upid); exit != "OK" {
		t.Fatalf("the clone ends with %q", exit)
	}
	conf := c.config("101")
	if conf["name"] != "mine" || conf["description"] != "marker" || conf["lock"] != nil || conf["template"] != nil {
		t.Errorf("the clone reads %v", conf)
	}
	if conf["scsi0"] != "local:101/vm-101-disk-0.raw,size=4G" {
		t.Errorf("scsi0 is %v", conf["scsi0"])
	}
}

func TestCloneShowsItsDescriptionBeforeItEnds(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{Speed: 10})
	c.template("ide2=local:cloudinit")
	upid, _ := c.call("POST", "/nodes/pve1/qemu/9000/clone", form("newid=101", "description=marker", "full=1")).data.(string)
	seen := false
	for range 5000 {
		a := c.call("GET", "/nodes/pve1/qemu/101/config", nil)
		conf, _ := a.data.(map[string]any)
		seen = conf["lock"] == "clone" && conf["description"] == "marker" && conf["scsi0"] == nil && conf["ide2"] != nil
		if seen {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !seen {
		t.Error("after the first drive the clone does not show its description under the lock")
	}
	if exit := c.exit(upid); exit != "OK" {
		t.Errorf("the clone ends with %q", exit)
	}
}

func TestCloneIsAnotherMachine(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.template()
	c.must("POST", "/nodes/pve1/qemu/9000/clone", "newid=101")
	c.must("POST", "/nodes/pve1/qemu/101/clone", "newid=102")
	first, second := c.config("101"), c.config("102")
	for _, key := range []string{"smbios1", "vmgenid", "net0", "scsi0"} {
		if first[key] == second[key] || first[key] == nil {
			t.Errorf("%s is %v in both", key, first[key])
		}
	}
	if second["description"] != "of the template" {
		t.Errorf("the description was not copied: %v", second["description"])
	}
	if first["name"] != "Copy-of-VM-golden" || second["name"] != "Copy-of-VM-Copy-of-VM-golden" {
		t.Errorf("names: %v, %v", first["name"], second["name"])
	}
	if first["scsi0"] != "local:9000/base-9000-disk-0.raw/101/vm-101-disk-0.qcow2,size=4G" {
		t.Errorf("a template is not cloned linked by default: %v", first["scsi0"])
	}
	if first["meta"] != second["meta"] {
		t.Error("a clone has a creation time of its own")
	}
}

func TestStoppedCloneLeavesNothing(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.template()
	hold, err := l.Faults().AddTask(TaskFault{Type: "qmclone", Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	upid, _ := c.call("POST", "/nodes/pve1/qemu/9000/clone", form("newid=101", "full=1")).data.(string)
	if err := l.Faults().Reached(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	c.must("DELETE", "/nodes/pve1/tasks/"+url.PathEscape(upid))
	if exit := c.exit(upid); !strings.HasPrefix(exit, "clone failed: ") || !strings.HasSuffix(exit, "interrupted by signal") {
		t.Errorf("the clone ends with %q", exit)
	}
	if _, reason := c.fails("GET", "/nodes/pve1/qemu/101/config"); !strings.Contains(reason, "does not exist") {
		t.Errorf("the stub is still there: %s", reason)
	}
	l.locked(func() {
		if left := l.volumesOf("pve1", 101); len(left) > 0 {
			t.Errorf("%d volumes are left", len(left))
		}
	})
}

func TestLockFileTimeout(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 500})
	c.create("vmid=100", "memory=128")
	l.locked(func() { l.locks.try(100, false) })
	const text = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"
	if status, reason := c.fails("PUT", "/nodes/pve1/qemu/100/config", "memory=256"); status != 500 || reason != text {
		t.Errorf("PUT: %d %s", status, reason)
	}
	upid, _ := c.call("POST", "/nodes/pve1/qemu/100/status/start", nil).data.(string)
	if exit := c.exit(upid); exit != text {
		t.Errorf("start ends with %q", exit)
	}
	l.locked(func() { l.locks.release(100, false) })
	c.start("100")
}

func TestLockFileIsWaitedFor(t *testing.T) {
	t.Parallel()
	l, _ := vmLab(t, Options{Speed: 1})
	l.locked(func() { l.locks.try(100, true); l.locks.try(100, true) })
	got := make(chan error)
	go func() {
		var err error
		l.locked(func() { err = l.awaitLock(t.Context(), 100, false, time.Minute) })
		got <- err
	}()
	for range 2 {
		select {
		case err := <-got:
			t.Fatalf("the writer does not wait for the readers: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
		l.locked(func() { l.locks.release(100, true) })
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// TestWeightsAreClamped: the second version of control groups has no more.
func TestWeightsAreClamped(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		_, c := vmLab(t, Options{Version: version})
		c.create("vmid=100", "memory=64", "cpuunits=20000")
		for _, units := range []struct {
			sent string
			kept float64
		}{{"", 10000}, {"262144", 10000}, {"9999", 9999}} {
			if units.sent != "" {
				c.must("PUT", "/nodes/pve1/qemu/100/config", "cpuunits="+units.sent)
			}
			config, _ := c.must("GET", "/nodes/pve1/qemu/100/config").(map[string]any)
			if config["cpuunits"] != units.kept {
				t.Errorf("%s: %q is kept as %v", version, units.sent, config["cpuunits"])
			}
		}
	}
}
