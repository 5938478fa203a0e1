package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestCreateCloneFindsUnfinished: a provider that was killed left a guest of
// this name. No second one is made.
func TestCreateCloneFindsUnfinished(t *testing.T) {
	t.Parallel()

	const read5 = "GET /nodes/pve1/qemu/10005/pending"
	killed := upidOf("qmclone", "9000")
	unfinished := configOf(Marker{UID: uidB, VMID: 10005, Creating: true})
	stub := stubConfig()
	begun := configOf(Marker{UID: uidB, VMID: 10005, Creating: true}, "lock", "clone")
	tests := map[string][]step{
		"by name":                   steps(quiet(vmResource(10005, "pve1", "web")), on(read5).data200(unfinished)),
		"not yet named in the list": steps(quiet(vmResource(10005, "pve1", "")), on(read5).data200(unfinished)),
		"moved since it was listed": steps(quiet(vmResource(10005, "pve2", "web")),
			on("GET /nodes/pve2/qemu/10005/pending").fail(500, "Configuration file 'nodes/pve2/qemu-server/10005.conf' does not exist"),
			on(listGuests).data200([]any{vmResource(10005, "pve1", "web")}), on(read5).data200(unfinished)),
		"its clone has written the marker": steps(poor(),
			on(listClones).data200(tasksOf(killed)), cloneLog(killed, "10005"), on(listGuests).data200([]any{vmResource(10005, "pve1", "")}),
			on(read5).data200(begun)),
		"a stub that becomes it": steps(poor(),
			on(listClones).data200(tasksOf(killed)), cloneLog(killed, "10005"), on(listGuests).data200([]any{vmResource(10005, "pve1", "")}),
			on(read5).data200(stub),
			on(listClones).data200(tasksOf(killed)), on(listGuests).data200([]any{vmResource(10005, "pve1", "")}),
			on(read5).data200(stub),
			still(vmResource(10005, "pve1", "")), on(read5).data200(unfinished)),
		"a stub whose clone ends between the two lists": steps(
			quiet(vmResource(10005, "pve1", "")), on(read5).data200(stub),
			still(vmResource(10005, "pve1", "")), on(read5).data200(unfinished)),
		"not to be read before it is in the pool": steps(poor(),
			on(listClones).data200(tasksOf(killed)), cloneLog(killed, "10005"), on(listGuests).data200(nil),
			on(read5).fail(403, "Permission check failed (/vms/10005, VM.Audit)"),
			still(vmResource(10005, "pve1", "web")), on(read5).data200(unfinished)),
		"its clone has only just begun": steps(poor(),
			on(listClones).data200(tasksOf(killed)), on("GET /nodes/pve1/tasks/"+killed+"/log?limit=10&start=0").data200(nil), on(listGuests).data200(nil),
			on(listClones).data200(tasksOf(killed)), cloneLog(killed, "10005"), on(listGuests).data200(nil),
			on(read5).fail(500, strings.Replace(notHere, "10000", "10005", 1)),
			still(vmResource(10005, "pve1", "web")), on(read5).data200(unfinished)),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, list...).CreateClone(t.Context(), webSpec())
			var found *UnfinishedError
			if !errors.As(err, &found) || created.Guest != (Guest{}) {
				t.Fatalf("got %+v, %v; want an UnfinishedError", created, err)
			}
			if *found != (UnfinishedError{Kind: KindVM, VMID: 10005, Node: "pve1", Name: "web", UID: uidB}) {
				t.Errorf("found %+v", found)
			}
			for _, part := range []string{`VM 10005 "web" on pve1`, "import it", "destroy it"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

// TestCreateCloneIgnoresOthers: what cannot be an unfinished guest of this name
// costs no wait and no error.
func TestCreateCloneIgnoresOthers(t *testing.T) {
	t.Parallel()

	const read5 = "GET /nodes/pve1/qemu/10005/pending"
	other := upidOf("qmclone", "9001")
	notHere5 := on(read5).fail(500, strings.Replace(notHere, "10000", "10005", 1))
	ends := steps(begins("10006"), taskSteps(cloneUPID, "OK"),
		on("GET /nodes/pve1/qemu/10006/pending").data200(configOf(markerOf(10006))))
	tests := map[string]struct {
		steps    []step
		warnings int
	}{
		"a finished guest of this name": {
			steps(quiet(vmResource(10005, "pve1", "web")), on(read5).data200(configOf(Marker{UID: uidB, VMID: 10005})), ends), 1,
		},
		"a foreign guest of this name": {
			steps(quiet(vmResource(10005, "pve1", "web")), on(read5).data200(configOf(Marker{}, "description", "by hand")), ends), 0,
		},
		"a hand-made clone of an unfinished one": {
			steps(quiet(vmResource(10005, "pve1", "web")), on(read5).data200(configOf(Marker{UID: uidB, VMID: 10004, Creating: true})), ends), 0,
		},
		"an unfinished one of another name": {
			steps(quiet(vmResource(10005, "pve1", "")), on(read5).data200(configOf(Marker{UID: uidB, VMID: 10005, Creating: true}, "name", "db")), ends), 0,
		},
		"a clone that shows another name": {
			steps(poor(), on(listClones).data200(tasksOf(other)), cloneLog(other, "10005"), on(listGuests).data200([]any{vmResource(10005, "pve1", "")}),
				on(read5).data200(configOf(Marker{UID: uidB, VMID: 10005, Creating: true}, "name", "db", "lock", "clone")), ends), 0,
		},
		"a clone to an id outside the range": {
			steps(poor(), on(listClones).data200(tasksOf(other)), cloneLog(other, "200"), on(listGuests).data200([]any{vmResource(10005, "pve1", "x")}), ends), 0,
		},
		"a stub that nobody works on": {
			steps(quiet(vmResource(10005, "pve1", "")), on(read5).data200(stubConfig()),
				still(vmResource(10005, "pve1", "")), on(read5).data200(stubConfig()), ends), 0,
		},
		"gone meanwhile": {
			steps(quiet(vmResource(10005, "pve1", "web")), notHere5, on(listGuests).data200(nil), on("GET /cluster/nextid?vmid=10005").data200("10005"), ends), 0,
		},
		"moved meanwhile, of another name": {
			steps(quiet(vmResource(10005, "pve1", "")), notHere5, on(listGuests).data200([]any{vmResource(10005, "pve2", "")}),
				on("GET /nodes/pve2/qemu/10005/pending").data200(configOf(Marker{UID: uidB, VMID: 10005, Creating: true}, "name", "db")), ends), 0,
		},
		"on a dead node: warned of, and asked once": {
			steps(quiet(vmResource(10004, "pve3", "web"), vmResource(10005, "pve3", "")),
				on("GET /nodes/pve3/qemu/10004/pending").fail(595, "No route to host"), ends), 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, test.steps...).CreateClone(t.Context(), webSpec())
			if err != nil || created.Guest.VMID != 10006 || len(created.Warnings) != test.warnings {
				t.Errorf("got %+v, %v with warnings %v", created.Guest, err, created.Warnings)
			}
		})
	}
}

func TestCreateCloneGivesUpOnAStub(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	killed := upidOf("qmclone", "9000")
	c := script(t, poor(), on(listClones).data200(tasksOf(killed)), cloneLog(killed, "10005"), on(listGuests).data200(nil),
		on("GET /nodes/pve1/qemu/10005/pending").data200(stubConfig()),
		on(listClones).data200(nil), on(listGuests).data200([]any{vmResource(10005, "pve1", "")}).and(cancel))
	created, err := c.CreateClone(ctx, webSpec())
	if err == nil || !strings.Contains(err.Error(), "VM 10005") || created.Guest != (Guest{}) {
		t.Errorf("got %+v, %v; want an error that names the stub", created, err)
	}
}
