package proxmox

import (
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

func movesOf(lab *pvelab.Lab) int {
	return lab.Counters().Snapshot().Requests["POST /nodes/{node}/lxc/{vmid}/move_volume"]
}
