package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	t.Cleanup(func() { noError(t, lab.Close()) })
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

// TestFenceRefused holds that everything that is refused is so before anything is
// stopped.
func TestFenceRefused(t *testing.T) {
	t.Parallel()

	stop := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}
	node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	with := func(f Fence, change func(*Fence)) Fence { change(&f); return f }
	type refusal struct {
		name    string
		fence   Fence
		setup   func(t *testing.T, b *fenceBench)
		check   string
		says    string
		options func(*Options)
	}
	cases := []refusal{
		{name: "a stranger", fence: with(stop, func(f *Fence) { f.Foreign = false }), says: "outside the range"},
		{name: "not in the scope", fence: with(stop, func(f *Fence) { f.VMID = 102 }), says: "not in the fence scope"},
		{name: "no scope", fence: stop, options: func(o *Options) { o.FenceScope = FenceScope{} }, says: "not in the fence scope"},
		{name: "another node", fence: with(stop, func(f *Fence) { f.Node = "pve1" }), check: CheckNode, says: "is on node pve2, not on pve1"},
		{name: "no such VM", fence: stop, setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Destroy(t.Context(), 101))
		}, says: "does not exist"},
		{name: "a locked VM", fence: stop, setup: lockByHand("backup"), check: CheckLock, says: "locked (backup)"},
		{name: "not durable: on boot", fence: with(stop, func(f *Fence) { f.RequireDurable = true }), setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Configure(t.Context(), 101, byhand.Params{"onboot": 1}))
		}, check: CheckOnBoot, says: "onboot"},
		{name: "HA in error", fence: stop, setup: haError, check: CheckHA, says: "error state"},
		{name: "no replication job", fence: with(stop, func(f *Fence) { f.Precondition.Job = "101-0" }), check: CheckReplication, says: "no replication job 101-0"},
		{name: "no replica yet", fence: with(stop, func(f *Fence) { f.Precondition.Job = "101-0" }), setup: replicaByHand(0), check: CheckReplication, says: "never succeeded"},
		{name: "a replica too old", fence: with(stop, func(f *Fence) {
			f.Precondition.Job, f.Precondition.MaxLag = "101-0", time.Minute
		}), setup: replicaByHand(time.Hour), check: CheckReplication, says: "lags 1h"},
		{name: "no quorum", fence: with(stop, func(f *Fence) { f.Precondition.Quorum = true }), setup: func(t *testing.T, b *fenceBench) {
			noError(t, errors.Join(b.Faults().NodeOffline("pve1"), b.Faults().NodeOffline("pve3")))
		}, check: CheckQuorum, says: "not quorate"},
		{name: "no such link", fence: Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net7"}}, check: CheckLinks, says: "no network device net7"},

		{name: "a node without consent", fence: with(node, func(f *Fence) { f.Foreign = false }), check: CheckScope, says: "foreign = true"},
		{name: "a node not in the scope", fence: with(node, func(f *Fence) { f.Node = "pve3" }), says: "not in the fence scope"},
		{name: "the node that answers", fence: with(node, func(f *Fence) { f.Node = "pve1" }), check: CheckEndpoint, says: "answers the API itself"},
		{name: "a node that is offline", fence: node, setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.Faults().NodeOffline("pve2"))
		}, check: CheckNode, says: "offline"},
		{name: "a locked guest on the node", fence: node, setup: lockByHand("backup"), check: CheckLock, says: "locked (backup)"},
		{name: "a node, not durable", fence: with(node, func(f *Fence) { f.RequireDurable = true }), setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Configure(t.Context(), 101, byhand.Params{"onboot": 1}))
		}, check: CheckOnBoot, says: `VM 101`},
		{name: "HA in error on the node", fence: node, setup: haError, check: CheckHA, says: "error state"},
	}
	bothVersions(t, func(t *testing.T, version string) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				var change []func(*Options)
				if tc.options != nil {
					change = append(change, tc.options)
				}
				b := newFenceBench(t, version, change...)
				if tc.name == "no quorum" {
					b = b.through(t, "pve2")
				}
				b.vm(t, "pve2", 101, byhand.Params{"scsi0": "local-zfs:1"})
				if tc.setup != nil {
					tc.setup(t, b)
				}
				before := b.Counters().Snapshot()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, _, err := b.client.Fence(ctx, tc.fence)
				var refused *FenceRefusal
				if !IsFenceRefused(err) || tc.check != "" && (!errors.As(err, &refused) || refused.Check != tc.check) {
					t.Fatalf("it is not refused by %q: %v", tc.check, err)
				}
				if !strings.Contains(err.Error(), tc.says) {
					t.Errorf("it does not say %q: %v", tc.says, err)
				}
				for call, n := range b.Counters().Snapshot().Sub(before).Requests {
					if !strings.HasPrefix(call, "GET ") {
						t.Errorf("%d × %s", n, call)
					}
				}
			})
		}
	})
}

// through has the client talk to another node.
func (b *fenceBench) through(t *testing.T, node string) *fenceBench {
	t.Helper()

	o := b.client.options
	o.Endpoint = b.NodeURL(node)
	client, err := New(o)
	noError(t, err)
	id, secret := b.Token("full")
	admin, err := byhand.New(b.NodeURL(node), id, secret, b.CAPEM())
	noError(t, err)
	return &fenceBench{Lab: b.Lab, admin: admin, client: client}
}

// lockByHand leaves a lock behind, as a backup that was cut short does.
func lockByHand(lock string) func(*testing.T, *fenceBench) {
	return func(t *testing.T, b *fenceBench) {
		root, err := byhand.Login(t.Context(), b.URL(), "root@pam", b.RootPassword(), b.CAPEM())
		noError(t, err)
		noError(t, root.Configure(t.Context(), 101, byhand.Params{"lock": lock}))
	}
}

// haError has HA give the VM up, which cannot start for want of a bridge.
func haError(t *testing.T, b *fenceBench) {
	noError(t, b.admin.Task(t.Context(), http.MethodPost, vmPath("pve2", 101, "status", "stop"), nil))
	noError(t, b.admin.Configure(t.Context(), 101, byhand.Params{"net0": "virtio,bridge=nope"}))
	b.managed(t, "vm:101", "started", "error")
}

// replicaByHand makes a job whose last success is so old, 0 for none at all.
func replicaByHand(age time.Duration) func(*testing.T, *fenceBench) {
	return func(t *testing.T, b *fenceBench) {
		if age == 0 {
			b.Faults().FailReplication("101-0", "no such pool")
		}
		b.call(t, http.MethodPost, "/cluster/replication", byhand.Params{"id": "101-0", "type": "local", "target": "pve3", "schedule": "daily"})
		if age == 0 {
			return
		}
		for range 500 {
			job, _, err := b.client.Replication.Job(t.Context(), "101-0")
			noError(t, err)
			if job.LastSync != 0 {
				noError(t, b.Faults().AgeReplication("101-0", age))
				b.Faults().FailReplication("101-0", "no such pool")
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("the job does not run")
	}
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

// TestFenceNode stops sixty guests of both kinds: one ignores shutdowns, one HA
// wants started, one starts with its node.
func TestFenceNode(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		const guests = 60
		for i := range guests {
			vmid, params := 300+i, byhand.Params{}
			if vmid == 359 {
				params["onboot"] = 1
			}
			if i%2 == 0 {
				b.vm(t, "pve2", vmid, params)
				continue
			}
			params["vmid"], params["ostemplate"], params["rootfs"] = vmid, "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "local-lvm:1"
			noError(t, b.admin.Task(t.Context(), http.MethodPost, "/nodes/pve2/lxc", params))
			noError(t, b.admin.Task(t.Context(), http.MethodPost, fmt.Sprintf("/nodes/pve2/lxc/%d/status/start", vmid), nil))
		}
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
		list, err := b.client.nodeGuests(t.Context(), "pve2")
		noError(t, err)
		if up := running(list); len(up) > 0 || len(list) != guests {
			t.Errorf("of %d run: %v", len(list), up)
		}
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

// TestFenceWithFewRights holds that what a token may not see makes a fence
// refused or transient, and never proven.
func TestFenceWithFewRights(t *testing.T) {
	t.Parallel()

	node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	durable := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true, RequireDurable: true}
	for _, tc := range []struct {
		name   string
		rights map[string]string
		fence  Fence
		check  string
		says   string
	}{
		{"a VM nobody may read", map[string]string{"/": "Sys.Audit"}, durable, "", "VM.Audit"},
		{"what HA wants", map[string]string{"/vms": "VM.Audit VM.PowerMgmt"}, durable, CheckHA, "what it wants cannot be read"},
		{"which node answers", map[string]string{"/vms": "VM.Audit VM.PowerMgmt"}, node, CheckEndpoint, "which node answers cannot be told"},
		{"guests of others", map[string]string{"/": "Sys.Audit", "/vms/101": "VM.Audit VM.PowerMgmt"}, node, CheckVisible, "VM.Audit on /vms"},
		{"the plug of one", map[string]string{"/": "Sys.Audit", "/vms": "VM.Audit"}, node, CheckVisible, "VM.PowerMgmt on /vms/101"},
		{
			"the node's plug", map[string]string{"/": "Sys.Audit", "/vms": "VM.Audit VM.PowerMgmt"},
			Fence{Action: FenceShutdown, Node: "pve2", Foreign: true}, CheckVisible, "Sys.PowerMgmt on /nodes/pve2",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newFenceBench(t, "9.2")
			b.vm(t, "pve2", 101, nil)
			b.managed(t, "vm:101", "started", "started")
			few := b.as(t, tc.rights)
			_, _, err := few.client.Fence(t.Context(), tc.fence)
			var refused *FenceRefusal
			if !IsFenceRefused(err) || tc.check != "" && (!errors.As(err, &refused) || refused.Check != tc.check) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it is not refused by %q: %v", tc.check, err)
			}
			if !b.status(t, "pve2", 101).Running() {
				t.Error("it was stopped")
			}
		})
	}
}

// TestFenceUnderHAUnseen stops a VM of which HA's wishes cannot be read: it is
// stopped, and nobody can say that it stays so.
func TestFenceUnderHAUnseen(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		b.vm(t, "pve2", 101, nil)
		b.managed(t, "vm:101", "started", "started")
		few := b.as(t, map[string]string{"/vms": "VM.Audit VM.PowerMgmt"})
		proof, _, err := few.client.Fence(t.Context(), Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true})
		noError(t, err)
		wantState(t, proof, FenceTransient, "cannot be read")
	})
}

// as is the bench with a client of few rights, by path.
func (b *fenceBench) as(t *testing.T, rights map[string]string) *fenceBench {
	t.Helper()

	maker := &bench{Lab: b.Lab, admin: b.admin}
	granted := map[string][]string{}
	for path, privileges := range rights {
		granted[path] = strings.Fields(privileges)
	}
	o := b.client.options
	o.TokenID, o.TokenSecret = maker.user(t, 1, granted)
	client, err := New(o)
	noError(t, err)
	return &fenceBench{Lab: b.Lab, admin: b.admin, client: client}
}
