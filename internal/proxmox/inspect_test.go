package proxmox

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const listLive = "GET /nodes/pve1/qemu"

func live(vmid int, status string) map[string]any {
	return map[string]any{"vmid": vmid, "name": "web", "status": status}
}

func TestInspect(t *testing.T) {
	t.Parallel()

	ours := Marker{UID: uidA, VMID: 10000}
	here := on(listGuests).data200([]any{vmResource(10000, "pve1", "web")})
	running := on(listLive).data200([]any{live(10000, "running")})
	tests := map[string]struct {
		guest  Guest
		steps  []step
		want   Standing
		status string
	}{
		"ours": {ourGuest(), steps(here, oursHere, running), Ours, "running"},
		"the node in the state is stale": {
			Guest{VMID: 10000, Node: "pve3", UID: uidA}, steps(here, oursHere, running), Ours, "running",
		},
		"outside the range it is read all the same": {
			Guest{VMID: 500, Node: "pve1", UID: uidA},
			steps(on(listGuests).data200([]any{vmResource(500, "pve1", "web")}),
				on("GET /nodes/pve1/qemu/500/pending").data200(configOf(Marker{UID: uidA, VMID: 500})),
				on(listLive).data200([]any{live(500, "stopped")})), Ours, "stopped",
		},
		"too new for the list": {
			ourGuest(), steps(here, oursHere, on(listLive).data200(nil),
				on("GET /nodes/pve1/qemu/10000/status/current").data200(live(10000, "running"))), Ours, "running",
		},
		"unfinished": {ourGuest(), steps(here, on(readGuest).data200(configOf(creating)), running), Unfinished, "running"},
		"damaged":    {ourGuest(), steps(here, on(readGuest).data200(configOf(ours, "description", "")), running), Damaged, "running"},
		"stranger":   {ourGuest(), steps(here, strangerHere), Stranger, ""},
		"half-made":  {Guest{VMID: 10000, Node: "pve1", UID: uidA}, steps(here, on(readGuest).data200(stubConfig())), Stub, ""},
		"migrated since the view was fetched": {
			ourGuest(),
			steps(here, on(readGuest).fail(500, notHere), on(listGuests).data200([]any{vmResource(10000, "pve2", "web")}),
				on("GET /nodes/pve2/qemu/10000/pending").data200(configOf(ours)),
				on("GET /nodes/pve2/qemu").data200([]any{live(10000, "stopped")})), Ours, "stopped",
		},
		"deleted by hand, rights through a pool": {
			ourGuest(),
			steps(on(listGuests).data200(nil), on(readGuest).fail(403, noAudit), on(listGuests).data200(nil),
				on(proveAbsence).data200("10000")), Gone, "",
		},
		"taken out of the pool": {
			ourGuest(),
			steps(on(listGuests).data200(nil), on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), takenStep()), Unreadable, "",
		},
		"a container has the id": {
			ourGuest(),
			steps(on(listGuests).data200([]any{map[string]any{"type": "lxc", "vmid": 10000, "node": "pve1"}}),
				on(readGuest).fail(500, notHere),
				on(listGuests).data200([]any{map[string]any{"type": "lxc", "vmid": 10000, "node": "pve1"}})), Stranger, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look, err := script(t, test.steps...).Inspect(t.Context(), test.guest)
			if err != nil || look.Standing != test.want || look.Status.Status != test.status {
				t.Errorf("got %s, %q, %v; want %s, %q", look.Standing, look.Status.Status, err, test.want, test.status)
			}
			if test.want.Lost() && !strings.Contains(look.Err(test.guest).Error(), "VM 10000") {
				t.Errorf("%q does not name the guest", look.Err(test.guest))
			}
		})
	}
}

// TestInspectAsksADeadNodeOnce: PVE's proxy takes half a minute to give up.
func TestInspectAsksADeadNodeOnce(t *testing.T) {
	t.Parallel()

	list := on(listGuests).data200([]any{vmResource(10000, "pve1", "web"), vmResource(10001, "pve1", "db")})
	c := script(t, list, on(readGuest).fail(595, "No route to host"), list)
	for _, vmid := range []int{10000, 10001, 10000} {
		look, err := c.Inspect(t.Context(), Guest{VMID: vmid, Node: "pve1", UID: uidA})
		if err != nil || look.Standing != Unreachable || look.Node != "pve1" {
			t.Errorf("guest %d: %+v, %v", vmid, look, err)
		}
	}
}

// TestInspectManyShareTheLists holds the budget of a refresh: one call per
// guest beside one list of the cluster and one per node.
func TestInspectManyShareTheLists(t *testing.T) {
	t.Parallel()

	p := &farm{t: t, calls: map[string]int{}}
	c := fakeClient(t, p)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			guest := Guest{VMID: 10000 + i, Node: "pve1", UID: uidA}
			look, err := c.Inspect(t.Context(), guest)
			if err != nil || look.Standing != Ours || !look.Status.Running() {
				t.Errorf("guest %d: %+v, %v", guest.VMID, look, err)
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range p.calls {
		total += n
	}
	if total != 104 || p.calls["read"] != 100 {
		t.Errorf("%d calls for 100 guests on three nodes: %v", total, p.calls)
	}
}

// farm is a cluster of three nodes with a hundred guests of ours.
type farm struct {
	t     *testing.T
	mu    sync.Mutex
	calls map[string]int
}

func (p *farm) node(vmid int) string { return "pve" + itoa(1+vmid%3) }

func (p *farm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api2/json/"), "/")
	switch {
	case callOf(r) == listGuests:
		p.calls["list"]++
		var guests []any
		for i := range 100 {
			guests = append(guests, vmResource(10000+i, p.node(10000+i), "web"))
		}
		respond(w, on("").data200(guests))
	case len(path) == 3 && path[2] == "qemu":
		p.calls["live"]++
		var guests []any
		for i := range 100 {
			if p.node(10000+i) == path[1] {
				guests = append(guests, live(10000+i, "running"))
			}
		}
		respond(w, on("").data200(guests))
	case path[len(path)-1] == "pending":
		p.calls["read"]++
		vmid, _ := strconv.Atoi(path[3])
		respond(w, on("").data200(configOf(Marker{UID: uidA, VMID: vmid})))
	default:
		p.t.Errorf("call %s", callOf(r))
		respond(w, on("").fail(501, "not implemented"))
	}
}

func TestFindByUID(t *testing.T) {
	t.Parallel()

	guests := on(listGuests).data200([]any{
		vmResource(10000, "pve1", "web"), vmResource(500, "pve1", "outside"),
		map[string]any{"type": "lxc", "vmid": 10002, "node": "pve1"},
		map[string]any{"type": "qemu", "vmid": 10003, "node": "pve1", "template": 1},
	})
	c := script(t, guests, oursHere)
	found, err := c.FindByUID(t.Context(), KindVM, uidA)
	if err != nil || len(found) != 1 || found[0] != ourGuest() {
		t.Errorf("got %+v, %v", found, err)
	}
	found, err = script(t, guests, oursHere).FindByUID(t.Context(), KindVM, uidB)
	if err != nil || len(found) != 0 {
		t.Errorf("another uid: %+v, %v", found, err)
	}
	found, err = script(t, guests, on(readGuest).fail(595, "No route to host")).FindByUID(t.Context(), KindVM, uidA)
	if err == nil || !strings.Contains(err.Error(), "VM 10000") || len(found) != 0 {
		t.Errorf("a node that does not answer: %+v, %v; want an error, for it is not proven that there is none", found, err)
	}
}

// TestPeek asks a node that does not answer no second time, until a while later.
func TestPeek(t *testing.T) {
	t.Parallel()

	c := script(t, on(readGuest).fail(595, "No route to host"))
	for range 2 {
		if _, err := c.Peek(t.Context(), KindVM, "pve1", 10000); !IsUnavailable(err) {
			t.Errorf("got %v", err)
		}
	}
}
