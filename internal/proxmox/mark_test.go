package proxmox

import (
	"context"
	"errors"
	"testing"
)

// TestMark: the marker is written into a guest that is known to be ours, and
// into no other one.
func TestMark(t *testing.T) {
	t.Parallel()

	bare := on(readGuest).data200(configOf(Marker{}, "description", "hello"))
	marks := on(put).with("digest", "d1").with("description", "hello\n\n"+Marker{UID: uidA, VMID: 10000}.String())
	for name, list := range map[string][]step{
		"it is written":       steps(bare, marks),
		"it is there":         steps(oursHere),
		"locked":              steps(bare, marks.fail(500, "VM is locked (backup)"), bare, marks),
		"somebody was faster": steps(bare, marks.fail(500, "checksum mismatch (file change by other user?)"), bare, marks),
		"lost, and done":      steps(bare, marks.cut(), oursHere),
		"lost, and not done":  steps(bare, marks.cut(), bare, marks),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := script(t, list...).Mark(t.Context(), ourGuest()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMarkRefuses(t *testing.T) {
	t.Parallel()

	bare := on(readGuest).data200(configOf(Marker{}, "description", "hello"))
	unknown := ourGuest()
	unknown.SMBIOSUUID, unknown.CTime = "", 0
	outside := ourGuest()
	outside.VMID = 9999
	for name, test := range map[string]struct {
		guest Guest
		steps []step
		want  Standing
	}{
		"another's marker":      {ourGuest(), steps(strangerHere), Stranger},
		"another machine":       {ourGuest(), steps(on(readGuest).data200(configOf(Marker{}, "description", "", "smbios1", "uuid="+uidB))), Stranger},
		"one that we never saw": {unknown, steps(bare), Stranger},
		"unfinished":            {ourGuest(), steps(on(readGuest).data200(configOf(creating))), Unfinished},
		"gone":                  {ourGuest(), goneNow, Gone},
		"out of range":          {outside, nil, OutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refused *OwnershipError
			if err := script(t, test.steps...).Mark(t.Context(), test.guest); !errors.As(err, &refused) || refused.Standing != test.want {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	template := on(readGuest).data200(configOf(Marker{}, "description", "", "template", "1"))
	if err := script(t, template).Mark(t.Context(), ourGuest()); !errors.Is(err, errTemplate) {
		t.Errorf("a template: %v", err)
	}
	if err := script(t, bare, on(put).fail(403, "Permission check failed (/vms/10000, VM.Config.Options)")).Mark(t.Context(), ourGuest()); !IsPermission(err) {
		t.Errorf("a refusal: %v", err)
	}
	if err := script(t, on(readGuest).fail(500, "no such thing")).Mark(t.Context(), ourGuest()); err == nil {
		t.Error("what cannot be read is marked")
	}
	c := script(t, bare, on(put).fail(500, "VM is locked (backup)"))
	if err := c.Mark(tire(t, c), ourGuest()); !errors.Is(err, context.Canceled) || !IsLocked(err) {
		t.Errorf("when the context ends: %v", err)
	}
}
