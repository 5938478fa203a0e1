package fenceaction_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

var scope = protocol.Object{"fence_scope": protocol.Object{"vmids": []any{101, 102}, "nodes": []any{"pve2"}}}

// bench is a lab with VM 101 running on pve2, and a provider in this process.
type bench struct{ *protocol.Lab }

func newBench(t *testing.T, version string) *bench {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 300}, provider.New("test")(), "full", scope)
	b := &bench{lab}
	b.make(t, 101)
	return b
}

// next is another run of the provider, as the CLI begins for each plan and apply.
func (b *bench) next(t *testing.T) *protocol.Server {
	t.Helper()

	server := protocol.New(t, provider.New("test")())
	id, secret := b.Token("full")
	config := protocol.Object{"endpoint": b.URL(), "ca_pem": string(b.CAPEM()), "token_id": id, "token_secret": secret}
	maps.Copy(config, scope)
	if diagnostics := server.Configure(t, config); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	return server
}

func (b *bench) make(t *testing.T, vmid int) {
	t.Helper()

	protocol.Must(t, b.Hand.CreateVM(t.Context(), "pve2", vmid, nil))
	protocol.Must(t, b.Hand.Power(t.Context(), vmid, "start"))
}

func (b *bench) wantPower(t *testing.T, when string, vmid int, want string) {
	t.Helper()

	status, err := b.Hand.Status(t.Context(), vmid)
	protocol.Must(t, err)
	if status != want {
		t.Errorf("%s VM %d is %s, not %s", when, vmid, status, want)
	}
}

// wantStarts holds that guests were started so often, setting the lab up
// included.
func (b *bench) wantStarts(t *testing.T, want int) {
	t.Helper()
	if n := b.Counters().Snapshot().Requests["POST /nodes/{node}/qemu/{vmid}/status/start"]; n != want {
		t.Errorf("guests were started %d times, not %d", n, want)
	}
}

func ok(t *testing.T, diagnostics protocol.Diagnostics) {
	t.Helper()
	if len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
}

// beforeOf are the ids of the guests in a fence's memory, with what HA was asked
// for.
func beforeOf(state protocol.Object) string {
	held, _ := state["before"].(protocol.Object)
	guests, _ := held["guests"].([]any)
	var all []string
	for _, each := range guests {
		guest, _ := each.(protocol.Object)
		all = append(all, fmt.Sprintf("%v %v %v", guest["kind"], guest["vmid"], guest["ha_requested"]))
	}
	return strings.TrimSpace(strings.Join(all, ", "))
}

func stopOf(more protocol.Object) protocol.Object {
	config := protocol.Object{"action": "vm.stop", "node": "pve2", "vmid": 101, "foreign": true, "unfence_on_destroy": true}
	for name, value := range more {
		config[name] = value
	}
	return config
}

// TestFenceLapseIsTold holds that each refresh of a fence that has lapsed says so,
// and that it is left alone until triggers change or refence is set.
func TestFenceLapseIsTold(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		b := newBench(t, version)
		fence := b.Manage(t, "proxmox_fence_action")
		ok(t, fence.Apply(t, stopOf(nil)))
		if diagnostics := fence.Refresh(t); len(diagnostics) != 0 {
			t.Errorf("a fence that holds: %s", diagnostics)
		}
		protocol.Must(t, b.Hand.Power(t.Context(), 101, "start"))
		for range 2 {
			fence.Refresh(t).Warnings().Says(t, "The fence has lapsed", "VM 101 runs on pve2", "refence = true")
			if plan, _ := fence.Plan(t, stopOf(nil)); !plan.Empty() {
				t.Errorf("it is performed again: %v", plan.Changes(t))
			}
		}
		b.wantPower(t, "left alone", 101, "running")
		ok(t, fence.Apply(t, stopOf(protocol.Object{"refence": true})))
		fence.State.Want(t, protocol.Object{"state": "fenced"})
		b.wantPower(t, "fenced again", 101, "stopped")
	})
}

// TestFenceFailsHalfway has a fence run out of time when it has begun: what it
// took stays in state, the next one goes on from there, nothing is started in
// between, and all of it is brought back in the end. With create_before_destroy
// the next one cannot know, and what is not brought back is told.
func TestFenceFailsHalfway(t *testing.T) {
	t.Parallel()

	for createFirst, remembered := range map[bool]string{false: "vm 101 , vm 102", true: ""} {
		t.Run(fmt.Sprintf("create first %t", createFirst), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "9.2")
			b.make(t, 102)
			held, err := b.Faults().AddTask(pvelab.TaskFault{Type: "qmshutdown", ID: "102", Hold: true})
			protocol.Must(t, err)
			config := protocol.Object{
				"action": "node.stop-guests", "node": "pve2", "foreign": true, "unfence_on_destroy": true, "timeout": "2s", "guest_timeout": "30s",
			}
			fence := b.Manage(t, "proxmox_fence_action")
			fence.Apply(t, config).Says(t, "it could not be proven", "Stopped by now, and left so: VM 101")
			fence.State.Want(t, protocol.Object{"state": "unknown", "fenced_at": nil})
			if got := beforeOf(fence.State); got != "vm 101 , vm 102" {
				t.Errorf("kept is %q", got)
			}
			b.Faults().Release(held)

			config["timeout"] = "1m"
			fence.In(b.next(t))
			ok(t, fence.Refresh(t))
			diagnostics := fence.Replace(t, config, createFirst, b.next(t))
			ok(t, diagnostics)
			fence.State.Want(t, protocol.Object{"state": "fenced"})
			if got := beforeOf(fence.State); got != remembered {
				t.Errorf("the next one remembers %q", got)
			}
			b.wantStarts(t, 2)
			if createFirst {
				diagnostics.Warnings().Says(t, "not brought back", "VM 101, VM 102")
				return
			}
			diagnostics.Warnings().Says(t, "goes on from here", "VM 101, VM 102", "If the apply ends before")
			fence.In(b.next(t))
			ok(t, fence.Apply(t, nil))
			b.wantPower(t, "brought back", 101, "running")
			b.wantPower(t, "brought back", 102, "running")
		})
	}
}

// TestFenceHalfwayIsBroughtBack destroys a fence that failed when it had begun.
func TestFenceHalfwayIsBroughtBack(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		b := newBench(t, version)
		protocol.Must(t, b.Hand.Call(t.Context(), http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": "vm:101", "state": "started"}, nil))
		b.Faults().HangHA(true)
		fence := b.Manage(t, "proxmox_fence_action")
		fence.Apply(t, stopOf(protocol.Object{"timeout": "4s"})).Says(t, "HA wanted these guests started", "VM 101 runs on pve2", "Nothing is stopped by now")
		if got := beforeOf(fence.State); got != "vm 101 started" {
			t.Errorf("kept is %q", got)
		}
		b.Faults().HangHA(false)
		power(t, b.Hand, "stopped")
		fence.In(b.next(t))
		ok(t, fence.Apply(t, nil))
		power(t, b.Hand, "running")
	})
}

// TestFenceRefusedLeavesNoState holds that a refusal is kept nowhere, but does not
// lose what an earlier attempt has taken.
func TestFenceRefusedLeavesNoState(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	fence := b.Manage(t, "proxmox_fence_action")
	refused := protocol.Object{"precondition": protocol.Object{"replication": protocol.Object{"job": "101-0"}}}
	fence.Apply(t, stopOf(refused)).Says(t, "no replication job 101-0")
	if fence.State != nil {
		t.Errorf("kept is %v", fence.State)
	}
	held, err := b.Faults().AddTask(pvelab.TaskFault{Type: "qmstop", Hold: true})
	protocol.Must(t, err)
	fence.Apply(t, stopOf(protocol.Object{"timeout": "1s"})).Says(t, "may still be running")
	b.Faults().Release(held)
	ok(t, fence.Refresh(t))
	fence.Replace(t, stopOf(refused), false, b.next(t)).Says(t, "no replication job 101-0")
	if got := beforeOf(fence.State); got != "vm 101" {
		t.Errorf("kept is %q", got)
	}
}

// TestFenceUpdateFails holds that what a fence took is kept where it fails when it
// is performed again, and that the next apply performs it again.
func TestFenceUpdateFails(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	fence := b.Manage(t, "proxmox_fence_action")
	ok(t, fence.Apply(t, stopOf(nil)))
	protocol.Must(t, b.Hand.Power(t.Context(), 101, "start"))
	held, err := b.Faults().AddTask(pvelab.TaskFault{Type: "qmstop", Hold: true})
	protocol.Must(t, err)
	again := protocol.Object{"triggers": protocol.Object{"reason": "second"}, "timeout": "1s"}
	fence.Apply(t, stopOf(again)).Says(t, "may still be running")
	if got := beforeOf(fence.State); got != "vm 101" || fence.State["triggers"] != nil {
		t.Errorf("kept is %q, triggers are %v", got, fence.State["triggers"])
	}
	b.Faults().Release(held)
	again["timeout"] = "1m"
	ok(t, fence.Apply(t, stopOf(again)))
	fence.State.Want(t, protocol.Object{"state": "fenced"})
}

// TestFenceMovesToAnotherTarget holds that a fence is lifted when another one takes
// its place in the configuration, also where that one's target is fenced already.
func TestFenceMovesToAnotherTarget(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	b.make(t, 102)
	other := stopOf(protocol.Object{"vmid": 102})
	first, second := b.Manage(t, "proxmox_fence_action"), b.Manage(t, "proxmox_fence_action")
	ok(t, first.Apply(t, stopOf(nil)))
	ok(t, second.Apply(t, other))
	ok(t, second.Refresh(t))
	ok(t, first.Replace(t, other, false, b.next(t)))
	b.wantPower(t, "no longer fenced", 101, "running")
	b.wantPower(t, "fenced", 102, "stopped")
}
