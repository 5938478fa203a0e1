package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestCreateCloneLostAnswer: the answer to the clone call is lost. Whether PVE
// has begun, the marker tells; no guest is made twice and none is lost.
func TestCreateCloneLostAnswer(t *testing.T) {
	t.Parallel()

	const exists = "unable to create VM 10000: config file already exists"
	lost := on(clone).with("newid", "10000").cut()
	gone := steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	hidden := steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), takenStep())
	ours := on(readGuest).data200(configOf(creating))
	busy := steps(on(listTasks).data200(tasksOf(cloneUPID)))
	idle := on(listTasks).data200(nil)
	second := steps(on("GET /cluster/nextid?vmid=10001").data200("10001"), begins("10001"), taskSteps(cloneUPID, "OK"),
		on("GET /nodes/pve1/qemu/10001/pending").data200(configOf(markerOf(10001))))
	tests := map[string]struct {
		steps []step
		want  int
	}{
		"before PVE accepted": {steps(quiet(), lost, gone, begins("10000"), taskSteps(cloneUPID, "OK"), ours), 10000},
		"after PVE accepted": {
			steps(quiet(), lost,
				on(readGuest).data200(stubConfig()), busy, cloneLog(cloneUPID, "10000"),
				on(readGuest).data200(configOf(creating, "lock", "clone")), busy, ours, ours), 10000,
		},
		"by PVE's proxy": {
			steps(quiet(), on(clone).with("newid", "10000").fail(596, "Broken pipe"), ours, ours), 10000,
		},
		"after PVE accepted, rights through a pool": {
			steps(quiet(), lost, hidden, busy, cloneLog(cloneUPID, "10000"), hidden, idle, ours, ours), 10000,
		},
		"it arrives late: the second call finds the first's guest": {
			steps(quiet(), lost, gone, on(clone).with("newid", "10000").fail(500, exists),
				on(readGuest).data200(stubConfig()), busy, cloneLog(cloneUPID, "10000"), ours, ours), 10000,
		},
		"it arrives late: the second task finds the first's guest": {
			steps(quiet(), lost, gone, begins("10000"), taskSteps(cloneUPID, exists),
				on(readGuest).data200(configOf(creating, "lock", "clone")), busy, cloneLog(cloneUPID, "10000"), ours, ours), 10000,
		},
		"a stranger took the id": {
			steps(quiet(), lost, on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000})), second), 10001,
		},
		"a stranger took the id, unseen": {
			steps(quiet(), lost, hidden, idle, hidden, idle, second), 10001,
		},
		"a stranger's stub": {
			steps(quiet(), lost, on(readGuest).data200(stubConfig()), idle, on(readGuest).data200(stubConfig()), idle, second), 10001,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, test.steps...).CreateClone(t.Context(), webSpec())
			if err != nil || created.Guest.VMID != test.want || created.Own == nil {
				t.Errorf("got %+v, %v; want %d", created.Guest, err, test.want)
			}
		})
	}
}

func TestCreateCloneLostAnswerConfiguredID(t *testing.T) {
	t.Parallel()

	spec := webSpec()
	spec.VMID = 10000
	c := script(t, steps(quiet(), on(clone).cut(), on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000})))...)
	created, err := c.CreateClone(t.Context(), spec)
	var taken *TakenError
	if !errors.As(err, &taken) || created.Guest != (Guest{}) {
		t.Errorf("got %+v, %v; want a TakenError and no guest", created, err)
	}
}

// TestCreateCloneLostAnswerInDoubt: an end while it is open whether the guest
// exists names the guest.
func TestCreateCloneLostAnswerInDoubt(t *testing.T) {
	t.Parallel()

	gone := steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	tests := map[string]func(cancel func()) []step{
		"interrupted": func(cancel func()) []step {
			return steps(quiet(), on(clone).cut().and(cancel))
		},
		"interrupted while looking": func(cancel func()) []step {
			return steps(quiet(), on(clone).cut(), on(readGuest).data200(stubConfig()),
				on(listTasks).data200(tasksOf(cloneUPID)), cloneLog(cloneUPID, "10000").and(cancel))
		},
		"refused the second time": func(func()) []step {
			return steps(quiet(), on(clone).cut(), gone, on(clone).fail(403, "Permission check failed (/vms/9000, VM.Clone)"), gone)
		},
		"node down": func(func()) []step {
			return steps(quiet(), on(clone).cut(), on(readGuest).fail(595, "No route to host"),
				on(listGuests).data200([]any{vmResource(10000, "pve1", "")}))
		},
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			created, err := script(t, list(cancel)...).CreateClone(ctx, webSpec())
			want := Guest{Kind: KindVM, VMID: 10000, Node: "pve1", UID: uidA}
			if err == nil || created.Guest != want || !strings.Contains(err.Error(), "VM 10000") {
				t.Fatalf("got %+v, %v; want %+v beside an error", created.Guest, err, want)
			}
			var interrupted *InterruptedError
			if errors.As(err, &interrupted) != strings.HasPrefix(name, "interrupted") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestResumeClone(t *testing.T) {
	t.Parallel()

	upid, err := ParseUPID(cloneUPID)
	if err != nil {
		t.Fatal(err)
	}
	guest := Guest{Kind: KindVM, VMID: 10000, Node: "pve1", UID: uidA}
	gone := steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	status := on("GET /nodes/pve1/tasks/" + cloneUPID + "/status")
	tests := map[string]struct {
		upid  UPID
		steps []step
		want  string
		left  bool
	}{
		"ended well": {upid, steps(taskSteps(cloneUPID, "OK"), on(readGuest).data200(configOf(creating))), "", true},
		"PVE has forgotten the task": {
			upid, steps(status.fail(400, "no such task"), on(readGuest).data200(configOf(creating))), "", true,
		},
		"task unknown, still running": {
			UPID{}, steps(on(readGuest).data200(stubConfig()), on(listTasks).data200(tasksOf(cloneUPID)), cloneLog(cloneUPID, "10000"),
				on(readGuest).data200(configOf(creating))), "", true,
		},
		"failed meanwhile":    {upid, steps(taskSteps(cloneUPID, "clone failed: interrupted by signal"), gone), "interrupted by signal", false},
		"destroyed meanwhile": {UPID{}, gone, "does not exist any more", false},
		"a stranger has the id": {
			upid, steps(taskSteps(cloneUPID, "OK"), on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000}))), "not the guest", false,
		},
		"its worker was killed": {
			UPID{}, steps(on(readGuest).data200(configOf(creating, "lock", "clone")), on(listTasks).data200(nil),
				on(readGuest).data200(configOf(creating, "lock", "clone")), on(listTasks).data200(nil)), "locked (clone)", true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resumed, err := script(t, test.steps...).ResumeClone(t.Context(), guest, test.upid)
			if test.want == "" {
				if err != nil || resumed.Guest != ourGuest() || resumed.Own == nil {
					t.Errorf("got %+v, %v", resumed, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || resumed.Own != nil || (resumed.Guest.VMID != 0) != test.left {
				t.Errorf("got %+v, %v; want an error with %q", resumed, err, test.want)
			}
		})
	}
}
