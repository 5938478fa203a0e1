package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// fenceBench is a lab with a client whose range is 20000-20099, and whose fence
// scope are VM 101 and the node pve2.
type fenceBench struct {
	*pvelab.Lab

	admin  *byhand.Hand
	client *Client
}

func newFenceBench(t *testing.T, version string, change ...func(*Options)) *fenceBench {
	t.Helper()

	lab, err := pvelab.New(pvelab.Options{Version: version, Speed: 300})
	noError(t, err)
	noError(t, lab.Start())
	t.Cleanup(func() {
		everyNeedIsNamed(t, lab)
		noError(t, lab.Close())
	})
	id, secret := lab.Token("full")
	b := &fenceBench{Lab: lab}
	b.admin, err = byhand.New(lab.URL(), id, secret, lab.CAPEM())
	noError(t, err)
	o := Options{
		Endpoint: lab.URL(), TokenID: id, TokenSecret: secret, CAPEM: lab.CAPEM(),
		VMIDRange: VMIDRange{First: 20000, Last: 20099}, FenceScope: FenceScope{VMIDs: []int{101}, Nodes: []string{"pve1", "pve2"}},
		Limits: Limits{TasksPerNode: 16},
	}
	for _, f := range change {
		f(&o)
	}
	b.client, err = New(o)
	noError(t, err)
	return b
}

// vm makes a VM by hand, running.
func (b *fenceBench) vm(t *testing.T, node string, vmid int, params byhand.Params) {
	t.Helper()

	noError(t, b.admin.CreateVM(t.Context(), node, vmid, params))
	noError(t, b.admin.Task(t.Context(), http.MethodPost, vmPath(node, vmid, "status", "start"), nil))
}

func (b *fenceBench) unfence(t *testing.T, f Fence, before FenceBefore) (left []string) {
	t.Helper()
	left, err := b.client.Unfence(t.Context(), f, before)
	noError(t, err)
	return left
}

// ours is a description with a marker.
func ours(vmid int) string { return Marker{UID: uidA, VMID: vmid}.String() }

func (b *fenceBench) call(t *testing.T, method, path string, params byhand.Params) {
	t.Helper()
	noError(t, b.admin.Call(t.Context(), method, path, params, nil))
}

func (b *fenceBench) status(t *testing.T, node string, vmid int) GuestStatus {
	t.Helper()
	status, err := b.client.VMs.Status(t.Context(), node, vmid)
	noError(t, err)
	return status
}

// managed waits until HA has taken a VM in.
func (b *fenceBench) managed(t *testing.T, sid, requested, state string) {
	t.Helper()

	b.call(t, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": sid, "state": requested})
	b.settled(t, sid, state)
}

func (b *fenceBench) settled(t *testing.T, sid, state string) {
	t.Helper()

	for range 500 {
		status, err := b.client.HA.Status(t.Context())
		noError(t, err)
		if status.Services[sid].State == state {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not become %s", sid, state)
}

func bothVersions(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()

	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func wantState(t *testing.T, proof FenceProof, state FenceState, reasons ...string) {
	t.Helper()

	if proof.State != state || len(proof.Reasons) != len(reasons) {
		t.Fatalf("it is %s, want %s: %q", proof.State, state, proof.Reasons)
	}
	for i, reason := range reasons {
		if !strings.Contains(proof.Reasons[i], reason) {
			t.Errorf("reason %q does not say %q", proof.Reasons[i], reason)
		}
	}
}

func TestFenceStop(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		for _, tc := range []struct {
			name    string
			foreign bool
			params  byhand.Params
			// ha is the requested state, "" for none.
			ha      string
			state   FenceState
			reasons []string
		}{
			{name: "ours", params: byhand.Params{"description": ours(20001)}, state: Fenced},
			{name: "foreign", foreign: true, state: Fenced},
			{name: "on boot", foreign: true, params: byhand.Params{"onboot": 1}, state: FenceTransient, reasons: []string{"onboot"}},
			{name: "under HA", foreign: true, ha: "started", state: Fenced},
			{name: "HA ignores it", foreign: true, ha: "ignored", state: Fenced},
		} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				b := newFenceBench(t, version)
				vmid := 20001
				if tc.foreign {
					vmid = 101
				}
				b.vm(t, "pve2", vmid, tc.params)
				if tc.ha == "started" {
					b.managed(t, HASID(KindVM, vmid), tc.ha, "started")
				} else if tc.ha != "" {
					b.call(t, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": HASID(KindVM, vmid), "state": tc.ha})
				}
				f := Fence{Action: FenceStop, Node: "pve2", VMID: vmid, Foreign: tc.foreign}
				proof, before, err := b.client.Fence(t.Context(), f)
				noError(t, err)
				wantState(t, proof, tc.state, tc.reasons...)
				if b.status(t, "pve2", vmid).Running() {
					t.Error("it runs")
				}
				if len(before.Guests) != 1 || before.Guests[0].VMID != vmid || (tc.ha == "started") != (before.Guests[0].HA == "started") {
					t.Errorf("to bring back: %+v", before)
				}
				b.unfence(t, f, before)
				if !b.status(t, "pve2", vmid).Running() {
					t.Error("it does not run again")
				}
				if tc.ha == "started" {
					b.settled(t, HASID(KindVM, vmid), "started")
				}
				proof, err = b.client.ProveFence(t.Context(), f)
				noError(t, err)
				if proof.State != FenceLapsed || !strings.Contains(proof.Reasons[0], "runs on pve2") {
					t.Errorf("after unfencing: %+v", proof)
				}
			})
		}
	})
}

func TestFenceLinks(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		const net0 = "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,queues=2,tag=7"
		b.vm(t, "pve2", 101, byhand.Params{"net0": net0, "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0,link_down=1"})
		f := Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net0", "net1"}}
		proof, before, err := b.client.Fence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, Fenced)
		if !slices.Equal(before.LinksUp, []string{"net0"}) {
			t.Errorf("were up: %v", before.LinksUp)
		}
		config, err := b.admin.Config(t.Context(), 101)
		noError(t, err)
		props, err := ParseProps(config["net0"])
		noError(t, err)
		if down, _ := props.Get("link_down"); down != "1" || !b.status(t, "pve2", 101).Running() {
			t.Errorf("net0 is %s", config["net0"])
		}
		b.unfence(t, f, before)
		config, err = b.admin.Config(t.Context(), 101)
		noError(t, err)
		if config["net0"] != net0 || !strings.Contains(config["net1"], "link_down=1") {
			t.Errorf("after unfencing: %s, %s", config["net0"], config["net1"])
		}
		proof, err = b.client.ProveFence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, FenceLapsed, "net0 of VM 101 is up")
	})
}

// TestFenceLapses holds that a fence which somebody undoes is not said to hold,
// and that a VM which nobody can ask is unknown.
func TestFenceLapses(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		b.vm(t, "pve2", 101, nil)
		b.managed(t, "vm:101", "started", "started")
		f := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}
		proof, _, err := b.client.Fence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, Fenced)
		b.call(t, http.MethodPut, "/cluster/ha/resources/vm:101", byhand.Params{"state": "started"})
		b.settled(t, "vm:101", "started")
		for range 500 {
			if b.status(t, "pve2", 101).Running() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		proof, err = b.client.ProveFence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, FenceLapsed, "runs on pve2", "HA wants VM 101 started")
		noError(t, b.Faults().NodeOffline("pve2"))
		proof, err = b.client.ProveFence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, FenceUnknown, "only another path")
	})
}

// TestUnfenceAwaitsNode has a VM's node come back while unfencing waits for it,
// and stay away beyond the deadline.
func TestUnfenceAwaitsNode(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		b.vm(t, "pve2", 101, nil)
		f := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}
		proof, before, err := b.client.Fence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, Fenced)

		noError(t, b.Faults().NodeOffline("pve2"))
		ctx, cancel := context.WithCancel(t.Context())
		f.Progress = func(string) { cancel() }
		if _, err := b.client.Unfence(ctx, f, before); !errors.Is(err, context.Canceled) {
			t.Errorf("with the node away: %v", err)
		}
		var told []string
		f.Progress = func(line string) {
			if told = append(told, line); len(told) == 1 {
				noError(t, b.Faults().NodeOnline("pve2"))
			}
		}
		if left := b.unfence(t, f, before); len(left) > 0 || !strings.Contains(told[0], "waiting for the node of VM 101") {
			t.Errorf("left out: %v, told: %q", left, told)
		}
		if !b.status(t, "pve2", 101).Running() {
			t.Error("it does not run again")
		}
	})
}

// proves holds the state of a fence, and the calls that it takes to prove it.
func (b *fenceBench) proves(t *testing.T, f Fence, state FenceState, calls map[string]int) {
	t.Helper()

	before := b.Counters().Snapshot()
	proof, err := b.client.ProveFence(t.Context(), f)
	noError(t, err)
	if proof.State != state {
		t.Errorf("it is %s, want %s: %q", proof.State, state, proof.Reasons)
	}
	if made := b.Counters().Snapshot().Sub(before).Requests; !maps.Equal(made, calls) {
		t.Errorf("proving %s makes %v, want %v", f.Action, made, calls)
	}
}

// TestFenceCalls holds what proving the fence of a VM takes: a list of all VMs
// would tell no more than its own status.
func TestFenceCalls(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		const config, status = "GET /nodes/{node}/qemu/{vmid}/pending", "GET /nodes/{node}/qemu/{vmid}/status/current"
		b := newFenceBench(t, version)
		noError(t, b.admin.CreateVM(t.Context(), "pve2", 101, byhand.Params{"net0": linkDown}))
		f := Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net0"}}
		b.proves(t, f, Fenced, map[string]int{config: 1})
		f.Action = FenceStop
		b.proves(t, f, Fenced, map[string]int{config: 1, status: 1})
		b.managed(t, "vm:101", "stopped", "stopped")
		b.proves(t, f, Fenced, map[string]int{config: 1, status: 1, "GET /cluster/ha/status/current": 1})
	})
}

// TestUnfenceAsksHAAgain has a stop that HA was asked for before undo the start:
// its manager hung, and takes the one for newer than the other. Where the stop has
// not come yet, the guest still runs when it is to be brought back.
func TestUnfenceAsksHAAgain(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		for _, f := range []Fence{
			{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}, {Action: FenceStopGuests, Node: "pve2", Foreign: true},
		} {
			b := newFenceBench(t, version, func(o *Options) { o.clock = swift{time.Now()} })
			b.vm(t, "pve2", 101, nil)
			b.managed(t, "vm:101", "started", "started")
			b.Faults().HangHA(true)
			before := b.begun(t, f)
			f.Progress = func(string) { b.Faults().HangHA(false) } // It tells of the start first.
			b.unfence(t, f, before)
			b.Faults().HangHA(false)
			_ = swift{}.Sleep(t.Context(), haSettled) // What HA was asked for has shown by then.
			b.settled(t, "vm:101", "started")
			if !b.status(t, "pve2", 101).Running() {
				t.Errorf("after %s it does not run", f.Action)
			}
		}
	})
}

// begun gives a fence up that HA, which hangs, was asked for.
func (b *fenceBench) begun(t *testing.T, f Fence) FenceBefore {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, before, err := b.client.Fence(ctx, f)
	var begun *FenceBegunError
	if !errors.As(err, &begun) || len(begun.Taken) > 0 || IsFenceRefused(err) || len(before.WantedByHA()) != 1 {
		t.Fatalf("it was begun: %v, before: %v", err, before)
	}
	return before
}

// swift is a clock that runs a hundred times as fast.
type swift struct{ start time.Time }

func (s swift) Now() time.Time { return s.start.Add(100 * time.Since(s.start)) }

func (s swift) Sleep(ctx context.Context, d time.Duration) error {
	return systemClock{}.Sleep(ctx, d/100)
}

// both makes running guests on pve2, VMs with even ids and containers; the last one
// starts with its node.
func (b *fenceBench) both(t *testing.T, first, count int) {
	t.Helper()

	var all sync.WaitGroup
	for vmid := first; vmid < first+count; vmid++ {
		all.Go(func() {
			kind, params := "qemu", byhand.Params{"vmid": vmid}
			if vmid%2 != 0 {
				kind = "lxc"
				params["ostemplate"], params["rootfs"] = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "local-lvm:1"
			}
			if vmid == first+count-1 {
				params["onboot"] = 1
			}
			path := "/nodes/pve2/" + kind
			err := b.admin.Task(t.Context(), http.MethodPost, path, params)
			if err == nil {
				err = b.admin.Task(t.Context(), http.MethodPost, fmt.Sprintf("%s/%d/status/start", path, vmid), nil)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestFenceNode stops sixty guests of both kinds: one ignores shutdowns, one HA
// wants started, one starts with its node.
func TestFenceNode(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		const guests = 60
		b.both(t, 300, guests)
		b.Faults().IgnoreShutdown(300, true)
		b.managed(t, "ct:301", "started", "started")
		f := Fence{Action: FenceShutdown, Node: "pve2", Foreign: true, GuestTimeout: 30 * time.Second}
		var told []string
		f.Progress = func(line string) { told = append(told, line) }
		proof, before, err := b.client.Fence(t.Context(), Fence{
			Action: FenceStopGuests, Node: "pve2", Foreign: true, GuestTimeout: 30 * time.Second, Progress: f.Progress,
		})
		noError(t, err)
		wantState(t, proof, FenceTransient, "container 359")
		if len(before.Guests) != guests || len(told) < guests {
			t.Errorf("%d guests to bring back, %d lines of progress", len(before.Guests), len(told))
		}
		if !strings.Contains(told[0], "HA wants container 301 started") {
			t.Errorf("what HA wants is not told first: %q", told[0])
		}
		if wanted := before.WantedByHA(); len(wanted) != 1 || wanted[0].VMID != 301 {
			t.Errorf("wanted by HA: %v", wanted)
		}
		// What the token may do was asked with the fence. PVE tells in each guest's own
		// configuration alone what starts on boot.
		b.proves(t, f, FenceTransient, map[string]int{
			"GET /cluster/status": 1, "GET /cluster/ha/status/current": 1,
			"GET /nodes/{node}/qemu": 1, "GET /nodes/{node}/lxc": 1,
			"GET /nodes/{node}/qemu/{vmid}/pending": guests / 2, "GET /nodes/{node}/lxc/{vmid}/pending": guests / 2,
		})
		list, err := b.client.nodeGuests(t.Context(), "pve2")
		noError(t, err)
		if up := running(list); len(up) > 0 || len(list) != guests {
			t.Errorf("of %d run: %v", len(list), up)
		}
		// A lapse needs no more than the lists.
		noError(t, b.admin.Task(t.Context(), http.MethodPost, vmPath("pve2", 302, "status", "start"), nil))
		b.proves(t, f, FenceLapsed, map[string]int{
			"GET /cluster/status": 1, "GET /cluster/ha/status/current": 1, "GET /nodes/{node}/qemu": 1, "GET /nodes/{node}/lxc": 1,
		})
		b.call(t, http.MethodPut, "/cluster/ha/resources/ct:301", byhand.Params{"state": "started"})
		b.settled(t, "ct:301", "started")
		proof, _, err = b.client.Fence(t.Context(), f)
		noError(t, err)
		wantState(t, proof, FenceUnknown, "only another path")
		noError(t, b.Faults().NodeOnline("pve2"))
		left := b.unfence(t, f, before)
		list, err = b.client.nodeGuests(t.Context(), "pve2")
		noError(t, err)
		// HA may have recovered its own container on another node.
		if up := running(list); len(up)+len(left) != guests || len(left) > 1 || len(left) == 1 && !strings.Contains(left[0], "container 301") {
			t.Errorf("%d run after unfencing, left out: %v", len(up), left)
		}
	})
}
