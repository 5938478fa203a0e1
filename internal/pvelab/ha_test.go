package pvelab

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// eventually waits until something is the case, for as long as the lab may need.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%s does not happen", what)
}

// haLab is a lab with VM 100 and HA for it, requested started.
func haLab(t *testing.T, version string) (*Lab, *client) {
	t.Helper()
	l, c := vmLab(t, Options{Version: version, Speed: 500})
	c.create("vmid=100", "memory=64")
	c.must("POST", "/cluster/ha/resources", "sid=vm:100", "state=started")
	eventually(t, "the start by HA", func() bool { return c.service("vm:100")["state"] == "started" })
	return l, c
}

// service is a resource's entry in the manager's status.
func (c *client) service(sid string) map[string]any {
	c.t.Helper()
	e := element(c.must("GET", "/cluster/ha/status/current"), "service:"+sid)
	if e == nil {
		return map[string]any{}
	}
	return e
}

func TestHAStopOnlyAsks(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, c := haLab(t, version)
			a := c.call("POST", "/nodes/pve1/qemu/100/status/stop", nil)
			upid, _ := a.data.(string)
			if m := upidRE.FindStringSubmatch(upid); m == nil || m[6] != "hastop" {
				t.Fatalf("the task is %q", upid)
			}
			if exit := c.exit(upid); exit != "OK" {
				t.Fatalf("the task ends with %q", exit)
			}
			eventually(t, "the stop by HA", func() bool { return c.service("vm:100")["state"] == "stopped" })
			if got := c.service("vm:100")["request_state"]; got != "stopped" {
				t.Errorf("the manager requests %v", got)
			}
			status := c.status("100")
			if ha, _ := status["ha"].(map[string]any); status["status"] != "stopped" || ha["managed"] != 1.0 || ha["state"] != "stopped" {
				t.Errorf("the VM is %v, its HA %v", status["status"], status["ha"])
			}
			c.must("POST", "/nodes/pve1/qemu/100/status/start")
			eventually(t, "the start by HA", func() bool { return c.status("100")["status"] == "running" })
			if got := c.service("vm:100")["request_state"]; got != "started" {
				t.Errorf("a start requests %v", got)
			}
		})
	}
}

// TestHAStartsAgain holds that a VM whose requested state is started does not
// stay down.
func TestHAStartsAgain(t *testing.T) {
	t.Parallel()
	l, c := haLab(t, "9.2")
	l.locked(func() { l.guests[100].run = nil })
	eventually(t, "another start", func() bool { return c.status("100")["status"] == "running" })
	c.must("PUT", "/cluster/ha/resources/vm:100", "state=ignored")
	eventually(t, "being ignored", func() bool { return c.service("vm:100")["state"] == "ignored" })
	c.must("POST", "/nodes/pve1/qemu/100/status/stop")
	if ha, _ := c.status("100")["ha"].(map[string]any); ha["managed"] != 0.0 || c.status("100")["status"] != "stopped" {
		t.Errorf("an ignored VM: %v", c.status("100"))
	}
}

func TestHAGivesUp(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 500})
	c.create("vmid=100", "memory=64", "net0=virtio,bridge=nope")
	c.must("POST", "/cluster/ha/resources", "sid=100")
	eventually(t, "the error state", func() bool { return c.service("vm:100")["state"] == "error" })
	const text = "service 'vm:100' in error state, must be disabled and fixed first"
	if _, reason := c.fails("PUT", "/cluster/ha/resources/vm:100", "state=started"); reason != text {
		t.Errorf("a new request: %s", reason)
	}
	if exit := c.task("POST", "/nodes/pve1/qemu/100/status/stop"); exit != "command 'ha-manager' failed: exit code 255" {
		t.Errorf("a stop ends with %q", exit)
	}
	c.must("PUT", "/cluster/ha/resources/vm:100", "state=disabled")
	eventually(t, "the end of the error", func() bool { return c.service("vm:100")["state"] == "disabled" })
	l.locked(func() { l.guests[100].conf["net0"] = "virtio,bridge=vmbr0" })
	c.must("PUT", "/cluster/ha/resources/vm:100", "state=started")
	eventually(t, "the start", func() bool { return c.service("vm:100")["state"] == "started" })
}

// TestHARecovers holds that the services of a dead node go to a node that they
// may run on.
func TestHARecovers(t *testing.T) {
	t.Parallel()
	l, c := haLab(t, "9.2")
	c.must("POST", "/cluster/ha/rules", "rule=home", "type=node-affinity", "resources=vm:100", "nodes=pve1:2,pve3:1")
	if err := l.Faults().NodeOffline("pve1"); err != nil {
		t.Fatal(err)
	}
	other := *c
	other.base = l.NodeURL("pve2")
	eventually(t, "the recovery", func() bool {
		node, running := "", false
		l.locked(func() { node, running = l.guests[100].node, l.guests[100].run != nil })
		return node == "pve3" && running
	})
	list := element(other.must("GET", "/cluster/resources", "type=vm"), "qemu/100")
	if list["hastate"] != "started" || list["node"] != "pve3" {
		t.Errorf("listed as %v", list)
	}
}

// TestHAGroups holds that PVE 8 places by groups, and that neither version knows
// what the other has instead.
func TestHAGroups(t *testing.T) {
	t.Parallel()
	l, c := haLab(t, "8.4")
	c.must("POST", "/cluster/ha/groups", "group=home", "nodes=pve3:1,pve2:2", "restricted=1")
	c.must("PUT", "/cluster/ha/resources/vm:100", "group=home")
	if ha, _ := c.status("100")["ha"].(map[string]any); ha["group"] != "home" {
		t.Errorf("its HA is %v", ha)
	}
	if _, reason := c.fails("DELETE", "/cluster/ha/groups/home"); reason != "delete ha group failed: ha group is used by service 'vm:100'" {
		t.Errorf("deleting a group in use: %s", reason)
	}
	if status, _ := c.fails("POST", "/cluster/ha/rules", "rule=home", "type=node-affinity", "resources=vm:100", "nodes=pve1"); status != 501 {
		t.Errorf("a rule in 8 answers %d", status)
	}
	if err := l.Faults().NodeOffline("pve1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the recovery in its group", func() bool {
		node := ""
		l.locked(func() { node = l.guests[100].node })
		return node == "pve2"
	})
	_, c = haLab(t, "9.2")
	for call, want := range map[string]string{
		"POST /cluster/ha/groups group=home nodes=pve1":                                 "cannot create group: ha groups have been migrated to rules",
		"PUT /cluster/ha/resources/vm:100 group=home":                                   "invalid parameter 'group': ha groups have been migrated to rules",
		"GET /cluster/ha/groups":                                                        "cannot index groups: ha groups have been migrated to rules",
		"POST /cluster/ha/rules rule=r2 type=node-affinity resources=vm:100 nodes=nope": "create ha rule failed: cannot use non-existent node(s) nope.",
	} {
		words := strings.Fields(call)
		if _, reason := c.fails(words[0], words[1], words[2:]...); reason != want {
			t.Errorf("%s: %s", call, reason)
		}
	}
}

func TestHAWithoutQuorum(t *testing.T) {
	t.Parallel()
	l, c := haLab(t, "9.2")
	for _, name := range []string{"pve2", "pve3"} {
		if err := l.Faults().NodeOffline(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/100/status/start"); reason != "cluster not ready - no quorum?" {
		t.Errorf("start: %s", reason)
	}
	quorum := element(c.must("GET", "/cluster/ha/status/current"), "quorum")
	if quorum["quorate"] != 0.0 || quorum["status"] != "No quorum on node 'pve1'!" {
		t.Errorf("quorum: %v", quorum)
	}
}

func TestDestroyOfBoundGuests(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 500})
	l.locked(func() { l.addStorage("zfs", "zfspool", 1<<40, map[string]string{"pool": "rpool", "content": "images"}) })
	for i, bind := range []func(vmid int) string{
		func(vmid int) string {
			c.must("POST", "/cluster/ha/resources", fmt.Sprintf("sid=vm:%d", vmid), "state=ignored")
			return fmt.Sprintf("unable to remove VM %d - used in HA resources and purge parameter not set.", vmid)
		},
		func(vmid int) string {
			c.must("POST", "/cluster/replication", fmt.Sprintf("id=%d-0", vmid), "type=local", "target=pve2")
			return fmt.Sprintf("There is a replication job '%d-0' for guest '%d' - Please remove that first.", vmid, vmid)
		},
	} {
		vmid := 100 + i
		path := fmt.Sprintf("/nodes/pve1/qemu/%d", vmid)
		c.create(fmt.Sprintf("vmid=%d", vmid), "memory=64", "scsi0=zfs:1")
		want := bind(vmid)
		if _, reason := c.fails("DELETE", path); reason != want {
			t.Errorf("destroy: %s", reason)
		}
		c.must("DELETE", path, "purge=1")
	}
	l.locked(func() {
		if len(l.ha.resources)+len(l.replications) > 0 {
			t.Errorf("left: %v, %v", l.ha.resources, l.replications)
		}
	})
}

// TestHAMigrates: the task of a migration only asks HA, which moves the guest in
// its next rounds and keeps it running.
func TestHAMigrates(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l, c := vmLab(t, Options{Version: version, Speed: 500})
			c.create("vmid=100", "memory=64", "scsi0=nfs:1")
			c.must("POST", "/cluster/ha/resources", "sid=vm:100", "state=started")
			eventually(t, "the start by HA", func() bool { return c.service("vm:100")["state"] == "started" })
			l.Faults().HangHA(true)
			a := c.call("POST", "/nodes/pve1/qemu/100/migrate", form("target=pve2", "online=1"))
			upid, _ := a.data.(string)
			if m := upidRE.FindStringSubmatch(upid); m == nil || m[6] != "hamigrate" {
				t.Fatalf("the task is %q (%s)", upid, a.reason)
			}
			if exit := c.exit(upid); exit != "OK" {
				t.Fatalf("the task ends with %q", exit)
			}
			if a := c.call("GET", "/nodes/pve1/qemu/100/config", nil); a.status != 200 {
				t.Error("the guest is gone before HA has looked")
			}
			l.Faults().HangHA(false)
			eventually(t, "the move by HA", func() bool { return c.call("GET", "/nodes/pve2/qemu/100/config", nil).status == 200 })
			eventually(t, "the end of the move", func() bool { s := c.service("vm:100"); return s["state"] == "started" && s["node"] == "pve2" })
			if s, _ := c.must("GET", "/nodes/pve2/qemu/100/status/current").(map[string]any); s["status"] != "running" {
				t.Errorf("after the move it is %v", s["status"])
			}
		})
	}
}
