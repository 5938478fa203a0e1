package pvelab

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// element finds the element of a list by its id.
func element(data any, id string) map[string]any {
	list, _ := data.([]any)
	for _, e := range list {
		if m, _ := e.(map[string]any); m["id"] == id {
			return m
		}
	}
	return nil
}

// silentLab is a lab of three nodes whose pvestatd speaks only when told.
func silentLab(t *testing.T) (*Lab, *client) {
	t.Helper()
	l := startLab(t, Options{})
	l.locked(func() { l.statdHangs = true })
	return l, rootClient(t, l)
}

func TestResourcesAreAsOldAsTheBroadcast(t *testing.T) {
	t.Parallel()
	l, c := silentLab(t)
	l.locked(func() {
		g := newGuest("qemu", 110, "pve2")
		g.conf = guestConfig{"name": "first", "memory": "64", "tags": "a;b"}
		l.guests[110] = g
	})
	guest := func() map[string]any { return element(c.call("GET", "/cluster/resources", nil).data, "qemu/110") }
	if g := guest(); g["status"] != "unknown" || g["name"] != nil || g["tags"] != "a;b" || g["node"] != "pve2" {
		t.Errorf("before pvestatd ran: %v", g)
	}
	l.locked(l.broadcastAll)
	if g := guest(); g["status"] != "stopped" || g["name"] != "first" || g["maxmem"] != float64(64<<20) {
		t.Errorf("after it ran: %v", g)
	}
	l.locked(func() {
		l.guests[110].conf["name"], l.guests[110].conf["lock"] = "second", "backup"
		l.guests[110].conf["tags"] = "c"
	})
	if g := guest(); g["name"] != "first" || g["lock"] != "backup" || g["tags"] != "c" {
		t.Errorf("the name is late, lock and tags are not: %v", g)
	}
	l.locked(l.broadcastAll)
	if g := guest(); g["name"] != "second" {
		t.Errorf("after the next run: %v", g)
	}
	l.locked(func() { delete(l.guests, 110) })
	if g := guest(); g != nil {
		t.Errorf("a destroyed guest is listed: %v", g)
	}
}

func TestStatdBroadcastsByItself(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true, Speed: 1000})
	c := rootClient(t, l)
	l.locked(func() { l.guests[110] = newGuest("qemu", 110, "pve1") })
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if element(c.call("GET", "/cluster/resources", nil).data, "qemu/110")["status"] == "stopped" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the guest stays unknown")
}

// TestABusyLabForgetsNoNode: its clock goes on while its rounds come late.
func TestABusyLabForgetsNoNode(t *testing.T) {
	t.Parallel()
	l, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.statdRound()
	l.clock.setSkew(time.Hour)
	if l.heard("node/pve1") == nil {
		t.Error("no round came, and the node is unknown")
	}
	l.nodes["pve1"].online = false
	l.statdRound()
	if l.heard("node/pve1") != nil {
		t.Error("the node does not tell of itself for an hour, and is known")
	}
}

func TestResourcesByType(t *testing.T) {
	t.Parallel()
	l, c := silentLab(t)
	l.locked(func() {
		l.guests[110] = newGuest("qemu", 110, "pve1")
		l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz"})
		l.addStorage("second", "dir", 1<<40, map[string]string{"path": "/s", "nodes": "pve2"})
		l.addStorage("off", "dir", 1<<40, map[string]string{"path": "/o", "disable": "1"})
		l.broadcastAll()
	})
	for kind, want := range map[string][]string{
		"vm":      {"qemu/110"},
		"node":    {"node/pve1", "node/pve2", "node/pve3"},
		"storage": {"storage/pve1/local", "storage/pve2/local", "storage/pve3/local", "storage/pve2/second"},
	} {
		got := namesIn(c.call("GET", "/cluster/resources", url.Values{"type": {kind}}).data, "id")
		if !sameSet(got, want...) {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

func TestResourcesAreFiltered(t *testing.T) {
	t.Parallel()
	l, _ := silentLab(t)
	l.locked(func() {
		for _, vmid := range []int{110, 111} {
			l.guests[vmid] = newGuest("qemu", vmid, "pve1")
		}
		l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz"})
		l.pools["p"] = &pool{id: "p", vms: map[int]bool{110: true}, storages: map[string]bool{}}
		l.access.acl = append(l.access.acl, aclEntry{path: "/vms/110", kind: "user", id: "a@pve", role: "PVEAuditor"})
		l.broadcastAll()
	})
	addToken(l, "a@pve", "tok", "secret", false)
	c := newClient(t, l, "PVEAPIToken=a@pve!tok=secret")
	data := c.call("GET", "/cluster/resources", nil).data
	if got := namesIn(data, "id"); !sameSet(got, "qemu/110", "node/pve1", "node/pve2", "node/pve3") {
		t.Errorf("%v", got)
	}
	if g := element(data, "qemu/110"); g["pool"] != nil {
		t.Errorf("the pool shows without Pool.Audit: %v", g)
	}
	if n := element(data, "node/pve1"); n["maxmem"] != nil || n["status"] != "online" {
		t.Errorf("a node without Sys.Audit: %v", n)
	}
}

func TestAnOfflineNode(t *testing.T) {
	t.Parallel()
	l, c := silentLab(t)
	l.locked(func() {
		l.guests[110] = newGuest("qemu", 110, "pve3")
		l.broadcastAll()
		l.nodes["pve3"].online = false
		l.broadcastAll()
	})
	status := c.call("GET", "/cluster/status", nil).data
	if n := element(status, "node/pve3"); n["online"] != float64(0) || n["ip"] != "10.99.0.3" {
		t.Errorf("/cluster/status: %v", n)
	}
	if cl := element(status, "cluster"); cl["quorate"] != float64(1) || cl["nodes"] != float64(3) || cl["name"] != "lab" {
		t.Errorf("/cluster/status: %v", cl)
	}
	nodes := c.call("GET", "/nodes", nil).data
	if n := element(nodes, "node/pve3"); n["status"] != "offline" || n["uptime"] != nil || n["maxmem"] == nil {
		t.Errorf("/nodes: %v", n)
	}
	if n := element(nodes, "node/pve1"); n["status"] != "online" || n["uptime"] == nil {
		t.Errorf("/nodes: %v", n)
	}
	for _, path := range []string{"/nodes/pve3/status", "/nodes/pve3/qemu", "/nodes/pve3/storage"} {
		if a := c.call("GET", path, nil); a.status != statusNoRoute {
			t.Errorf("%s: %d %s", path, a.status, a.reason)
		}
	}
	l.locked(func() { l.nodes["pve2"].online = false })
	if cl := element(c.call("GET", "/cluster/status", nil).data, "cluster"); cl["quorate"] != float64(0) {
		t.Errorf("one of three is quorate: %v", cl)
	}
}

func TestWhoAnswersIsLocal(t *testing.T) {
	t.Parallel()
	l, c := silentLab(t)
	second := *c
	second.base = l.NodeURL("pve2")
	for name, client := range map[string]*client{"pve1": c, "pve2": &second} {
		data := client.call("GET", "/cluster/status", nil).data
		for _, other := range l.opts.Nodes {
			want := float64(boolInt(other == name))
			if got := element(data, "node/"+other)["local"]; got != want {
				t.Errorf("asked %s: %s has local=%v", name, other, got)
			}
		}
	}
}

func TestBridges(t *testing.T) {
	t.Parallel()
	l, c := silentLab(t)
	l.locked(func() { l.nodes["pve2"].addBridge("vmbr7") })
	bridges := func(node string) []string {
		return namesIn(c.call("GET", "/nodes/"+node+"/network", url.Values{"type": {"any_bridge"}}).data, "iface")
	}
	if got := bridges("pve1"); !sameSet(got, "vmbr0") {
		t.Errorf("pve1: %v", got)
	}
	if got := bridges("pve2"); !sameSet(got, "vmbr0", "vmbr7") {
		t.Errorf("pve2: %v", got)
	}
	a := c.call("POST", "/nodes/pve1/network", url.Values{"iface": {"vmbr9"}, "type": {"bridge"}, "autostart": {"1"}})
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.reason)
	}
	var before, after bool
	l.locked(func() { before = l.hasBridge("pve1", "vmbr9") })
	c.must("PUT", "/nodes/pve1/network")
	l.locked(func() { after = l.hasBridge("pve1", "vmbr9") })
	if before || !after {
		t.Errorf("usable before the reload: %v, after it: %v", before, after)
	}
}
