package pvelab

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// namesIn collects a field of a list's elements.
func namesIn(data any, field string) []string {
	list, _ := data.([]any)
	var out []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		s, _ := m[field].(string)
		out = append(out, s)
	}
	return out
}

func sameSet(got []string, want ...string) bool {
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

// apiStep is one call and the text of its error, "" where it succeeds.
type apiStep struct {
	method, path, query, wrong string
}

func runSteps(t *testing.T, c *client, steps []apiStep) {
	t.Helper()
	for _, s := range steps {
		values, err := url.ParseQuery(s.query)
		if err != nil {
			t.Fatal(err)
		}
		a := c.call(s.method, s.path, values)
		wrong := ""
		if a.status != http.StatusOK {
			wrong = a.reason
		}
		if wrong != s.wrong {
			t.Errorf("%s %s %s: %d %q, not %q", s.method, s.path, s.query, a.status, wrong, s.wrong)
		}
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		l.guests[110] = newGuest("qemu", 110, "pve1")
		l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz"})
	})
	c := rootClient(t, l)
	runSteps(t, c, []apiStep{
		{"POST", "/pools", "poolid=a", ""},
		{"POST", "/pools", "poolid=a", "create pool failed: pool 'a' already exists"},
		{"POST", "/pools", "poolid=a/id-100", ""},
		{"POST", "/pools", "poolid=a/id-100", "create pool failed: pool 'a/id-100' already exists"},
		{"POST", "/pools", "poolid=a/1x", "create pool failed: pool name must start with a letter"},
		{"POST", "/pools", "poolid=b/c", "create pool failed: parent 'b' of pool 'b/c' does not exist"},
		{"POST", "/pools", "poolid=b", ""},
		{"PUT", "/pools", "poolid=a&vms=110,4711&storage=local&comment=x", ""},
		{"PUT", "/pools", "poolid=a&vms=110", "update pools failed: VM 110 is already a pool member"},
		{"PUT", "/pools", "poolid=a&storage=local", "update pools failed: Storage 'local' is already a pool member"},
		{"PUT", "/pools", "poolid=b&vms=110", "update pools failed: VM 110 belongs already to pool 'a' and 'allow-move' is not set"},
		{"PUT", "/pools", "poolid=b&vms=120,120", "update pools failed: VM 120 is already a pool member"},
		{"PUT", "/pools", "poolid=b&vms=120&delete=1", "update pools failed: VM 120 is not a pool member"},
		{"DELETE", "/pools", "poolid=a", "delete pool failed: pool 'a' is not empty (contains pool 'a/id-100')"},
		{"DELETE", "/pools", "poolid=a/id-100", ""},
		{"DELETE", "/pools", "poolid=a", "delete pool failed: pool 'a' is not empty (contains VM 110)"},
		{"PUT", "/pools", "poolid=b&vms=110&allow-move=1", ""},
		{"DELETE", "/pools", "poolid=a", "delete pool failed: pool 'a' is not empty (contains storage 'local')"},
		{"PUT", "/pools/a", "storage=local&delete=1", ""},
		{"DELETE", "/pools/a", "", ""},
		{"DELETE", "/pools", "poolid=a", "delete pool failed: pool 'a' does not exist"},
		{"GET", "/pools/a", "", "pool 'a' does not exist"},
	})
	a := c.call(http.MethodGet, "/pools", url.Values{"poolid": {"b"}})
	pools, _ := a.data.([]any)
	if len(pools) != 1 {
		t.Fatalf("%v", a.data)
	}
	b, _ := pools[0].(map[string]any)
	if got := namesIn(b["members"], "id"); !sameSet(got, "qemu/110") {
		t.Errorf("members of b: %v", got)
	}
}

func TestAPoolsRightsEndWithMembership(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		l.guests[110] = newGuest("qemu", 110, "pve1")
		l.pools["p"] = &pool{id: "p", vms: map[int]bool{110: true}, storages: map[string]bool{}}
		l.access.acl = append(l.access.acl, aclEntry{path: "/pool/p", kind: "user", id: "a@pve", role: "PVEVMAdmin", propagate: true})
	})
	addToken(l, "a@pve", "tok", "secret", false)
	c := newClient(t, l, "PVEAPIToken=a@pve!tok=secret")
	visible := func() []string {
		return namesIn(c.call("GET", "/cluster/resources", url.Values{"type": {"vm"}}).data, "id")
	}
	if got := visible(); !sameSet(got, "qemu/110") {
		t.Errorf("a member: %v", got)
	}
	l.locked(func() { l.removeGuestAccess(110) })
	if got := visible(); len(got) != 0 {
		t.Errorf("no member any more: %v", got)
	}
	l.locked(func() { l.addToPool("p", 110) })
	if got := visible(); len(got) != 1 {
		t.Errorf("a member again: %v", got)
	}
}

func TestNextID(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		for _, vmid := range []int{100, 101, 103, 300} {
			l.guests[vmid] = newGuest("qemu", vmid, "pve1")
		}
	})
	addToken(l, "nobody@pve", "tok", "secret", false)
	c := newClient(t, l, "PVEAPIToken=nobody@pve!tok=secret")
	next := func(query string) (any, string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		a := c.call("GET", "/cluster/nextid", values)
		return a.data, a.errors["vmid"]
	}
	for _, s := range []struct {
		query string
		want  any
		wrong string
	}{
		{"", "102", ""},
		{"vmid=150", "150", ""},
		{"vmid=103", nil, "VM 103 already exists"},
		{"vmid=5", nil, "invalid format - value does not look like a valid VM ID\n"},
	} {
		if got, wrong := next(s.query); got != s.want || wrong != s.wrong {
			t.Errorf("%q: %v, %q", s.query, got, wrong)
		}
	}
	l.locked(func() { l.clusterState.options["next-id"] = "lower=300,upper=302" })
	if got, _ := next(""); got != "301" {
		t.Errorf("with a range: %v", got)
	}
	l.locked(func() { l.guests[301] = newGuest("qemu", 301, "pve1") })
	if a := c.call("GET", "/cluster/nextid", nil); a.reason != "unable to get any free VMID in range [300, 302]" {
		t.Errorf("an exhausted range: %d %s", a.status, a.reason)
	}
}
