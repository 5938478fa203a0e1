package pvelab

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// task makes a call that begins a task and returns its exit status.
func (c *client) task(method, path string, pairs ...string) string {
	c.t.Helper()
	a := c.call(method, path, form(pairs...))
	upid, ok := a.data.(string)
	if !ok || a.status != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s %v", method, path, a.status, a.reason, a.errors)
	}
	return c.exit(upid)
}

func (c *client) status(vmid string) map[string]any {
	c.t.Helper()
	s, _ := c.must("GET", "/nodes/pve1/qemu/"+vmid+"/status/current").(map[string]any)
	return s
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	const timeout = "VM quit/powerdown failed - got timeout"
	for _, tc := range []struct {
		name       string
		set        string
		booted     bool
		deaf, mute bool
		params     []string
		exit       string
		status     string
	}{
		{name: "by ACPI", booted: true, exit: "OK", status: "stopped"},
		{name: "by the agent", set: "agent=1", booted: true, exit: "OK", status: "stopped"},
		{name: "by ACPI, the agent being mute", set: "agent=1", booted: true, mute: true, exit: "OK", status: "stopped"},
		{name: "booting", params: []string{"timeout=2"}, exit: timeout, status: "running"},
		{name: "deaf", booted: true, deaf: true, params: []string{"timeout=5"}, exit: timeout, status: "running"},
		{name: "deaf, forced", booted: true, deaf: true, params: []string{"timeout=5", "forceStop=1"}, exit: "OK", status: "stopped"},
		{name: "deaf, in the start order", set: "startup=down=4", booted: true, deaf: true, exit: timeout, status: "running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, c := vmLab(t, Options{Speed: 200})
			l.Faults().IgnoreShutdown(100, tc.deaf)
			l.Faults().MuteAgent(100, tc.mute)
			c.create("vmid=100", "memory=64", orDefault(tc.set, "cores=1"))
			if tc.booted {
				c.boot(l, "100")
			} else {
				c.start("100")
			}
			if exit := c.task("POST", "/nodes/pve1/qemu/100/status/shutdown", tc.params...); exit != tc.exit {
				t.Errorf("ends with %q", exit)
			}
			if got := c.status("100")["status"]; got != tc.status {
				t.Errorf("the VM is %v", got)
			}
		})
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=64", "agent=1")
	c.boot(l, "100")
	c.must("POST", "/nodes/pve1/qemu/100/status/suspend")
	if s := c.status("100"); s["status"] != "running" || s["qmpstatus"] != "paused" {
		t.Errorf("paused reads %v, %v", s["status"], s["qmpstatus"])
	}
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/agent/ping"); reason != "QEMU guest agent is not running" {
		t.Errorf("a paused guest's agent: %s", reason)
	}
	for _, cmd := range []string{"shutdown", "reboot"} {
		if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/status/"+cmd); reason != "VM is paused - cannot shutdown" {
			t.Errorf("%s while paused: %s", cmd, reason)
		}
	}
	c.must("POST", "/nodes/pve1/qemu/100/status/resume")
	if s := c.status("100"); s["qmpstatus"] != "running" {
		t.Errorf("resumed reads %v", s["qmpstatus"])
	}
	c.must("POST", "/nodes/pve1/qemu/100/status/stop")
	for _, cmd := range []string{"suspend", "resume", "reset", "reboot"} {
		if status, reason := c.fails("POST", "/nodes/pve1/qemu/100/status/"+cmd); status != 500 || reason != "VM 100 not running" {
			t.Errorf("%s while stopped: %d %s", cmd, status, reason)
		}
	}
	for _, cmd := range []string{"stop", "shutdown"} {
		c.must("POST", "/nodes/pve1/qemu/100/status/"+cmd)
	}
}

func TestRebootAppliesWhatWaits(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=64", "cores=1")
	c.boot(l, "100")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "cores=2")
	pid := c.status("100")["pid"]
	c.must("POST", "/nodes/pve1/qemu/100/status/reboot")
	s := c.status("100")
	if s["status"] != "running" || s["cpus"] != 2.0 || s["pid"] == pid {
		t.Errorf("after the reboot: %v with %v CPUs", s["status"], s["cpus"])
	}
	if got := c.waiting("100"); len(got) > 0 {
		t.Errorf("%q waits still", got)
	}
}

func TestStartFailsInItsTask(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "memory=64", "scsi0=local:1", "net0=virtio,bridge=vmbr0")
	c.create("vmid=101", "memory=64", "net0=virtio,bridge=vmbr99")
	c.create("vmid=102", "memory=64")
	c.start("102")
	l.locked(func() {
		if err := l.freeVolume("pve1", "local:100/vm-100-disk-0.raw"); err != nil {
			t.Error(err)
		}
	})
	for vmid, want := range map[string]string{
		"100": "volume 'local:100/vm-100-disk-0.raw' does not exist",
		"101": "bridge 'vmbr99' does not exist",
		"102": "VM 102 already running",
		"999": "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
	} {
		if exit := c.task("POST", "/nodes/pve1/qemu/"+vmid+"/status/start"); exit != want {
			t.Errorf("%s ends with %q", vmid, exit)
		}
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 100})
	c.create("vmid=100", "memory=64")
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/agent/ping"); reason != "No QEMU guest agent configured" {
		t.Errorf("without an agent: %s", reason)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "agent=1", "ide2=local:cloudinit",
		"net0=virtio=BC:24:11:00:00:01,bridge=vmbr0", "ipconfig0=ip=10.0.0.5/24,gw=10.0.0.1",
		"net1=virtio=BC:24:11:00:00:02,bridge=vmbr0", "ipconfig1=ip=dhcp",
		"net2=virtio=BC:24:11:00:00:03,bridge=vmbr0,link_down=1", "ipconfig2=ip=10.0.2.5/24")
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/agent/ping"); reason != "VM 100 is not running" {
		t.Errorf("of a stopped VM: %s", reason)
	}
	c.start("100")
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/agent/ping"); reason != "QEMU guest agent is not running" {
		t.Errorf("of a booting guest: %s", reason)
	}
	time.Sleep(l.clock.scale(bootTime))
	c.must("POST", "/nodes/pve1/qemu/100/agent/ping")
	got := c.addresses("100")
	if want := []string{"10.0.0.5/24", "fe80::be24:11ff:fe00:1/64"}; !slices.Equal(got["bc:24:11:00:00:01"], want) {
		t.Errorf("the static NIC has %v", got["bc:24:11:00:00:01"])
	}
	leased := got["bc:24:11:00:00:02"]
	if len(leased) != 2 || !strings.HasPrefix(leased[0], "10.") || !strings.HasSuffix(leased[0], "/16") {
		t.Errorf("the NIC with DHCP has %v", leased)
	}
	if down := got["bc:24:11:00:00:03"]; len(down) > 0 {
		t.Errorf("the NIC without link has %v", down)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "ipconfig0=ip=10.0.0.6/24")
	if got := c.addresses("100")["bc:24:11:00:00:01"]; got[0] != "10.0.0.5/24" {
		t.Errorf("a running guest took over %v", got)
	}
	reset := func(want string) {
		t.Helper()
		if exit := c.task("POST", "/nodes/pve1/qemu/100/status/reset"); exit != "OK" {
			t.Fatal(exit)
		}
		time.Sleep(l.clock.scale(bootTime))
		if got := c.addresses("100")["bc:24:11:00:00:01"]; got[0] != want {
			t.Errorf("the guest has %v, the image %s", got, want)
		}
	}
	reset("10.0.0.5/24")
	c.must("PUT", "/nodes/pve1/qemu/100/cloudinit")
	reset("10.0.0.6/24")
}

// addresses are the guest's, by the NIC's hardware address.
func (c *client) addresses(vmid string) map[string][]string {
	c.t.Helper()
	data, _ := c.must("GET", "/nodes/pve1/qemu/"+vmid+"/agent/network-get-interfaces").(map[string]any)
	list, _ := data["result"].([]any)
	out := map[string][]string{}
	for _, e := range list {
		i, _ := e.(map[string]any)
		mac, _ := i["hardware-address"].(string)
		addrs, _ := i["ip-addresses"].([]any)
		for _, a := range addrs {
			addr, _ := a.(map[string]any)
			out[mac] = append(out[mac], addr["ip-address"].(string)+"/"+formatNumber(addr["prefix"]))
		}
	}
	return out
}

func formatNumber(v any) string {
	n, _ := v.(float64)
	return indexed("", int(n))
}

func TestCloudInitDriveFollowsChanges(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100", "name=web", "memory=64", "ide2=local:cloudinit", "ciuser=ops", "cipassword=secret")
	c.start("100")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "ciuser=admin", "searchdomain=lab.invalid")
	if got := c.imageChanges("100"); !slices.Equal(got, []string{"ciuser", "searchdomain"}) {
		t.Errorf("%q differ from the image", got)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/cloudinit")
	if got := c.imageChanges("100"); len(got) > 0 {
		t.Errorf("%q differ from the new image", got)
	}
	dump, _ := c.must("GET", "/nodes/pve1/qemu/100/cloudinit/dump", "type=user").(string)
	if !strings.Contains(dump, "fqdn: web.lab.invalid\nuser: admin\npassword: $5$") || strings.Contains(dump, "secret") {
		t.Errorf("the user data read %q", dump)
	}
	if got := c.config("100")["cipassword"]; got != maskedPassword {
		t.Errorf("the password reads %v", got)
	}
}

// imageChanges lists the options whose values the image does not have.
func (c *client) imageChanges(vmid string) []string {
	c.t.Helper()
	list, _ := c.must("GET", "/nodes/pve1/qemu/"+vmid+"/cloudinit").([]any)
	var keys []string
	for _, e := range list {
		item, _ := e.(map[string]any)
		if _, ok := item["pending"]; ok {
			key, _ := item["key"].(string)
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestShutdownHoldsTheLockFile(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 100})
	l.Faults().IgnoreShutdown(100, true)
	c.create("vmid=100", "memory=64")
	c.boot(l, "100")
	held, err := l.Faults().AddTask(TaskFault{Type: "qmshutdown", Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	upid, _ := c.call("POST", "/nodes/pve1/qemu/100/status/shutdown", form("timeout=60")).data.(string)
	// Once it waits it has the lock.
	if err := l.Faults().Reached(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	const text = "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"
	if exit := c.task("POST", "/nodes/pve1/qemu/100/status/stop"); exit != text {
		t.Errorf("a stop meanwhile ends with %q", exit)
	}
	l.Faults().Release(held)
	c.must("POST", "/nodes/pve1/qemu/100/status/stop", "overrule-shutdown=1")
	if exit := c.exit(upid); exit != "received interrupt" {
		t.Errorf("the overruled shutdown ends with %q", exit)
	}
	log, _ := c.must("GET", "/nodes/pve1/tasks/"+url.PathEscape(upid)+"/log").([]any)
	if len(log) == 0 {
		t.Error("the task has no log")
	}
}

func TestSSHKeysAreRead(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEGhmjZRhwJ4XvXtEJ4HZmBHsyr6gvz6Yx4xYtK7sEzk%20me%40x"
	for keys, ok := range map[string]bool{
		key: true, key + "%0A": true, key + "%0A%0A" + key: true,
		"ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEGh%20me": false, "me%40x": false,
		"ssh-rsa%20AAAAC3NzaC1lZDI1NTE5AAAAIEGhmjZRhwJ4XvXtEJ4HZmBHsyr6gvz6Yx4xYtK7sEzk": false,
	} {
		if err := checkSSHKeys(keys); (err == nil) != ok {
			t.Errorf("%s: %v", keys, err)
		}
	}
}
