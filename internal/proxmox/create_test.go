package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"
)

const (
	listClones  = "GET /nodes/pve1/tasks?source=active&typefilter=qmclone"
	listTasks   = "GET /nodes/pve1/tasks?source=active"
	permissions = "GET /access/permissions"
	clone       = "POST /nodes/pve1/qemu/9000/clone"
)

var (
	cloneUPID = upidOf("qmclone", "9000")
	creating  = Marker{UID: uidA, VMID: 10000, Creating: true}
)

func webSpec() CloneSpec {
	return CloneSpec{TemplateNode: "pve1", Template: 9000, Name: "web", Description: "hello", UID: uidA}
}

// poor is a token that does not see all guests.
func poor() step {
	return on(permissions).data200(map[string]any{"/pool/lab": map[string]any{"VM.Audit": 1}})
}

// quiet is a cluster in which nothing is being cloned, and these guests are.
func quiet(guests ...map[string]any) []step { return steps(poor(), still(guests...)) }

// still is [quiet] when it is looked at again.
func still(guests ...map[string]any) []step {
	return steps(on(listClones).data200(nil), on(listGuests).data200(guests))
}

// begins is a clone to the id that PVE accepts.
func begins(id string) step { return on(clone).with("newid", id).data200(cloneUPID) }

// tasksOf is a task list.
func tasksOf(upids ...string) []map[string]any {
	var tasks []map[string]any
	for _, upid := range upids {
		tasks = append(tasks, map[string]any{"upid": upid, "status": "RUNNING"})
	}
	return tasks
}

// cloneLog is the log of a running clone.
func cloneLog(upid, id string) step {
	return on("GET /nodes/pve1/tasks/" + upid + "/log?limit=10&start=0").
		data200([]map[string]any{{"n": 1, "t": "creating a clone of VM 9000 with ID " + id}})
}

func markerOf(vmid int) Marker { return Marker{UID: uidA, VMID: vmid, Creating: true} }

func TestCreateClone(t *testing.T) {
	t.Parallel()

	c := script(t, steps(
		quiet(),
		begins("10000").with("name", "web").with("description", "hello\n\n"+creating.String()).with("full", "1").
			with("target", "").with("storage", "").with("pool", ""),
		taskSteps(cloneUPID, "OK"),
		on(readGuest).data200(configOf(creating)),
	)...)
	created, err := c.CreateClone(t.Context(), webSpec())
	if err != nil {
		t.Fatal(err)
	}
	if created.Guest != ourGuest() {
		t.Errorf("guest %+v, want %+v", created.Guest, ourGuest())
	}
	if created.Own == nil || created.Own.VMID() != 10000 || len(created.Warnings) != 0 {
		t.Errorf("permission %v, warnings %v", created.Own, created.Warnings)
	}
}

func TestCreateCloneElsewhere(t *testing.T) {
	t.Parallel()

	spec := webSpec()
	spec.Node, spec.Storage, spec.Pool, spec.VMID = "pve2", "shared-nfs", "lab", 10007
	c := script(t, steps(
		quiet(),
		begins("10007").with("target", "pve2").with("storage", "shared-nfs").with("pool", "lab"),
		taskSteps(cloneUPID, "WARNINGS: 1"),
		on("GET /nodes/pve2/qemu/10007/pending").data200(configOf(markerOf(10007))),
	)...)
	created, err := c.CreateClone(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if created.Guest.VMID != 10007 || created.Guest.Node != "pve2" || len(created.Warnings) != 1 {
		t.Errorf("guest %+v, warnings %v", created.Guest, created.Warnings)
	}
}

func TestCreateCloneRefusesBeforeAnyCall(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		change func(*CloneSpec)
		want   string
	}{
		"template in the range": {func(s *CloneSpec) { s.Template = 10005 }, "inside the range"},
		"vmid outside":          {func(s *CloneSpec) { s.VMID = 9999 }, "outside the range"},
		"marker in the text":    {func(s *CloneSpec) { s.Description = creating.String() }, "ownership marker"},
		"description too long":  {func(s *CloneSpec) { s.Description = strings.Repeat("x", MaxDescription) }, "more than"},
		"no uid":                {func(s *CloneSpec) { s.UID = "" }, "UUID"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := webSpec()
			test.change(&spec)
			created, err := script(t).CreateClone(t.Context(), spec)
			if err == nil || !strings.Contains(err.Error(), test.want) || created.Guest != (Guest{}) {
				t.Errorf("got %+v, %v; want an error with %q", created, err, test.want)
			}
		})
	}
}

// TestCreateCloneIDs: an id that is somebody else's is never adopted.
func TestCreateCloneIDs(t *testing.T) {
	t.Parallel()

	const exists = "unable to create VM 10000: config file already exists"
	next := "GET /cluster/nextid?vmid=10001"
	second := steps(begins("10001"), taskSteps(cloneUPID, "OK"),
		on("GET /nodes/pve1/qemu/10001/pending").data200(configOf(markerOf(10001))))
	tests := map[string]struct {
		steps []step
		want  int
	}{
		"above the highest in use": {
			steps(quiet(vmResource(10003, "pve2", "db"), vmResource(9000, "pve1", "tpl"), vmResource(10020, "pve1", "x")),
				begins("10004"), taskSteps(cloneUPID, "OK"),
				on("GET /nodes/pve1/qemu/10004/pending").data200(configOf(markerOf(10004)))), 10004,
		},
		"a container's id counts": {
			steps(quiet(map[string]any{"type": "lxc", "vmid": 10000, "node": "pve1", "name": "web"}), second), 10001,
		},
		"taken by a stranger meanwhile": {
			steps(quiet(), on(clone).with("newid", "10000").fail(500, exists), on(next).data200("10001"), second), 10001,
		},
		"taken unseen, as is the next": {
			steps(quiet(), on(clone).with("newid", "10000").fail(500, exists), takenAt(10001),
				on("GET /cluster/nextid?vmid=10002").data200("10002"), begins("10002"), taskSteps(cloneUPID, "OK"),
				on("GET /nodes/pve1/qemu/10002/pending").data200(configOf(markerOf(10002)))), 10002,
		},
		"taken on another node: the task tells": {
			steps(quiet(), begins("10000"), taskSteps(cloneUPID, "unable to open file '/etc/pve/nodes/pve1/qemu-server/10000.conf': File exists"),
				on(readGuest).fail(500, notHere), on(listGuests).data200([]map[string]any{vmResource(10000, "pve2", "other")}),
				on("GET /nodes/pve2/qemu/10000/pending").data200(configOf(Marker{UID: uidB, VMID: 10000})),
				on(next).data200("10001"), second), 10001,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, test.steps...).CreateClone(t.Context(), webSpec())
			if err != nil || created.Guest.VMID != test.want {
				t.Errorf("got %+v, %v; want %d", created.Guest, err, test.want)
			}
		})
	}
}

func takenAt(vmid int) step {
	s := takenStep()
	s.call = strings.Replace(s.call, "10000", itoa(vmid), 1)
	return s
}

func TestCreateCloneConfiguredIDIsTaken(t *testing.T) {
	t.Parallel()

	spec := webSpec()
	spec.VMID = 10000
	c := script(t, steps(quiet(), on(clone).fail(500, "unable to create VM 10000: config file already exists"))...)
	created, err := c.CreateClone(t.Context(), spec)
	var taken *TakenError
	if !errors.As(err, &taken) || taken.VMID != 10000 || created.Guest != (Guest{}) {
		t.Errorf("got %+v, %v; want a TakenError", created, err)
	}
}

// TestCreateCloneFails: nothing is left behind unless it is named.
func TestCreateCloneFails(t *testing.T) {
	t.Parallel()

	const full = "clone failed: no space left on device"
	gone := steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	tests := map[string]struct {
		steps []step
		left  bool
		want  string
	}{
		"refused": {steps(quiet(), on(clone).fail(403, "Permission check failed (/vms/9000, VM.Clone)")), false, "VM.Clone"},
		"no such template": {
			steps(quiet(), on(clone).fail(500, "unable to find configuration file for VM 9000 on node 'pve1'")), false, "VM 9000",
		},
		"task failed": {steps(quiet(), begins("10000"), taskSteps(cloneUPID, full), gone), false, full},
		"task failed, its guest is still there": {
			steps(quiet(), begins("10000"), taskSteps(cloneUPID, full), on(readGuest).data200(configOf(creating))), true, "left behind",
		},
		"task failed, a stub is left": {
			steps(quiet(), begins("10000"), taskSteps(cloneUPID, "unexpected status"),
				on(readGuest).data200(stubConfig()), on(listTasks).data200(nil),
				on(readGuest).data200(stubConfig()), on(listTasks).data200(nil)), true, "unexpected status",
		},
		"task failed, a stranger has the id": {
			steps(quiet(), begins("10000"), taskSteps(cloneUPID, full), on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000}))), false, full,
		},
		"node went away": {
			steps(quiet(), begins("10000"), taskSteps(cloneUPID, "unexpected status"),
				on(readGuest).fail(595, "No route to host"), on(listGuests).data200([]map[string]any{vmResource(10000, "pve1", "")})), true, "cannot be reached",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, test.steps...).CreateClone(t.Context(), webSpec())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error with %q", err, test.want)
			}
			if (created.Guest.VMID == 10000) != test.left || created.Own != nil {
				t.Errorf("guest %+v, want it named: %v", created.Guest, test.left)
			}
			if test.left && (created.Guest.UID != uidA || created.Guest.Node != "pve1") {
				t.Errorf("guest %+v is not enough to find it again", created.Guest)
			}
		})
	}
}

// TestCreateCloneLocks: a lost race for a lock is no error, and the same id is
// asked for again.
func TestCreateCloneLocks(t *testing.T) {
	t.Parallel()

	gone := steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	ends := steps(begins("10000"), taskSteps(cloneUPID, "OK"), on(readGuest).data200(configOf(creating)))
	tests := map[string][]step{
		"in the call": steps(quiet(), on(clone).fail(500, "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout"), ends),
		"in the task": steps(quiet(), begins("10000"),
			taskSteps(cloneUPID, "clone failed: cfs-lock 'storage-shared-nfs' error: got lock request timeout"), gone, ends),
		"template being backed up": steps(quiet(), on(clone).fail(500, "VM is locked (backup)"), ends),
		"no worker":                steps(quiet(), on(clone).fail(500, "got no worker upid - start worker failed"), gone, ends),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			created, err := script(t, list...).CreateClone(t.Context(), webSpec())
			if err != nil || created.Guest != ourGuest() {
				t.Errorf("got %+v, %v", created.Guest, err)
			}
		})
	}
}

func TestCreateCloneInterrupted(t *testing.T) {
	t.Parallel()

	running := on("GET /nodes/pve1/tasks/" + cloneUPID + "/status").data200(map[string]any{"status": "running"})
	tests := map[string]func(cancel func()) []step{
		"while the task runs": func(cancel func()) []step {
			return steps(quiet(), begins("10000"), running, running.and(cancel))
		},
		"during the clone call: its answer is not thrown away": func(cancel func()) []step {
			return steps(quiet(), begins("10000").and(cancel))
		},
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			created, err := script(t, list(cancel)...).CreateClone(ctx, webSpec())
			var interrupted *InterruptedError
			if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) || interrupted.UPID.String() != cloneUPID {
				t.Fatalf("got %v, want an interruption with the task", err)
			}
			want := Guest{Kind: KindVM, VMID: 10000, Node: "pve1", UID: uidA}
			if created.Guest != want || !strings.Contains(err.Error(), `VM 10000 "web" on pve1`) {
				t.Errorf("got %+v (%v), want %+v", created.Guest, err, want)
			}
		})
	}
}

func TestCreateCloneInterruptedBeforeTheCall(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	list := quiet()
	list[2] = list[2].and(cancel)
	created, err := script(t, list...).CreateClone(ctx, webSpec())
	if !errors.Is(err, context.Canceled) || created.Guest != (Guest{}) {
		t.Errorf("got %+v, %v; want nothing made", created, err)
	}
}
