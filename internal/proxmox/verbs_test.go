package proxmox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	put    = "PUT /nodes/pve1/qemu/10000/config"
	resize = "PUT /nodes/pve1/qemu/10000/resize"
	start  = "POST /nodes/pve1/qemu/10000/status/start"
)

func fixed(u ConfigUpdate) func(*GuestConfig) (ConfigUpdate, error) {
	return func(*GuestConfig) (ConfigUpdate, error) { return u, nil }
}

func TestConfigure(t *testing.T) {
	t.Parallel()

	ours := Marker{UID: uidA, VMID: 10000}
	changed := on(readGuest).data200(configOf(ours, "digest", "d2", "cores", "8"))
	ok := on(put).with("digest", "d1").with("cores", "2")
	tests := map[string][]step{
		"two calls":                  steps(oursHere, ok),
		"somebody was faster":        steps(oursHere, ok.fail(500, "checksum mismatch (file change by other user?)"), changed, on(put).with("digest", "d2").with("cores", "9")),
		"lock file held":             steps(oursHere, ok.fail(500, "can't lock file '/x' - got timeout"), oursHere, ok),
		"being backed up":            steps(oursHere, ok.fail(500, "VM is locked (backup)"), oursHere, ok),
		"answer lost":                steps(oursHere, ok.cut(), changed, on(put).with("digest", "d2").with("cores", "9")),
		"not reached by PVE's proxy": steps(oursHere, ok.fail(595, "No route to host"), oursHere, ok),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := script(t, list...).Configure(t.Context(), ourGuest(), nil, func(c *GuestConfig) (ConfigUpdate, error) {
				cores := "2"
				if c.Get("cores") != "" {
					cores = "9"
				}
				return ConfigUpdate{Set: map[string]string{"cores": cores}}, nil
			})
			if err != nil || read == nil || read.VMID != 10000 {
				t.Errorf("got %v, %v", read, err)
			}
		})
	}
}

func TestConfigureUsesThePermissionAtHand(t *testing.T) {
	t.Parallel()

	c := script(t, oursHere, on(put).with("digest", "d1"), oursHere, on(put))
	own, err := c.Gate.Own(t.Context(), ourGuest())
	if err != nil {
		t.Fatal(err)
	}
	update := ConfigUpdate{Set: map[string]string{"cores": "2"}}
	if _, err := c.Configure(t.Context(), ourGuest(), own, fixed(update)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Configure(t.Context(), ourGuest(), own, fixed(update)); !errors.Is(err, ErrPermissionSpent) {
		t.Errorf("a spent permission: %v", err)
	}
	// One that the gate did not grant is as good as none: the gate is asked.
	if _, err := c.Configure(t.Context(), ourGuest(), &Owned{}, fixed(update)); err != nil {
		t.Errorf("no permission: %v", err)
	}
}

func TestConfigureMakesNoCallWithoutAChange(t *testing.T) {
	t.Parallel()

	read, err := script(t, oursHere).Configure(t.Context(), ourGuest(), nil, fixed(ConfigUpdate{}))
	if err != nil || read.Digest != "d1" {
		t.Errorf("got %v, %v", read, err)
	}
	refusal := errors.New("no such slot")
	_, err = script(t, oursHere).Configure(t.Context(), ourGuest(), nil,
		func(*GuestConfig) (ConfigUpdate, error) { return ConfigUpdate{}, refusal })
	if !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
}

// TestConfigureRevertsWhatARefusalLeft: PVE keeps a change pending that it
// could not make on a running guest.
func TestConfigureRevertsWhatARefusalLeft(t *testing.T) {
	t.Parallel()

	ours := configOf(Marker{UID: uidA, VMID: 10000})
	before := append(configOf(Marker{UID: uidA, VMID: 10000}), map[string]any{"key": "vga", "value": "std", "pending": "qxl"})
	after := append(slices.Clone(before), map[string]any{"key": "net1", "pending": "virtio,bridge=nope"})
	refused := on(put).with("net1", "virtio,bridge=nope").fail(400, "hotplug problem - bridge 'nope' does not exist")
	update := ConfigUpdate{Set: map[string]string{"net1": "virtio,bridge=nope", "vga": "qxl"}}
	tests := map[string][]step{
		"reverted":        steps(on(readGuest).data200(before), refused, on(readGuest).data200(after), on(put).with("revert", "net1")),
		"nothing is left": steps(on(readGuest).data200(ours), refused, on(readGuest).data200(ours)),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, list...).Configure(t.Context(), ourGuest(), nil, fixed(update))
			if err == nil || !strings.Contains(err.Error(), "hotplug problem") || strings.Contains(err.Error(), "stays pending") {
				t.Errorf("got %v", err)
			}
		})
	}
	failing := script(t, steps(on(readGuest).data200(before), refused, on(readGuest).data200(after), on(put).fail(403, "no"))...)
	if _, err := failing.Configure(t.Context(), ourGuest(), nil, fixed(update)); err == nil || !strings.Contains(err.Error(), "stays pending ([net1])") {
		t.Errorf("a revert that fails too: %v", err)
	}
}

// TestVerbsAskTheGate: no verb makes its call on a guest that is not ours.
func TestVerbsAskTheGate(t *testing.T) {
	t.Parallel()

	guest := ourGuest()
	update := ConfigUpdate{Set: map[string]string{"cores": "2"}}
	verbs := map[string]func(context.Context, *Client) error{
		"configure": func(ctx context.Context, c *Client) error {
			_, err := c.Configure(ctx, guest, nil, fixed(update))
			return err
		},
		"grow": func(ctx context.Context, c *Client) error {
			_, err := c.Grow(ctx, guest, nil, "scsi0", 4<<30, nil)
			return err
		},
		"regenerate": func(ctx context.Context, c *Client) error { return c.RegenerateCloudInit(ctx, guest, nil) },
		"start": func(ctx context.Context, c *Client) error {
			_, err := c.Power(ctx, guest, nil, PowerRunning, PowerOptions{})
			return err
		},
		"stop": func(ctx context.Context, c *Client) error {
			_, err := c.Power(ctx, guest, nil, PowerStopped, PowerOptions{})
			return err
		},
		"pause": func(ctx context.Context, c *Client) error {
			_, err := c.Power(ctx, guest, nil, PowerPaused, PowerOptions{})
			return err
		},
		"reboot": func(ctx context.Context, c *Client) error {
			_, err := c.Reboot(ctx, guest, nil, PowerOptions{})
			return err
		},
	}
	damaged := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "description", ""))
	for name, verb := range verbs {
		for _, found := range []step{strangerHere, damaged} {
			var refused *OwnershipError
			if err := verb(t.Context(), script(t, found)); !errors.As(err, &refused) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestGrow(t *testing.T) {
	t.Parallel()

	upid := upidOf("resize", "10000")
	grown := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "scsi0", "local:10000/vm-10000-disk-0.qcow2,size=4G"))
	call := on(resize).with("disk", "scsi0").with("size", "4G").with("digest", "d1")
	tests := map[string]struct {
		slot  string
		steps []step
		want  string
	}{
		"grows":            {"scsi0", steps(oursHere, call.data200(upid), taskSteps(upid, "OK")), ""},
		"is large enough":  {"scsi0", steps(grown), ""},
		"answer lost":      {"scsi0", steps(oursHere, call.cut(), grown), ""},
		"somebody changed": {"scsi0", steps(oursHere, call.data200(upid), taskSteps(upid, "checksum mismatch (file change by other user?)"), grown), ""},
		"never shrinks": {
			"scsi0", steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "scsi0", "local:1/x.raw,size=8G"))), "never shrink",
		},
		"no such disk": {"scsi1", steps(oursHere), "no volume scsi1"},
		"a cdrom": {
			"ide2", steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "ide2", "local:iso/x.iso,media=cdrom,size=1G"))), "no volume ide2",
		},
		"task fails": {"scsi0", steps(oursHere, call.data200(upid), taskSteps(upid, "lvextend failed")), "lvextend failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, test.steps...).Grow(t.Context(), ourGuest(), nil, test.slot, 4<<30, nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestPower(t *testing.T) {
	t.Parallel()

	startUPID, resumeUPID, suspendUPID := upidOf("qmstart", "10000"), upidOf("qmresume", "10000"), upidOf("qmsuspend", "10000")
	const resume, suspend = "POST /nodes/pve1/qemu/10000/status/resume", "POST /nodes/pve1/qemu/10000/status/suspend"
	already := steps(oursHere, on(start).data200(startUPID), taskSteps(startUPID, "VM 10000 already running"))
	status := func(qmp, status string) step {
		return on("GET /nodes/pve1/qemu/10000/status/current").data200(map[string]any{"vmid": 10000, "status": status, "qmpstatus": qmp})
	}
	tests := map[string]struct {
		want    PowerState
		options PowerOptions
		steps   []step
	}{
		"start":           {PowerRunning, PowerOptions{}, steps(oursHere, ends(start, startUPID))},
		"start a running": {PowerRunning, PowerOptions{}, steps(already, status("running", "running"))},
		"start a paused":  {PowerRunning, PowerOptions{}, steps(already, status("paused", "running"), oursHere, ends(resume, resumeUPID))},
		"start, lost":     {PowerRunning, PowerOptions{}, steps(oursHere, on(start).cut(), already, status("running", "running"))},
		"start, locked":   {PowerRunning, PowerOptions{}, steps(oursHere, on(start).data200(startUPID), taskSteps(startUPID, "VM is locked (backup)"), oursHere, ends(start, startUPID))},
		"stop":            {PowerStopped, PowerOptions{}, steps(oursHere, ends(stop, stopUPID))},
		"shut down":       {PowerStopped, PowerOptions{ShutdownTimeout: time.Minute}, steps(oursHere, on(shutdown).with("timeout", "60").data200(shutdownUPID), taskSteps(shutdownUPID, "OK"))},
		"pause":           {PowerPaused, PowerOptions{}, steps(oursHere, status("running", "running"), oursHere, ends(suspend, suspendUPID))},
		"pause a paused":  {PowerPaused, PowerOptions{}, steps(oursHere, status("paused", "running"))},
		"pause a stopped": {PowerPaused, PowerOptions{}, steps(oursHere, status("stopped", "stopped"), ends(start, startUPID), oursHere, ends(suspend, suspendUPID))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := script(t, test.steps...).Power(t.Context(), ourGuest(), nil, test.want, test.options)
			if err != nil || read.VMID != 10000 {
				t.Errorf("got %v, %v", read, err)
			}
		})
	}
}

func TestVerbsGiveUpWithTheirContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	c := script(t, oursHere, on(put).fail(500, "VM is locked (backup)"), oursHere, on(put).fail(500, "VM is locked (backup)").and(cancel))
	_, err := c.Configure(ctx, ourGuest(), nil, fixed(ConfigUpdate{Set: map[string]string{"cores": "2"}}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
}
