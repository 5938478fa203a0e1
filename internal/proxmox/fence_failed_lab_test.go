package proxmox

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// fault has calls answered by something else, from now on.
func (b *fenceBench) fault(t *testing.T, f pvelab.Fault) {
	t.Helper()
	if f.Times == 0 {
		f.Times = -1
	}
	_, err := b.Faults().Add(f)
	noError(t, err)
}

// broken is an answer that says nothing about anybody's rights, and does not pass.
func broken(method, path string) pvelab.Fault {
	return pvelab.Fault{Method: method, Path: path, Status: http.StatusInternalServerError, Text: "something broke"}
}

// TestFenceNodeCannotAsk: where a check cannot be made, nothing is stopped.
func TestFenceNodeCannotAsk(t *testing.T) {
	t.Parallel()

	durable := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true, RequireDurable: true}
	for name, test := range map[string]struct {
		fault pvelab.Fault
		check string
	}{
		"the version":        {broken("GET", "/version"), ""},
		"the permissions":    {broken("GET", "/access/permissions"), ""},
		"a guest's settings": {broken("GET", "/nodes/pve2/qemu/101/pending"), CheckOnBoot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFenceBench(t, "9.2")
			b.vm(t, "pve2", 101, nil)
			b.fault(t, test.fault)
			before := b.Counters().Snapshot()
			_, taken, err := b.client.Fence(t.Context(), durable)
			var refused *FenceRefusal
			if err == nil || !taken.IsEmpty() || errors.As(err, &refused) != (test.check != "") || refused != nil && refused.Check != test.check {
				t.Errorf("%v, taken %v", err, taken)
			}
			if made := mutations(before, b.Counters().Snapshot()); len(made) > 0 {
				t.Errorf("it made %q", made)
			}
		})
	}
}

// TestFenceNodeOfOneThatLeft: a guest that leaves the node while it is read does
// not start with it.
func TestFenceNodeOfOneThatLeft(t *testing.T) {
	t.Parallel()

	b := newFenceBench(t, "9.2")
	b.vm(t, "pve2", 101, byhand.Params{"onboot": 1})
	b.fault(t, pvelab.Fault{Method: "GET", Path: "/nodes/pve2/qemu/101/pending", Status: 500, Text: "Configuration file 'nodes/pve2/qemu-server/101.conf' does not exist"})
	proof, before, err := b.client.Fence(t.Context(), Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true, RequireDurable: true})
	noError(t, err)
	wantState(t, proof, Fenced)
	if len(before.Guests) != 1 {
		t.Errorf("to bring back: %v", before)
	}
}

// TestFenceNodeHalfDone: of two guests one cannot be stopped. The error tells
// which, why, and that the other one is.
func TestFenceNodeHalfDone(t *testing.T) {
	t.Parallel()

	b := newFenceBench(t, "9.2")
	b.vm(t, "pve2", 101, nil)
	b.vm(t, "pve2", 102, nil)
	b.fault(t, broken("POST", "/nodes/pve2/qemu/102/status/shutdown"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := Fence{Action: FenceShutdown, Node: "pve2", Foreign: true}
	tries := 0
	f.Progress = func(line string) {
		if strings.HasPrefix(line, "VM 102") {
			if tries++; tries == 2 {
				cancel() // By then all have been asked once.
			}
		}
	}
	_, before, err := b.client.Fence(ctx, f)
	var unproven *FenceUnprovenError
	var begun *FenceBegunError
	if !errors.As(err, &unproven) || !errors.As(err, &begun) || !errors.Is(err, context.Canceled) || IsFenceRefused(err) {
		t.Fatalf("got %v", err)
	}
	if !slices.Equal(begun.Taken, []string{`VM 101 "VM 101"`}) || len(before.Guests) != 2 {
		t.Errorf("stopped %q of %v", begun.Taken, before.Guests)
	}
	for _, says := range []string{`could not be proven: VM 102 "VM 102" runs`, "stopping guest 102", "something broke", "stopped by now, and left so: VM 101"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %v", says, err)
		}
	}
	if status, err := b.client.Cluster.Status(t.Context()); err != nil || !status.online("pve2") {
		t.Errorf("the node was shut down with a guest that runs: %v", err)
	}
	// What was stopped, and nothing else, is started again.
	var told []string
	f.Progress = func(line string) { told = append(told, line) }
	if left := b.unfence(t, f, before); len(left) > 0 || !slices.Equal(told, []string{`starting VM 101 "VM 101"`}) {
		t.Errorf("left %q, told %q", left, told)
	}
}

// TestFenceNodeFails has calls fail after the first stop.
func TestFenceNodeFails(t *testing.T) {
	t.Parallel()

	// The guests and HA's wishes are read once before anything is stopped.
	later := func(path string) pvelab.Fault {
		return pvelab.Fault{Method: "GET", Path: path, Status: http.StatusForbidden, Text: "not any more", Skip: 1}
	}
	busy := func(path string) pvelab.Fault {
		return pvelab.Fault{Method: "GET", Path: path, Status: 596, Text: "Connection timed out", Skip: 1, Times: 1}
	}
	for name, test := range map[string]struct {
		action FenceAction
		fault  pvelab.Fault
		// says is empty where the fence goes on.
		says string
	}{
		"the guests cannot be listed": {FenceStopGuests, later("/nodes/pve2/qemu"), "not any more"},
		"HA cannot be asked":          {FenceStopGuests, later("/cluster/ha/status/current"), "not any more"},
		"the node is busy":            {FenceStopGuests, busy("/nodes/pve2/lxc"), ""},
		"HA's node is busy":           {FenceStopGuests, busy("/cluster/ha/status/current"), ""},
		"the node is not shut down":   {FenceShutdown, broken("POST", "/nodes/pve2/status"), "something broke"},
		"that answer is lost":         {FenceShutdown, pvelab.Fault{Method: "POST", Path: "/nodes/pve2/status", Drop: pvelab.DropAfter, Times: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFenceBench(t, "9.2")
			b.vm(t, "pve2", 101, nil)
			b.fault(t, test.fault)
			_, before, err := b.client.Fence(t.Context(), Fence{Action: test.action, Node: "pve2", Foreign: true})
			if len(before.Guests) != 1 {
				t.Errorf("to bring back: %v", before)
			}
			var begun *FenceBegunError
			if test.says == "" {
				noError(t, err)
			} else if !errors.As(err, &begun) || IsFenceRefused(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestFenceNodeStaysOn: a node that was asked to shut down and does not leave the
// cluster, or that nobody tells of.
func TestFenceNodeStaysOn(t *testing.T) {
	t.Parallel()

	for says, status := range map[string]pvelab.Fault{
		"is still online":                          {Method: "POST", Path: "/nodes/pve2/status", Status: 200},
		"whether node pve2 is still online cannot": {Method: "GET", Path: "/cluster/status", Status: 500, Text: "no status", Skip: 1},
	} {
		b := newFenceBench(t, "9.2")
		b.vm(t, "pve2", 101, nil)
		b.fault(t, status)
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := b.client.Fence(ctx, Fence{Action: FenceShutdown, Node: "pve2", Foreign: true, Progress: func(line string) {
			if strings.HasPrefix(line, "shutting node") {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
		}})
		cancel()
		var begun *FenceBegunError
		if !errors.As(err, &begun) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestProveNodeFails: a proof that could not be made is an error.
func TestProveNodeFails(t *testing.T) {
	t.Parallel()

	b := newFenceBench(t, "9.2")
	noError(t, b.admin.CreateVM(t.Context(), "pve2", 101, nil))
	f := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	for _, path := range []string{
		"/cluster/status", "/nodes/pve2/qemu", "/access/permissions", "/cluster/ha/status/current", "/nodes/pve2/qemu/101/pending",
	} {
		id, err := b.Faults().Add(broken("GET", path))
		noError(t, err)
		if _, err := b.client.ProveFence(t.Context(), f); err == nil || !strings.Contains(err.Error(), "something broke") {
			t.Errorf("%s: %v", path, err)
		}
		b.Faults().Remove(id)
	}
	proof, err := b.client.ProveFence(t.Context(), f)
	noError(t, err)
	wantState(t, proof, Fenced)
}

// TestUnfenceNodeFails: guests that cannot be listed are not started.
func TestUnfenceNodeFails(t *testing.T) {
	t.Parallel()

	b := newFenceBench(t, "9.2")
	noError(t, b.admin.CreateVM(t.Context(), "pve2", 101, nil))
	f := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	before := b.Counters().Snapshot()
	if left, err := b.client.Unfence(t.Context(), f, FenceBefore{}); err != nil || len(left) > 0 {
		t.Errorf("of nothing: %v, %v", left, err)
	}
	if made := b.Counters().Snapshot().Sub(before).Total; made > 0 {
		t.Errorf("nothing takes %d calls", made)
	}
	ran := FenceBefore{Guests: []FencedGuest{{Kind: KindVM, VMID: 101}, {Kind: KindContainer, VMID: 105}}}
	for _, path := range []string{"/cluster/status", "/nodes/pve2/qemu"} {
		id, err := b.Faults().Add(broken("GET", path))
		noError(t, err)
		if _, err := b.client.Unfence(t.Context(), f, ran); err == nil || !strings.Contains(err.Error(), "something broke") {
			t.Errorf("%s: %v", path, err)
		}
		b.Faults().Remove(id)
	}
	if b.status(t, "pve2", 101).Running() {
		t.Error("it was started")
	}
	b.client.options.FenceScope.Nodes = nil
	if _, err := b.client.Unfence(t.Context(), f, ran); !errors.Is(err, ErrFenceScope) {
		t.Errorf("a node that has left the fence scope: %v", err)
	}
	b.client.options.FenceScope.Nodes = []string{"pve2"}
	left := b.unfence(t, f, ran)
	if len(left) != 1 || !strings.Contains(left[0], "container 105 is not on node pve2 any more") || !b.status(t, "pve2", 101).Running() {
		t.Errorf("left %q", left)
	}
}
