package proxmox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const ctAt = "/nodes/pve1/lxc/10000/status/"

var (
	ctListed = on(listGuests).data200([]any{map[string]any{"type": "lxc", "vmid": 10000, "node": "pve1", "name": "db"}})
	ctOurs   = on(ctConfigCall).data200(pendingOf(map[string]string{
		"hostname": "db", "description": Marker{UID: uidA, VMID: 10000}.String() + "\n", "digest": "d1",
		"net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,type=veth",
	}))
	ctForeign = on(ctConfigCall).data200(pendingOf(map[string]string{"hostname": "db", "digest": "d1"}))
)

func ctNow(status string) step {
	return on("GET " + ctAt + "current").data200(map[string]any{"vmid": 10000, "status": status})
}

func TestCommandContainer(t *testing.T) {
	t.Parallel()

	upid := upidOf("vzx", "10000")
	found := func(status string) []step { return steps(ctListed, ctOurs, ctNow(status), ctOurs) }
	tests := map[string]struct {
		verb  PowerVerb
		steps []step
	}{
		"start":             {VerbStart, steps(found("stopped"), ends("POST "+ctAt+"start", upid), ctNow("running"))},
		"start a running":   {VerbStart, steps(found("running"), on("POST "+ctAt+"start").fail(500, "CT 10000 already running"), ctNow("running"))},
		"HA takes its time": {VerbStart, steps(found("stopped"), ends("POST "+ctAt+"start", upid), ctNow("stopped"), ctNow("running"))},
		"stop asks nobody":  {VerbStop, steps(found("running"), ends("POST "+ctAt+"stop", upid), ctNow("stopped"))},
		"stop a stopped":    {VerbStop, steps(found("stopped"), on("POST "+ctAt+"stop").fail(500, "CT 10000 not running"), ctNow("stopped"))},
		"shut down": {VerbShutdown, steps(found("running"), on("POST "+ctAt+"shutdown").with("timeout", "60").with("forceStop", "").data200(upid),
			taskSteps(upid, "OK"), ctNow("stopped"))},
		"reboot": {VerbReboot, steps(found("running"), ends("POST "+ctAt+"reboot", upid), ctNow("running"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			err := script(t, test.steps...).CommandContainer(t.Context(), PowerCommand{
				Verb: test.verb, VMID: 10000, UID: uidA,
				PowerOptions: PowerOptions{ShutdownTimeout: time.Minute, Progress: func(line string) { told = append(told, line) }},
			})
			if err != nil || !slices.Contains(told, string(test.verb)+" container 10000 on pve1") {
				t.Errorf("got %v, told %q", err, told)
			}
		})
	}
}

func TestCommandContainerRefuses(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		verb  PowerVerb
		steps []step
		says  string
	}{
		"pause":            {VerbPause, nil, ErrNoPause.Error()},
		"resume":           {VerbResume, nil, ErrNoPause.Error()},
		"reboot a stopped": {VerbReboot, steps(ctListed, ctOurs, ctNow("stopped")), "container 10000 does not run"},
	} {
		var unfit *UnfitError
		err := script(t, test.steps...).CommandContainer(t.Context(), PowerCommand{Verb: test.verb, VMID: 10000})
		if !errors.As(err, &unfit) || unfit.Command != string(test.verb) || !strings.Contains(unfit.Reason, test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, test := range map[string]struct {
		command PowerCommand
		steps   []step
		want    Standing
	}{
		"a stranger":      {PowerCommand{Verb: VerbStop, VMID: 10000}, steps(ctListed, ctForeign), Stranger},
		"another's":       {PowerCommand{Verb: VerbStop, VMID: 10000, UID: uidB}, steps(ctListed, ctOurs), Stranger},
		"a VM's id":       {PowerCommand{Verb: VerbStop, VMID: 10000}, steps(on(listGuests).data200([]any{vmResource(10000, "pve1", "web")})), Stranger},
		"out of range":    {PowerCommand{Verb: VerbStop, VMID: 9999}, nil, OutOfRange},
		"in no scope too": {PowerCommand{Verb: VerbStop, VMID: 9999, Foreign: true}, nil, OutOfRange},
	} {
		var refused *OwnershipError
		err := script(t, test.steps...).CommandContainer(t.Context(), test.command)
		if !errors.As(err, &refused) || refused.Standing != test.want {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestCommandContainerFails(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		steps []step
		says  string
	}{
		"no state":          {steps(ctListed, ctOurs, on("GET "+ctAt+"current").fail(500, "no cgroup")), "no cgroup"},
		"the call":          {steps(ctListed, ctOurs, ctNow("running"), ctOurs, on("POST "+ctAt+"stop").fail(500, "no such cgroup")), "no such cgroup"},
		"no state after it": {steps(ctListed, ctOurs, ctNow("running"), ctOurs, ends("POST "+ctAt+"stop", upidOf("vzstop", "10000")), on("GET "+ctAt+"current").fail(500, "no cgroup")), "no cgroup"},
	} {
		err := script(t, test.steps...).CommandContainer(t.Context(), PowerCommand{Verb: VerbStop, VMID: 10000})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := script(t, steps(ctListed, ctOurs, ctNow("running"), ctOurs, ends("POST "+ctAt+"stop", upidOf("vzstop", "10000")), ctNow("running"))...)
	err := c.CommandContainer(tire(t, c), PowerCommand{Verb: VerbStop, VMID: 10000})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "container 10000 on pve1 is running after stop") {
		t.Errorf("what does not show: %v", err)
	}
}
