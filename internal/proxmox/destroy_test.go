package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	destroy  = "DELETE /nodes/pve1/qemu/10000"
	stop     = "POST /nodes/pve1/qemu/10000/status/stop"
	shutdown = "POST /nodes/pve1/qemu/10000/status/shutdown"
	runs     = "VM 10000 is running - destroy failed"
)

var (
	destroyUPID  = upidOf("qmdestroy", "10000")
	stopUPID     = upidOf("qmstop", "10000")
	shutdownUPID = upidOf("qmshutdown", "10000")
	oursHere     = on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}))
	strangerHere = on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000}))
	goneNow      = steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000"))
	husk         = on(readGuest).data200(pendingOf(map[string]string{"lock": "destroyed"}))
)

func ends(call, upid string) []step { return steps(on(call).data200(upid), taskSteps(upid, "OK")) }

func TestDestroy(t *testing.T) {
	t.Parallel()

	guest := ourGuest()
	locked := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "lock", "backup"))
	deletes := steps(oursHere, ends(destroy, destroyUPID))
	tests := map[string][]step{
		"stopped: two calls": deletes,
		"running":            steps(oursHere, on(destroy).fail(500, runs), oursHere, ends(stop, stopUPID), deletes),
		"started again before the task": steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, runs),
			oursHere, ends(stop, stopUPID), deletes),
		"unfinished": steps(on(readGuest).data200(configOf(creating)), ends(destroy, destroyUPID)),
		"migrated": steps(on(readGuest).fail(500, notHere), on(listGuests).data200([]any{vmResource(10000, "pve2", "web")}),
			on("GET /nodes/pve2/qemu/10000/pending").data200(configOf(Marker{UID: uidA, VMID: 10000})),
			ends("DELETE /nodes/pve2/qemu/10000", destroyUPID)),
		"gone before": goneNow,
		"gone before, rights through a pool": steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil),
			on(proveAbsence).data200("10000")),
		"gone before the call":        steps(oursHere, on(destroy).fail(500, notHere), goneNow),
		"gone before the task":        steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, notHere), goneNow),
		"gone before the stop":        steps(oursHere, on(destroy).fail(500, runs), goneNow, goneNow),
		"gone during the stop":        steps(oursHere, on(destroy).fail(500, runs), oursHere, on(stop).fail(500, notHere), goneNow),
		"no worker":                   steps(oursHere, on(destroy).fail(500, "got no worker upid - start worker failed"), deletes),
		"lock file held, call":        steps(oursHere, on(destroy).fail(500, "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout"), deletes),
		"lock file held, task":        steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, "can't lock file '/x' - got timeout"), deletes),
		"backup ends":                 steps(locked, locked, deletes),
		"backup begins in between":    steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, "VM is locked (backup)"), locked, deletes),
		"suspended to disk":           steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "lock", "suspended")), ends(destroy, destroyUPID)),
		"not reached by the proxy":    steps(oursHere, on(destroy).fail(595, "No route to host"), deletes),
		"answer lost before it began": steps(oursHere, on(destroy).cut(), deletes),
		"answer lost, done":           steps(oursHere, on(destroy).cut(), goneNow),
		"answer lost, going on": steps(oursHere, on(destroy).cut(), husk, husk, on(listTasks).data200(tasksOf(destroyUPID)),
			goneNow, goneNow),
		"answer lost, rights through a pool end first": steps(oursHere, on(destroy).cut(),
			on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), takenStep(), goneNow),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			destroyed, err := script(t, list...).Destroy(t.Context(), guest, DestroyOptions{})
			if err != nil || destroyed.Stranger != nil || len(destroyed.Warnings) != 0 {
				t.Errorf("got %+v, %v", destroyed, err)
			}
		})
	}
}

// TestDestroyLeavesStrangersAlone: the destruction counts as done, and the
// guest that has the id now is not touched, at whatever step it appears.
func TestDestroyLeavesStrangersAlone(t *testing.T) {
	t.Parallel()

	tests := map[string][]step{
		"from the start":                    steps(strangerHere),
		"a clone of ours made by hand":      steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 7}, "smbios1", "uuid="+uidB))),
		"a stub of somebody's":              steps(on(readGuest).data200(stubConfig())),
		"after a refused call":              steps(oursHere, on(destroy).fail(500, "got no worker upid"), strangerHere),
		"after a lost answer":               steps(oursHere, on(destroy).cut(), strangerHere),
		"before the stop":                   steps(oursHere, on(destroy).fail(500, runs), strangerHere, strangerHere),
		"between the stop and the deletion": steps(oursHere, on(destroy).fail(500, runs), oursHere, ends(stop, stopUPID), strangerHere),
		"a container": steps(on(readGuest).fail(500, notHere),
			on(listGuests).data200([]any{map[string]any{"type": "lxc", "vmid": 10000, "node": "pve1"}})),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			destroyed, err := script(t, list...).Destroy(t.Context(), ourGuest(), DestroyOptions{})
			if err != nil || destroyed.Stranger == nil || !strings.Contains(destroyed.Stranger.Error(), "left alone") {
				t.Errorf("got %+v, %v; want success that names the stranger", destroyed, err)
			}
		})
	}
}

// TestDestroyRefuses: nothing is stopped that is not going to be destroyed.
func TestDestroyRefuses(t *testing.T) {
	t.Parallel()

	ours := Marker{UID: uidA, VMID: 10000}
	protected := on(readGuest).data200(configOf(ours, "protection", "1"))
	dead := on(readGuest).data200(configOf(creating, "lock", "clone"))
	unknown := errors.New("unknown disk unused0")
	tests := map[string]struct {
		steps []step
		check func(*GuestConfig) error
		want  string
	}{
		"protected":           {steps: steps(protected), want: "protected"},
		"protected meanwhile": {steps: steps(oursHere, on(destroy).fail(500, "can't remove VM 10000 - protection mode enabled")), want: "protection"},
		"protected while it stops": {
			steps: steps(oursHere, on(destroy).fail(500, runs), oursHere, ends(stop, stopUPID), protected), want: "protected",
		},
		"managed by HA": {
			steps: steps(oursHere, on(destroy).fail(500, "unable to remove VM 10000 - used in HA resources and purge parameter not set.")), want: "HA",
		},
		"check": {steps: steps(oursHere), check: func(*GuestConfig) error { return unknown }, want: "unknown disk"},
		"check after the stop": {
			steps: steps(oursHere, on(destroy).fail(500, runs), oursHere, ends(stop, stopUPID),
				on(readGuest).data200(configOf(ours, "unused0", "local:10000/x.raw"))),
			check: func(c *GuestConfig) error {
				if c.Get("unused0") != "" {
					return unknown
				}
				return nil
			}, want: "unknown disk",
		},
		"marker deleted": {steps: steps(on(readGuest).data200(configOf(ours, "description", "x"))), want: "marker is gone"},
		"unreadable":     {steps: steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), takenStep()), want: "VM.Audit"},
		"unreachable": {
			steps: steps(on(readGuest).fail(595, "No route to host"), on(listGuests).data200([]any{vmResource(10000, "pve1", "web")})), want: "cannot be reached",
		},
		"no privilege": {steps: steps(oursHere, on(destroy).fail(403, "Permission check failed (/vms/10000, VM.Allocate)")), want: "VM.Allocate"},
		"a failed task": {
			steps: steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, "zfs error: dataset is busy")), want: "dataset is busy",
		},
		"something else is missing": {
			steps: steps(oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, "storage 'gone' does not exist"),
				oursHere, on(destroy).data200(destroyUPID), taskSteps(destroyUPID, "storage 'gone' does not exist")), want: "storage 'gone'",
		},
		"a clone whose worker was killed": {
			steps: steps(dead, dead, on(listTasks).data200(nil), dead, on(listTasks).data200(nil)), want: "qm unlock 10000",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, test.steps...).Destroy(t.Context(), ourGuest(), DestroyOptions{Check: test.check})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "VM 10000") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestDestroyOptions(t *testing.T) {
	t.Parallel()

	c := script(t, steps(oursHere, on(destroy+"?destroy-unreferenced-disks=1&purge=1").fail(500, runs),
		oursHere, on(shutdown).with("timeout", "30").with("forceStop", "1").data200(shutdownUPID), taskSteps(shutdownUPID, "OK"),
		oursHere, on(destroy+"?destroy-unreferenced-disks=1&purge=1").data200(destroyUPID), taskSteps(destroyUPID, "WARNINGS: 1"))...)
	destroyed, err := c.Destroy(t.Context(), ourGuest(), DestroyOptions{
		ShutdownTimeout: 30 * time.Second, ForceStop: true, Purge: true, DestroyUnreferencedDisks: true,
	})
	if err != nil || len(destroyed.Warnings) != 1 {
		t.Errorf("got %+v, %v; want PVE's warning", destroyed, err)
	}
}

func TestDestroyGivesUpOnAShutdown(t *testing.T) {
	t.Parallel()

	c := script(t, steps(oursHere, on(destroy).fail(500, runs), oursHere, on(shutdown).data200(shutdownUPID),
		taskSteps(shutdownUPID, "VM quit/powerdown failed - got timeout"))...)
	_, err := c.Destroy(t.Context(), ourGuest(), DestroyOptions{ShutdownTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "powerdown failed") {
		t.Errorf("got %v", err)
	}
}

// TestDestroyHalfMade: a guest whose clone was not waited for.
func TestDestroyHalfMade(t *testing.T) {
	t.Parallel()

	upid, err := ParseUPID(cloneUPID)
	if err != nil {
		t.Fatal(err)
	}
	guest := Guest{Kind: KindVM, VMID: 10000, Node: "pve1", UID: uidA}
	stub := on(readGuest).data200(stubConfig())
	made := steps(on(readGuest).data200(configOf(creating)), ends(destroy, destroyUPID))
	tests := map[string]struct {
		upid     UPID
		steps    []step
		stranger bool
	}{
		"its task is known": {upid, steps(taskSteps(cloneUPID, "OK"), made), false},
		"its task failed":   {upid, steps(taskSteps(cloneUPID, "clone failed: x"), goneNow), false},
		"still a stub": {
			UPID{}, steps(stub, stub, on(listTasks).data200(tasksOf(cloneUPID)), cloneLog(cloneUPID, "10000"),
				on(readGuest).data200(configOf(creating)), made), false,
		},
		"still a stub, then a stranger's": {
			UPID{}, steps(stub, stub, on(listTasks).data200(tasksOf(cloneUPID)), cloneLog(cloneUPID, "10000"), strangerHere, strangerHere), true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			destroyed, err := script(t, test.steps...).Destroy(t.Context(), guest, DestroyOptions{Task: test.upid})
			if err != nil || (destroyed.Stranger != nil) != test.stranger {
				t.Errorf("got %+v, %v", destroyed, err)
			}
		})
	}
}

func TestDestroyInterrupted(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	locked := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "lock", "backup"))
	_, err := script(t, locked, locked.and(cancel)).Destroy(ctx, ourGuest(), DestroyOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
}
