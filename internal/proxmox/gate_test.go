package proxmox

import (
	"errors"
	"strings"
	"testing"
)

func TestGateOwn(t *testing.T) {
	t.Parallel()

	ours := Marker{UID: uidA, VMID: 10000}
	moved := []map[string]any{vmResource(10000, "pve2", "web")}
	here := []map[string]any{vmResource(10000, "pve1", "web")}
	const elsewhere = "GET /nodes/pve2/qemu/10000/pending"
	tests := map[string]struct {
		guest Guest
		steps []step
		want  Standing
		node  string
	}{
		"ours": {ourGuest(), steps(on(readGuest).data200(configOf(ours))), Ours, "pve1"},
		"unfinished": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000, Creating: true}))), Unfinished, "pve1",
		},
		"renamed, description edited": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(ours, "name", "other", "description", ours.String()+"\nedited"))), Ours, "pve1",
		},
		"migrated": {
			ourGuest(),
			steps(on(readGuest).fail(500, notHere), on(listGuests).data200(moved), on(elsewhere).data200(configOf(ours))), Ours, "pve2",
		},
		"recovered from a dead node": {
			ourGuest(),
			steps(on(readGuest).fail(595, "No route to host"), on(listGuests).data200(moved), on(elsewhere).data200(configOf(ours))), Ours, "pve2",
		},
		"node unknown": {
			Guest{VMID: 10000, UID: uidA},
			steps(on(listGuests).data200(moved), on(elsewhere).data200(configOf(ours))), Ours, "pve2",
		},
		"migrated twice while it is looked for": {
			ourGuest(),
			steps(on(readGuest).fail(500, notHere), on(listGuests).data200(moved),
				on(elsewhere).fail(500, "Configuration file 'nodes/pve2/qemu-server/10000.conf' does not exist"),
				on(listGuests).data200(here), on(readGuest).data200(configOf(ours))), Ours, "pve1",
		},
		"list behind the migration": {
			ourGuest(),
			steps(on(readGuest).fail(500, notHere), on(listGuests).data200(here), takenStep(),
				on(readGuest).fail(500, notHere), on(listGuests).data200(moved), on(elsewhere).data200(configOf(ours))), Ours, "pve2",
		},
		"marker deleted": {ourGuest(), steps(on(readGuest).data200(configOf(ours, "description", "hello"))), Damaged, "pve1"},
		"marker doubled": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(ours, "description", ours.String()+"\n"+ours.String()))), Damaged, "pve1",
		},
		"marker deleted, another machine": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(ours, "description", "", "smbios1", "uuid="+uidB))), Stranger, "pve1",
		},
		"marker deleted, another creation": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(ours, "description", "", "meta", "ctime=1"))), Stranger, "pve1",
		},
		"marker deleted, never seen complete": {
			Guest{VMID: 10000, Node: "pve1", UID: uidA},
			steps(on(readGuest).data200(configOf(ours, "description", ""))), Stranger, "pve1",
		},
		"another uid on the same machine": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(Marker{UID: uidB, VMID: 10000}))), Stranger, "pve1",
		},
		"a clone made by hand": {
			ourGuest(),
			steps(on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 105}, "smbios1", "uuid="+uidB))), Stranger, "pve1",
		},
		"no uid is nobody's uid": {
			Guest{VMID: 10000, Node: "pve1"},
			steps(on(readGuest).data200(configOf(ours))), Stranger, "pve1",
		},
		"stub of our clone": {
			Guest{VMID: 10000, Node: "pve1", UID: uidA},
			steps(on(readGuest).data200(stubConfig())), Stub, "pve1",
		},
		"stub of another's clone": {ourGuest(), steps(on(readGuest).data200(stubConfig())), Stranger, "pve1"},
		"being destroyed": {
			ourGuest(),
			steps(on(readGuest).data200(pendingOf(map[string]string{"lock": "destroyed"}))), Stub, "pve1",
		},
		"deleted": {
			ourGuest(),
			steps(on(readGuest).fail(500, notHere), on(listGuests).data200(nil), on(proveAbsence).data200("10000")), Gone, "",
		},
		"deleted, rights through a pool": {
			ourGuest(),
			steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), on(proveAbsence).data200("10000")), Gone, "",
		},
		"taken out of the pool": {
			ourGuest(),
			steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), takenStep()), Unreadable, "",
		},
		"listed but not to be read": {
			ourGuest(),
			steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(here), takenStep()), Unreadable, "",
		},
		"node down": {
			ourGuest(),
			steps(on(readGuest).fail(595, "No route to host"), on(listGuests).data200(here)), Unreachable, "pve1",
		},
		"node down, guest hidden": {
			ourGuest(),
			steps(on(readGuest).fail(595, "No route to host"), on(listGuests).data200(nil), takenStep()), Unreachable, "pve1",
		},
		"node down, guest deleted": {
			ourGuest(),
			steps(on(readGuest).fail(595, "No route to host"), on(listGuests).data200(nil), on(proveAbsence).data200("10000")), Gone, "",
		},
		"a container now": {
			ourGuest(),
			steps(on(readGuest).fail(500, notHere),
				on(listGuests).data200([]map[string]any{{"type": "lxc", "vmid": 10000, "node": "pve1"}})), Stranger, "pve1",
		},
		"out of range": {Guest{VMID: 9999, Node: "pve1", UID: uidA}, nil, OutOfRange, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := script(t, test.steps...)
			own, err := c.Gate.Own(t.Context(), test.guest)
			if test.want.Owned() {
				if err != nil {
					t.Fatal(err)
				}
				if own.Node() != test.node || own.VMID() != 10000 || own.Config().Digest != "d1" {
					t.Errorf("permission for %d on %s with digest %q", own.VMID(), own.Node(), own.Config().Digest)
				}
				return
			}
			var refused *OwnershipError
			if own != nil || !errors.As(err, &refused) {
				t.Fatalf("got %v, %v; want a refusal", own, err)
			}
			if refused.Standing != test.want || refused.Node != test.node || refused.VMID != test.guest.VMID {
				t.Errorf("got %s of %d on %q (%v), want %s on %q", refused.Standing, refused.VMID, refused.Node, err, test.want, test.node)
			}
		})
	}
}

func TestGateOwnTellsNothingAfterAnError(t *testing.T) {
	t.Parallel()

	tests := map[string][]step{
		"unexpected answer": steps(on(readGuest).fail(500, "something else")),
		"list fails":        steps(on(readGuest).fail(500, notHere), on(listGuests).fail(500, "got timeout")),
		"proof fails":       steps(on(readGuest).fail(403, noAudit), on(listGuests).data200(nil), on(proveAbsence).fail(596, "Broken pipe")),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, err := script(t, list...).Gate.Own(t.Context(), ourGuest())
			var refused *OwnershipError
			if own != nil || err == nil || errors.As(err, &refused) {
				t.Errorf("got %v, %v; want an error that says nothing of the guest", own, err)
			}
		})
	}
}

func TestGateOwnsNothingWithoutARange(t *testing.T) {
	t.Parallel()

	c := script(t)
	c.options.VMIDRange = VMIDRange{}
	if own, err := c.Gate.Own(t.Context(), ourGuest()); own != nil || !errors.Is(err, ErrNoRange) {
		t.Errorf("got %v, %v; want %v", own, err, ErrNoRange)
	}
}

func TestPermissionsAreSingleUse(t *testing.T) {
	t.Parallel()

	const put = "PUT /nodes/pve1/qemu/10000/config"
	c := script(t, on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000})), on(put).with("digest", "d1").with("cores", "2"))
	own, err := c.Gate.Own(t.Context(), ourGuest())
	if err != nil {
		t.Fatal(err)
	}
	update := ConfigUpdate{Set: map[string]string{"cores": "2"}}
	if err := c.VMs.Update(t.Context(), own, update); err != nil {
		t.Fatal(err)
	}
	if err := c.VMs.Update(t.Context(), own, update); !errors.Is(err, ErrPermissionSpent) {
		t.Errorf("second use: %v", err)
	}
	if _, err := c.VMs.Stop(t.Context(), own); !errors.Is(err, ErrPermissionSpent) {
		t.Errorf("use for another call: %v", err)
	}
	if _, err := c.VMs.Delete(t.Context(), nil, DeleteOptions{}); !errors.Is(err, ErrNoPermission) {
		t.Errorf("no permission: %v", err)
	}
	if _, err := c.VMs.Start(t.Context(), &Owned{}); !errors.Is(err, ErrNoPermission) {
		t.Errorf("a permission that the gate did not grant: %v", err)
	}
	if _, err := c.VMs.Stop(t.Context(), &FenceTarget{}); !errors.Is(err, ErrNoPermission) {
		t.Errorf("a fence that the gate did not grant: %v", err)
	}
	if _, err := c.Gate.FenceTarget(t.Context(), Guest{VMID: 10000}); !errors.Is(err, ErrFenceScope) {
		t.Errorf("fence without a scope: %v", err)
	}
}

func TestOwnershipErrorNamesWhatToDo(t *testing.T) {
	t.Parallel()

	for standing := Ours; standing <= OutOfRange; standing++ {
		err := &OwnershipError{Standing: standing, VMID: 10000, Node: "pve1", UID: uidA, Detail: "what was seen"}
		text := err.Error()
		for _, part := range []string{"VM 10000 on pve1", "(what was seen)"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q lacks %q", standing, text, part)
			}
		}
		if standing == Damaged && !strings.Contains(text, Marker{UID: uidA, VMID: 10000}.String()) {
			t.Errorf("%q lacks the line that has to be restored", text)
		}
		if standing == Unreadable && !strings.Contains(text, "VM.Audit") {
			t.Errorf("%q lacks the privilege", text)
		}
	}
}
