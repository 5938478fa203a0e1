package proxmox

import (
	"errors"
	"testing"
)

const ctConfigCall = "GET /nodes/pve1/lxc/10000/pending"

func ctGuest() Guest {
	return Guest{Kind: KindContainer, VMID: 10000, Node: "pve1", UID: uidA}
}

func TestContainersAndVMsAreNotConfused(t *testing.T) {
	t.Parallel()

	t.Run("the id is a VM's now", func(t *testing.T) {
		t.Parallel()
		c := script(t, on(ctConfigCall).fail(500, "Configuration file 'nodes/pve1/lxc/10000.conf' does not exist"),
			on(listGuests).data200([]map[string]any{vmResource(10000, "pve1", "x")}))
		_, err := c.Gate.Own(t.Context(), ctGuest())
		var refused *OwnershipError
		if !errors.As(err, &refused) || refused.Standing != Stranger || refused.Detail != "the id is a VM's now" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the id is a container's now", func(t *testing.T) {
		t.Parallel()
		c := script(t, on(readGuest).fail(500, notHere),
			on(listGuests).data200([]map[string]any{{"type": "lxc", "vmid": 10000, "node": "pve1", "name": "x"}}))
		_, err := c.Gate.Own(t.Context(), ourGuest())
		var refused *OwnershipError
		if !errors.As(err, &refused) || refused.Standing != Stranger || refused.Detail != "the id is a container's now" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a permission is for one kind", func(t *testing.T) {
		t.Parallel()
		c := script(t)
		if _, err := c.Containers.Start(t.Context(), permit(newGuestConfig(KindVM, "pve1", 10000))); !errors.Is(err, ErrWrongKind) {
			t.Errorf("a VM's on a container: %v", err)
		}
		if _, err := c.VMs.Stop(t.Context(), permit(newGuestConfig(KindContainer, "pve1", 10000))); !errors.Is(err, ErrWrongKind) {
			t.Errorf("a container's on a VM: %v", err)
		}
	})
	t.Run("none is paused", func(t *testing.T) {
		t.Parallel()
		if _, err := script(t).Power(t.Context(), ctGuest(), nil, PowerPaused, PowerOptions{}); !errors.Is(err, ErrNoPause) {
			t.Errorf("got %v", err)
		}
	})
}

func TestDamagedContainer(t *testing.T) {
	t.Parallel()

	config := newGuestConfig(KindContainer, "pve1", 10000)
	config.Current["net0"] = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,type=veth"
	guest := ctGuest()
	guest.MACs = config.MACs()
	if s := judge(guest, config); s.standing != Damaged {
		t.Errorf("with its addresses and no marker it is %v", s.standing)
	}
	config.Current["net0"] = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:02,type=veth"
	if s := judge(guest, config); s.standing != Stranger {
		t.Errorf("with other addresses it is %v", s.standing)
	}
}

func TestCreatingMarkerTellsItsSource(t *testing.T) {
	t.Parallel()

	m := Marker{UID: uidA, VMID: 10000, Creating: true, Source: "3f2a91c0"}
	if got, ok := ParseMarker("text\n\n"+m.String()+"\n", 10000); !ok || got != m {
		t.Errorf("%q reads as %+v", m, got)
	}
	for _, tail := range []string{" creatingx", "x creating", " created"} {
		if got, ok := ParseMarker(Marker{UID: uidA, VMID: 10000}.String()+tail, 10000); ok {
			t.Errorf("%q reads as %+v", tail, got)
		}
	}
}

func TestMove(t *testing.T) {
	t.Parallel()

	upid := upidOf("move_volume", "10000")
	c := script(t, steps(
		on("POST /nodes/pve1/lxc/10000/move_volume").with("volume", "mp0").with("target-vmid", "10001").with("target-volume", "mp0").
			with("digest", "a").with("target-digest", "b").data200(upid),
	)...)
	from, to := newGuestConfig(KindContainer, "pve1", 10000), newGuestConfig(KindContainer, "pve1", 10001)
	from.Digest, to.Digest = "a", "b"
	if _, err := c.Containers.Move(t.Context(), permit(from), "mp0", permit(to), "mp0"); err != nil {
		t.Error(err)
	}
}
