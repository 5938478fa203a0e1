package proxmox

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestFenceRefused holds that everything that is refused is so before anything is
// stopped.
func TestFenceRefused(t *testing.T) {
	t.Parallel()

	stop := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}
	node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	links := Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net0"}}
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
		{name: "a replica that failed since", fence: with(stop, func(f *Fence) { f.Precondition.Job = "101-0" }), setup: replicaFailed, check: CheckReplication, says: "failed"},
		{name: "a replica that is disabled", fence: with(stop, func(f *Fence) { f.Precondition.Job = "101-0" }), setup: func(t *testing.T, b *fenceBench) {
			replicaByHand(time.Minute)(t, b)
			b.call(t, http.MethodPut, "/cluster/replication/101-0", byhand.Params{"disable": 1})
		}, check: CheckReplication, says: "is disabled"},
		{name: "a replica of a node that is offline", fence: with(stop, func(f *Fence) { f.Precondition.Job = "102-0" }), setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.CreateVM(t.Context(), "pve3", 102, byhand.Params{"scsi0": "local-zfs:1"}))
			b.call(t, http.MethodPost, "/cluster/replication", byhand.Params{"id": "102-0", "type": "local", "target": "pve1"})
			noError(t, b.Faults().NodeOffline("pve3"))
		}, check: CheckReplication, says: "cannot be told"},
		{name: "quorum that nobody tells", fence: with(stop, func(f *Fence) { f.Precondition.Quorum = true }), setup: denied("/cluster/status"), check: CheckQuorum, says: "cannot be told"},
		{name: "a template", fence: stop, setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Task(t.Context(), http.MethodPost, vmPath("pve2", 101, "status", "stop"), nil))
			noError(t, b.admin.Task(t.Context(), http.MethodPost, vmPath("pve2", 101, "template"), nil))
		}, check: CheckKind, says: "is a template"},
		{name: "a container", fence: stop, setup: func(t *testing.T, b *fenceBench) {
			gone(t, b)
			containerByHand(101)(t, b)
		}, says: "container's now"},
		{name: "a VM of ours with another uid", fence: with(stop, func(f *Fence) { f.VMID, f.UID, f.Foreign = 20001, uidB, false }), setup: func(t *testing.T, b *fenceBench) {
			b.vm(t, "pve2", 20001, byhand.Params{"description": ours(20001)})
		}, says: "another guest's marker"},
		{name: "a VM in the range without a marker", fence: with(stop, func(f *Fence) { f.VMID, f.Foreign = 20001, false }), setup: func(t *testing.T, b *fenceBench) {
			b.vm(t, "pve2", 20001, nil)
		}, says: "marker"},
		{name: "a VM on a node that does not exist", fence: with(stop, func(f *Fence) { f.Node = "pve9" }), check: CheckNode, says: "is on node pve2, not on pve9"},
		{name: "a VM on a node that is offline", fence: stop, setup: offline, says: "cannot be reached"},
		{name: "HA that nobody tells, durable", fence: with(stop, func(f *Fence) { f.RequireDurable = true }), setup: func(t *testing.T, b *fenceBench) {
			b.managed(t, "vm:101", "started", "started")
			denied("/cluster/ha/status/current")(t, b)
		}, check: CheckHA, says: "cannot be read"},
		{name: "links of a locked VM", fence: links, setup: lockByHand("backup"), check: CheckLock, says: "locked (backup)"},
		{name: "a link whose device waits for a change", fence: links, setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Configure(t.Context(), 101, byhand.Params{"hotplug": "disk"}))
			noError(t, b.admin.Configure(t.Context(), 101, byhand.Params{"net0": "e1000,bridge=vmbr0"}))
		}, check: CheckLinks, says: "waits for the next start"},
		{name: "no such link", fence: Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net7"}}, check: CheckLinks, says: "no network device net7"},

		{name: "a node without consent", fence: with(node, func(f *Fence) { f.Foreign = false }), check: CheckScope, says: "foreign = true"},
		{name: "a node not in the scope", fence: with(node, func(f *Fence) { f.Node = "pve3" }), says: "not in the fence scope"},
		{name: "the node that answers", fence: with(node, func(f *Fence) { f.Node = "pve1" }), check: CheckEndpoint, says: "answers the API itself"},
		{name: "a node that is offline", fence: node, setup: func(t *testing.T, b *fenceBench) {
			noError(t, b.Faults().NodeOffline("pve2"))
		}, check: CheckNode, says: "offline"},
		{name: "a node that does not exist", fence: with(node, func(f *Fence) { f.Node = "pve9" }), check: CheckNode, says: "has no node pve9", options: func(o *Options) {
			o.FenceScope.Nodes = []string{"pve9"}
		}},
		{name: "when nobody tells which node answers", fence: node, setup: denied("/cluster/status"), check: CheckEndpoint, says: "which node answers cannot be told"},
		{name: "a node that does not list its containers", fence: node, setup: denied("/nodes/pve2/lxc"), check: CheckVisible, says: "cannot be listed"},
		{name: "a node, when nobody tells what HA wants", fence: node, setup: denied("/cluster/ha/status/current"), check: CheckHA, says: "what HA wants cannot be read"},
		{name: "a node, without a replica", fence: with(node, func(f *Fence) { f.Precondition.Job = "101-0" }), check: CheckReplication, says: "no replication job 101-0"},
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
				b.vm(t, "pve2", 101, byhand.Params{"scsi0": "local-zfs:1", "net0": linkUp})
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

// denied has a list refused, as for a token that lacks a right.
func denied(path string) func(*testing.T, *fenceBench) {
	return func(t *testing.T, b *fenceBench) {
		_, err := b.Faults().Add(pvelab.Fault{
			Method: http.MethodGet, Path: path, Status: http.StatusForbidden, Text: "Permission check failed (/, Sys.Audit)", Times: -1,
		})
		noError(t, err)
	}
}

// replicaFailed makes a job that succeeded a moment ago, and has failed since.
func replicaFailed(t *testing.T, b *fenceBench) {
	replicaByHand(time.Second)(t, b)
	noError(t, b.admin.Call(t.Context(), http.MethodPost, "/nodes/pve2/replication/101-0/schedule_now", nil, nil))
	for range 500 {
		job, _, err := b.client.Replication.Job(t.Context(), "101-0")
		noError(t, err)
		if job.FailCount > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the job does not fail")
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

// TestFenceWithFewRights holds that what a token may not see makes a fence
// refused or transient, and never proven.
func TestFenceWithFewRights(t *testing.T) {
	t.Parallel()

	node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	durable := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true, RequireDurable: true}
	cases := []struct {
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
			"the node's plug",
			map[string]string{"/": "Sys.Audit", "/vms": "VM.Audit VM.PowerMgmt"},
			Fence{Action: FenceShutdown, Node: "pve2", Foreign: true},
			CheckVisible, "Sys.PowerMgmt on /nodes/pve2",
		},
	}
	bothVersions(t, func(t *testing.T, version string) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				b := newFenceBench(t, version)
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
	})
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
