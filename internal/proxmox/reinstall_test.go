package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/pvelab"
)

const (
	oldTemplate = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
	newTemplate = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"
)

// labSpeed is how much faster than PVE the lab works here.
const labSpeed = 5000

// hurry is a clock that waits a thousandth of what it is asked to.
type hurry struct{ systemClock }

func (h hurry) Sleep(ctx context.Context, d time.Duration) error {
	return h.systemClock.Sleep(ctx, d/1000)
}

// errKilled is what a run sees of the network after it was killed.
var errKilled = errors.New("killed")

// aim is the request at which a run is to end.
type aim struct {
	at int
	// after lets PVE do it, and loses the answer.
	after bool
	// changes counts nothing but the requests that change something.
	changes bool
}

// killer ends a run at its n-th request: before PVE hears of it, or after PVE has
// answered.
type killer struct {
	aim

	next http.RoundTripper
	stop context.CancelFunc

	mu    sync.Mutex
	count int
	// call is the request that was hit, "" where the run needed fewer.
	call string
}

func (k *killer) RoundTrip(req *http.Request) (*http.Response, error) {
	hit, over := k.counted(req)
	if !hit && !over {
		return k.next.RoundTrip(req)
	}
	if hit && k.after {
		if resp, err := k.next.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	k.stop()
	return nil, errKilled
}

// counted counts a request: it is the one that is hit, or the run is over.
func (k *killer) counted(req *http.Request) (hit, over bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.call != "" {
		return false, true
	}
	if k.changes && req.Method == http.MethodGet {
		return false, false
	}
	if k.count++; k.count < k.at {
		return false, false
	}
	k.call = req.Method + " " + strings.TrimPrefix(req.URL.Path, apiPrefix)
	return true, false
}

// labClient is a client of a lab with all rights.
func labClient(t *testing.T, lab *pvelab.Lab) *Client {
	t.Helper()
	id, secret := lab.Token("full")
	c, err := New(Options{
		Endpoint: lab.URL(), TokenID: id, TokenSecret: secret, CAPEM: lab.CAPEM(),
		VMIDRange: VMIDRange{First: 20000, Last: 20999}, clock: hurry{},
	})
	noError(t, err)
	return c
}

func startLab(t *testing.T, version string) *pvelab.Lab {
	t.Helper()
	lab, err := pvelab.New(pvelab.Options{Version: version, Speed: labSpeed, NoTemplates: true})
	noError(t, err)
	noError(t, lab.Start())
	t.Cleanup(func() {
		everyNeedIsNamed(t, lab)
		noError(t, lab.Close())
	})
	return lab
}

// database makes a running container with two mount points, of which one is kept.
func database(t *testing.T, c *Client) Guest {
	t.Helper()
	created, err := c.CreateContainer(t.Context(), ContainerSpec{
		Node: "pve1", Template: oldTemplate, Name: "db", UID: uidA, Source: "old",
		Settings: map[string]string{
			"rootfs": "local-lvm:8", "mp0": "local-lvm:100,mp=/data,backup=1", "mp1": "local-lvm:4,mp=/cache",
			"net0": "name=eth0,bridge=vmbr0,ip=dhcp",
		},
	})
	noError(t, err)
	_, err = c.Complete(t.Context(), created.Guest, nil)
	noError(t, err)
	_, err = c.Power(t.Context(), created.Guest, nil, PowerRunning, PowerOptions{})
	noError(t, err)
	return created.Guest
}

func rebuilt(guest Guest) ReinstallSpec {
	return ReinstallSpec{
		Guest: guest, Keep: []string{"mp0"}, Power: PowerOptions{ShutdownTimeout: time.Minute, ForceStop: true},
		New: ContainerSpec{
			Template: newTemplate, Name: "db", Source: "new",
			Settings: map[string]string{"rootfs": "local-lvm:8", "mp1": "local-lvm:4,mp=/cache", "net0": "name=eth0,bridge=vmbr0,ip=dhcp"},
		},
	}
}

func TestReinstall(t *testing.T) {
	t.Parallel()

	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			lab := startLab(t, version)
			c := labClient(t, lab)
			guest := database(t, c)
			before := lab.Contents(guest.VMID)
			spec := rebuilt(guest)
			spec.New.Settings["protection"] = "1" // For the caller to write, when mp0 is back.
			done, err := c.Reinstall(t.Context(), spec)
			noError(t, err)
			if done.Guest.VMID != guest.VMID || done.Guest.UID != uidA {
				t.Errorf("got %+v", done)
			}
			checkRebuilt(t, lab, c, guest, before, false)
		})
	}
}

// checkRebuilt holds the lab against what a reinstallation has to leave behind.
func checkRebuilt(t *testing.T, lab *pvelab.Lab, c *Client, guest Guest, before map[string]string, rests bool) {
	t.Helper()
	after := lab.Contents(guest.VMID)
	if after["mp0"] != before["mp0"] || after["mp0"] == "" {
		t.Errorf("mp0 holds %q, not what it held: %q", after["mp0"], before["mp0"])
	}
	for _, slot := range []string{"rootfs", "mp1"} {
		if after[slot] == before[slot] || after[slot] == "" {
			t.Errorf("%s was not rebuilt: %q", slot, after[slot])
		}
	}
	config, err := c.Containers.Pending(t.Context(), "pve1", guest.VMID)
	noError(t, err)
	if want := fmt.Sprintf("local-lvm:vm-%d-disk-", guest.VMID); !strings.HasPrefix(config.Get("mp0"), want) ||
		!strings.Contains(config.Get("mp0"), "mp=/data,backup=1,size=100G") {
		t.Errorf("mp0 is %s", config.Get("mp0"))
	}
	if marker, ok := config.Marker(); !ok || marker != (Marker{UID: uidA, VMID: guest.VMID, Creating: true, Source: "new", Rests: rests}) {
		t.Errorf("its description is %q", config.Description())
	}
	if guests := remaining(t, c); len(guests) != 1 {
		t.Errorf("there are other guests left: %+v", guests)
	}
}

// remaining are the guests that there are once PVE has destroyed those that a
// killed run had it destroy.
func remaining(t *testing.T, c *Client) []Resource {
	t.Helper()
	for {
		guests, err := c.Cluster.Resources(t.Context(), "vm")
		noError(t, err)
		if !slices.ContainsFunc(guests, func(r Resource) bool { return r.Lock == "destroyed" }) {
			return guests
		}
		noError(t, c.clock.Sleep(t.Context(), time.Second))
	}
}

// TestReinstallKilled kills a reinstallation at each of its requests, before PVE has
// heard it, and at each that changes something, before and after: the kept volume is
// in the configuration of a container at any time, and the next run finishes the job.
// The marker of the one made anew tells whether it ran.
func TestReinstallKilled(t *testing.T) {
	t.Parallel()

	for name, run := range map[string]struct {
		to      aim
		stopped bool
	}{
		"at each request":         {},
		"before a change":         {to: aim{changes: true}},
		"after a change":          {to: aim{changes: true, after: true}},
		"after a change, stopped": {to: aim{changes: true, after: true}, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hit []string
			to := run.to
			for to.at = 1; ; to.at++ {
				call := killReinstall(t, to, run.stopped)
				if call == "" {
					break
				}
				hit = append(hit, call)
			}
			if to.changes && !slices.Equal(hit, reinstallCalls) {
				t.Errorf("killed at %q, want %q", hit, reinstallCalls)
			}
		})
	}
}

// reinstallCalls are the changes that a reinstallation makes.
var reinstallCalls = []string{
	"POST /nodes/pve1/lxc",
	"POST /nodes/pve1/lxc/20000/status/shutdown",
	"POST /nodes/pve1/lxc/20000/move_volume",
	"DELETE /nodes/pve1/lxc/20000",
	"POST /nodes/pve1/lxc",
	"POST /nodes/pve1/lxc/20001/move_volume",
	"DELETE /nodes/pve1/lxc/20001",
}

// killReinstall names the request that was hit, "" when the run needed fewer.
func killReinstall(t *testing.T, to aim, stopped bool) string {
	t.Helper()
	lab := startLab(t, "9.2")
	first := labClient(t, lab)
	guest := database(t, first)
	if stopped {
		_, err := first.Power(t.Context(), guest, nil, PowerStopped, PowerOptions{})
		noError(t, err)
	}
	before := lab.Contents(guest.VMID)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	killed := labClient(t, lab)
	k := &killer{aim: to, next: killed.http, stop: cancel}
	killed.http = k
	_, err := killed.Reinstall(ctx, rebuilt(guest))
	if k.call == "" {
		noError(t, err)
		return ""
	}
	if where := holderOf(t, lab, before["mp0"]); where == "" {
		t.Errorf("killed at %s: no container has the kept volume", k.call)
	}
	c := labClient(t, lab)
	if _, err := c.Reinstall(t.Context(), rebuilt(guest)); err != nil {
		t.Errorf("killed at %s: the next run fails: %v", k.call, err)
	}
	checkRebuilt(t, lab, c, guest, before, stopped)
	if t.Failed() {
		t.Fatalf("killed at request %d, %s", k.at, k.call)
	}
	return k.call
}

// holderOf names the container of ours that has a volume with these contents.
func holderOf(t *testing.T, lab *pvelab.Lab, content string) string {
	t.Helper()
	for vmid := 20000; vmid < 20010; vmid++ {
		for slot, id := range lab.Contents(vmid) {
			if id == content {
				return fmt.Sprintf("%s of %d", slot, vmid)
			}
		}
	}
	return ""
}
