package proxmox

import (
	"errors"
	"testing"
)

// TestCreateCloneOfATokenThatSeesAll: the list that found the template is the
// only one. Where it shows a stub, the running clones are asked for.
func TestCreateCloneOfATokenThatSeesAll(t *testing.T) {
	t.Parallel()

	const read5 = "GET /nodes/pve1/qemu/10005/pending"
	all := on(permissions).data200(map[string]any{"/": map[string]any{"VM.Audit": 1}})
	ends := steps(begins("10006"), taskSteps(cloneUPID, "OK"),
		on("GET /nodes/pve1/qemu/10006/pending").data200(configOf(markerOf(10006))))
	stub, unfinished := vmResource(10005, "pve1", ""), configOf(Marker{UID: uidB, VMID: 10005, Creating: true})
	tests := map[string]struct {
		steps      []step
		unfinished bool
	}{
		"nothing in the way": {
			steps(on(listGuests).data200([]any{vmResource(10005, "pve1", "x")}), all, ends), false,
		},
		"an unfinished guest": {
			steps(on(listGuests).data200([]any{vmResource(10005, "pve1", "web")}), all, on(read5).data200(unfinished)), true,
		},
		"a stub that becomes it": {
			steps(on(listGuests).data200([]any{stub}), all, on(read5).data200(stubConfig()), still(stub), on(read5).data200(unfinished)), true,
		},
		"a stub that nobody works on": {
			steps(on(listGuests).data200([]any{stub}), all, on(read5).data200(stubConfig()), still(stub), on(read5).data200(stubConfig()), ends), false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, test.steps...)
			if _, err := c.View.Guests(t.Context()); err != nil {
				t.Fatal(err)
			}
			created, err := c.CreateClone(t.Context(), webSpec())
			var found *UnfinishedError
			if errors.As(err, &found) != test.unfinished || !test.unfinished && created.Guest.VMID != 10006 {
				t.Errorf("got %+v, %v", created.Guest, err)
			}
		})
	}
}
