package proxmox

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/pvelab"
)

// between does something once, between the reads of one container and another.
type between struct {
	next http.RoundTripper
	vmid int
	do   func()
}

func (b *between) RoundTrip(req *http.Request) (*http.Response, error) {
	if do := b.do; do != nil && strings.Contains(req.URL.Path, "/lxc/"+strconv.Itoa(b.vmid)+"/") {
		b.do = nil
		do()
	}
	return b.next.RoundTrip(req)
}

// pair makes two containers of ours, of which the second has the mount points given.
func pair(t *testing.T, c *Client, mounts map[string]string) (Guest, Guest) {
	t.Helper()
	from := database(t, c)
	_, err := c.Power(t.Context(), from, nil, PowerStopped, PowerOptions{})
	noError(t, err)
	settings := map[string]string{"rootfs": "local-lvm:8"}
	for slot, value := range mounts {
		settings[slot] = value
	}
	created, err := c.CreateContainer(t.Context(), ContainerSpec{Node: "pve1", Template: oldTemplate, Name: "holder", UID: NewUID(), Settings: settings})
	noError(t, err)
	return from, created.Guest
}

// TestMoveVolume_meanwhile has a volume moved by somebody else between the two
// reads, so that both containers seem to have it.
func TestMoveVolume_meanwhile(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	from, to := pair(t, c, nil)
	content := lab.Contents(from.VMID)["mp0"]

	late := labClient(t, lab)
	late.http = &between{next: late.http, vmid: to.VMID, do: func() { noError(t, c.moveVolume(t.Context(), from, to, "mp0")) }}
	noError(t, late.moveVolume(t.Context(), from, to, "mp0"))
	if got := lab.Contents(to.VMID)["mp0"]; got != content || content == "" {
		t.Errorf("the other one holds %q, want %q", got, content)
	}
	if moves := movesOf(lab); moves != 1 {
		t.Errorf("it was moved %d times", moves)
	}
}

// TestMoveVolume_taken refuses to move a volume over another.
func TestMoveVolume_taken(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	from, to := pair(t, c, map[string]string{"mp0": "local-lvm:1,mp=/other"})
	if err := c.moveVolume(t.Context(), from, to, "mp0"); err == nil || !strings.Contains(err.Error(), "has another volume in its place") {
		t.Errorf("got %v", err)
	}
	if err := c.moveVolume(t.Context(), from, to, "mp7"); err == nil || !strings.Contains(err.Error(), "is in neither") {
		t.Errorf("got %v", err)
	}
	if moves := movesOf(lab); moves != 0 {
		t.Errorf("it was moved %d times", moves)
	}
}

// TestMoveVolume_protected moves nothing from a protected container and nothing to
// one: PVE would take it out of the one and not into the other.
func TestMoveVolume_protected(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	from, to := pair(t, c, nil)
	content := lab.Contents(from.VMID)["mp0"]
	protect := func(guest Guest, value string) {
		_, err := c.Configure(t.Context(), guest, nil, func(*GuestConfig) (ConfigUpdate, error) {
			return ConfigUpdate{Set: map[string]string{"protection": value}}, nil
		})
		noError(t, err)
	}
	for _, guest := range []Guest{from, to} {
		protect(guest, "1")
		if err := c.moveVolume(t.Context(), from, to, "mp0"); !errors.Is(err, errProtectedMove) {
			t.Errorf("%s is protected: %v", guest, err)
		}
		protect(guest, "0")
	}
	if moves := movesOf(lab); moves != 0 || lab.Contents(from.VMID)["mp0"] != content || content == "" {
		t.Errorf("it was moved %d times, and the first one holds %v", moves, lab.Contents(from.VMID))
	}

	// Who protects it after the read is found out by the digest.
	late := labClient(t, lab)
	late.http = &meanwhile{next: late.http, when: isMove, do: func() { protect(to, "1") }}
	if err := late.moveVolume(t.Context(), from, to, "mp0"); !errors.Is(err, errProtectedMove) || lab.Contents(from.VMID)["mp0"] != content {
		t.Errorf("protected meanwhile: %v, the first one holds %v", err, lab.Contents(from.VMID))
	}
}

func isMove(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/move_volume") }

func movesOf(lab *pvelab.Lab) int {
	return lab.Counters().Snapshot().Requests["POST /nodes/{node}/lxc/{vmid}/move_volume"]
}
