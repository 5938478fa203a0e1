package proxmox

import (
	"strings"
	"testing"
)

// TestComplete: one read of the gate covers the start and the last write, and
// nothing but the marker's " creating" goes with that.
func TestComplete(t *testing.T) {
	t.Parallel()

	running := upidOf("qmstart", "10000")
	unfinished := on(readGuest).data200(configOf(creating, "description", "hello\n\n"+creating.String()))
	finished := "hello\n\n" + strings.TrimSuffix(creating.String(), " creating")
	started := steps(unfinished, on(start).data200(running), taskSteps(running, "OK"))
	last := on(put).with("digest", "d1").with("description", finished)
	done := on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "digest", "d2"))
	tests := map[string][]step{
		"one read": steps(started, last),
		"somebody changed it while it was waited for": steps(started, last.fail(500, "checksum mismatch (file change by other user?)"),
			on(readGuest).data200(configOf(creating, "description", "hi\n\n"+creating.String(), "digest", "d3")),
			on(put).with("digest", "d3").with("description", strings.Replace(finished, "hello", "hi", 1))),
		"lock file held":                  steps(started, last.fail(500, "can't lock file '/x' - got timeout"), unfinished, last),
		"answer lost, and it took effect": steps(started, last.cut(), done),
		"answer lost, and it did not":     steps(started, last.cut(), unfinished, last),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, list...)
			completion, err := c.StartNew(t.Context(), ourGuest(), nil, PowerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Complete(t.Context(), ourGuest(), completion); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCompleteWithoutAStart asks the gate, as does a completion that was used.
func TestCompleteWithoutAStart(t *testing.T) {
	t.Parallel()

	c := script(t, on(readGuest).data200(configOf(creating)), on(put).with("digest", "d1"))
	if _, err := c.Complete(t.Context(), ourGuest(), nil); err != nil {
		t.Error(err)
	}
	c = script(t, on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000, Creating: true})))
	if _, err := c.Complete(t.Context(), ourGuest(), nil); err == nil {
		t.Error("a stranger's creation was completed")
	}
}
