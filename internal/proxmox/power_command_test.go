package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	statusCall = "GET /nodes/pve1/qemu/10000/status/current"
	reboots    = "POST /nodes/pve1/qemu/10000/status/reboot"
	suspends   = "POST /nodes/pve1/qemu/10000/status/suspend"
	resumes    = "POST /nodes/pve1/qemu/10000/status/resume"
)

var (
	qmstart   = upidOf("qmstart", "10000")
	qmreboot  = upidOf("qmreboot", "10000")
	qmsuspend = upidOf("qmsuspend", "10000")
	qmresume  = upidOf("qmresume", "10000")
	// foreignHere is a VM that nobody here made.
	foreignHere = on(readGuest).data200(configOf(Marker{}, "description", ""))
	// alreadyUp is what PVE makes of a start of a VM that runs.
	alreadyUp = steps(on(start).data200(qmstart), taskSteps(qmstart, "VM 10000 already running"))
)

// found is VM 10000 as it is found by a command, which does not know its node.
func found(config step) []step {
	return steps(on(listGuests).data200([]any{vmResource(10000, "pve1", "web")}), config)
}

// now is the state of VM 10000: running, paused or stopped.
func now(state string) step {
	status := "running"
	if state == "stopped" {
		status = state
	}
	return on(statusCall).data200(map[string]any{"vmid": 10000, "status": status, "qmpstatus": state})
}

// weary is a clock with which a context ends at a nap.
type weary struct {
	*idleClock

	cancel context.CancelFunc
}

func (w weary) Sleep(context.Context, time.Duration) error {
	w.cancel()
	return context.Canceled
}

// tire has the context end as soon as the client waits for something.
func tire(t *testing.T, c *Client) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c.clock = weary{&idleClock{now: time.Unix(1796000000, 0)}, cancel}
	return ctx
}

func TestCommand(t *testing.T) {
	t.Parallel()

	minute := PowerOptions{ShutdownTimeout: time.Minute}
	forced := PowerOptions{ShutdownTimeout: time.Minute, ForceStop: true}
	tests := map[string]struct {
		verb    PowerVerb
		options PowerOptions
		steps   []step
	}{
		"start":           {VerbStart, minute, steps(found(oursHere), now("stopped"), ends(start, qmstart), now("running"))},
		"start a running": {VerbStart, minute, steps(found(oursHere), now("running"), alreadyUp, now("running"), now("running"))},
		"HA takes its time": {
			VerbStart, minute, steps(found(oursHere), now("stopped"), ends(start, qmstart), now("stopped"), now("stopped"), now("running")),
		},
		"stop asks nobody": {VerbStop, minute, steps(found(oursHere), now("running"), ends(stop, stopUPID), now("stopped"))},
		"shut down": {
			VerbShutdown, minute,
			steps(found(oursHere), now("running"), on(shutdown).with("timeout", "60").with("forceStop", "").data200(shutdownUPID), taskSteps(shutdownUPID, "OK"), now("stopped")),
		},
		"shut down a paused, by force": {
			VerbShutdown, forced,
			steps(found(oursHere), now("paused"), on(shutdown).with("forceStop", "1").data200(shutdownUPID), taskSteps(shutdownUPID, "OK"), now("stopped")),
		},
		"reboot": {VerbReboot, minute, steps(found(oursHere), now("running"), ends(reboots, qmreboot), now("running"))},
		"pause":  {VerbPause, minute, steps(found(oursHere), now("running"), now("running"), oursHere, ends(suspends, qmsuspend), now("paused"))},
		"resume": {VerbResume, minute, steps(found(oursHere), now("paused"), alreadyUp, now("paused"), oursHere, ends(resumes, qmresume), now("running"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			test.options.Progress = func(line string) { told = append(told, line) }
			err := script(t, test.steps...).Command(t.Context(), PowerCommand{Verb: test.verb, VMID: 10000, UID: uidA, PowerOptions: test.options})
			if err != nil || len(told) < 2 || told[0] != string(test.verb)+" VM 10000 on pve1" {
				t.Errorf("got %v, told %q", err, told)
			}
		})
	}
}

// TestCommandRefuses holds that a command which does not fit makes no call that
// changes something, and says whether it ever would.
func TestCommandRefuses(t *testing.T) {
	t.Parallel()

	template := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "template", "1"))
	inError := on(statusCall).data200(map[string]any{
		"vmid": 10000, "status": "running", "qmpstatus": "running", "ha": map[string]any{"managed": 1, "state": "error"},
	})
	tests := map[string]struct {
		verb    PowerVerb
		foreign bool
		never   bool
		steps   []step
		says    string
	}{
		"reboot a stopped":        {VerbReboot, false, false, steps(found(oursHere), now("stopped")), "VM 10000 does not run"},
		"reboot a paused":         {VerbReboot, false, false, steps(found(oursHere), now("paused")), "hears nothing"},
		"reboot what HA gave up":  {VerbReboot, false, false, steps(found(oursHere), inError), "error state"},
		"pause a stopped":         {VerbPause, false, false, steps(found(oursHere), now("stopped")), "does not run"},
		"resume a running":        {VerbResume, false, false, steps(found(oursHere), now("running")), "is not paused"},
		"shut a paused down":      {VerbShutdown, false, false, steps(found(oursHere), now("paused")), "hears nothing"},
		"start a template":        {VerbStart, false, true, found(template), "is a template, which never runs"},
		"pause a stranger":        {VerbPause, true, true, nil, "started, stopped and shut down, and nothing else"},
		"resume a stranger":       {VerbResume, true, true, nil, "nothing else"},
		"reboot a stranger":       {VerbReboot, true, true, nil, "nothing else"},
		"start a paused stranger": {VerbStart, true, false, steps(found(foreignHere), now("paused")), "is paused, and nobody else's VM is resumed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, test.steps...)
			c.options.FenceScope.VMIDs = []int{10000}
			err := c.Command(t.Context(), PowerCommand{Verb: test.verb, VMID: 10000, Foreign: test.foreign})
			var unfit *UnfitError
			if !errors.As(err, &unfit) || unfit.Never != test.never || unfit.Command != string(test.verb) || !strings.Contains(unfit.Reason, test.says) {
				t.Fatalf("got %v, want a refusal that says %q", err, test.says)
			}
			if when := map[bool]string{true: "never", false: "not yet"}[test.never]; !strings.Contains(err.Error(), when) {
				t.Errorf("%q does not say %q", err, when)
			}
		})
	}
}

// TestCommandAsksTheGate: whose VM it is is asked before its state.
func TestCommandAsksTheGate(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		command PowerCommand
		steps   []step
		want    Standing
	}{
		"a stranger":               {PowerCommand{Verb: VerbStop, VMID: 10000}, found(foreignHere), Stranger},
		"ours, with another uid":   {PowerCommand{Verb: VerbStop, VMID: 10000, UID: uidB}, found(oursHere), Stranger},
		"out of range":             {PowerCommand{Verb: VerbStop, VMID: 9999}, nil, OutOfRange},
		"gone, in the fence scope": {PowerCommand{Verb: VerbStop, VMID: 10000, Foreign: true}, steps(on(listGuests).data200(nil), on(proveAbsence).data200("10000")), Gone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, test.steps...)
			c.options.FenceScope.VMIDs = []int{10000}
			var refused *OwnershipError
			if err := c.Command(t.Context(), test.command); !errors.As(err, &refused) || refused.Standing != test.want {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	err := script(t).Command(t.Context(), PowerCommand{Verb: VerbStop, VMID: 10000, Foreign: true})
	if !errors.Is(err, ErrFenceScope) {
		t.Errorf("a stranger outside the fence scope: %v", err)
	}
}

// TestCommandOfAStranger: a VM in the fence scope is started, stopped and shut
// down, each with a new permission where PVE's refusal passes.
func TestCommandOfAStranger(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		verb  PowerVerb
		steps []step
	}{
		"start":           {VerbStart, steps(now("stopped"), ends(start, qmstart), now("running"))},
		"start a running": {VerbStart, steps(now("running"), alreadyUp, now("running"))},
		"stop":            {VerbStop, steps(now("running"), ends(stop, stopUPID), now("stopped"))},
		"shut down": {VerbShutdown, steps(now("running"), on(shutdown).with("timeout", "60").with("forceStop", "1").data200(shutdownUPID),
			taskSteps(shutdownUPID, "OK"), now("stopped"))},
		"start, locked": {VerbStart, steps(now("stopped"), on(start).data200(qmstart), taskSteps(qmstart, "VM is locked (backup)"),
			found(foreignHere), ends(start, qmstart), now("running"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, steps(found(foreignHere), test.steps)...)
			c.options.FenceScope.VMIDs = []int{10000}
			err := c.Command(t.Context(), PowerCommand{
				Verb: test.verb, VMID: 10000, Foreign: true, PowerOptions: PowerOptions{ShutdownTimeout: time.Minute, ForceStop: true},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCommandFails: an error is told as it is, and nothing is asked after it.
func TestCommandFails(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		steps   []step
		foreign bool
		says    string
	}{
		"no state":       {steps(found(oursHere), on(statusCall).fail(500, "no such qmp")), false, "no such qmp"},
		"the task fails": {steps(found(oursHere), now("stopped"), on(start).data200(qmstart), taskSteps(qmstart, "out of memory")), false, "out of memory"},
		"the task fails, foreign": {
			steps(found(foreignHere), now("stopped"), on(start).data200(qmstart), taskSteps(qmstart, "out of memory")), true, "out of memory",
		},
		"no state after it": {steps(found(oursHere), now("stopped"), ends(start, qmstart), on(statusCall).fail(500, "no such qmp")), false, "no such qmp"},
		"gone before the second try": {
			steps(found(foreignHere), now("stopped"), on(start).fail(500, "VM is locked (backup)"),
				on(listGuests).data200(nil), on(proveAbsence).data200("10000")), true, "does not exist any more",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, test.steps...)
			c.options.FenceScope.VMIDs = []int{10000}
			err := c.Command(t.Context(), PowerCommand{Verb: VerbStart, VMID: 10000, Foreign: test.foreign})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

// TestCommandGivesUpWithItsContext: what was asked for and does not show is no
// success.
func TestCommandGivesUpWithItsContext(t *testing.T) {
	t.Parallel()

	c := script(t, steps(found(oursHere), now("running"), ends(stop, stopUPID), now("running"))...)
	err := c.Command(tire(t, c), PowerCommand{Verb: VerbStop, VMID: 10000})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "VM 10000 is running after stop") {
		t.Errorf("got %v", err)
	}
	c = script(t, steps(found(foreignHere), now("stopped"), on(start).fail(500, "VM is locked (backup)"))...)
	c.options.FenceScope.VMIDs = []int{10000}
	err = c.Command(tire(t, c), PowerCommand{Verb: VerbStart, VMID: 10000, Foreign: true})
	if !errors.Is(err, context.Canceled) || !IsLocked(err) {
		t.Errorf("while it is locked: %v", err)
	}
}
