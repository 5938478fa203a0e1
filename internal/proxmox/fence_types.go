package proxmox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// FenceAction is what a fence does.
type FenceAction string

// The actions.
const (
	// FenceStop stops a VM.
	FenceStop FenceAction = "vm.stop"
	// FenceLinkDown takes network devices of a VM down while it keeps running.
	FenceLinkDown FenceAction = "vm.link-down"
	// FenceStopGuests stops all guests of a node.
	FenceStopGuests FenceAction = "node.stop-guests"
	// FenceShutdown stops all guests of a node, then shuts it down.
	FenceShutdown FenceAction = "node.shutdown"
)

// OfNode reports whether the action is about a whole node.
func (a FenceAction) OfNode() bool { return a == FenceStopGuests || a == FenceShutdown }

// Fence says what to fence and on which conditions.
type Fence struct {
	Action FenceAction
	// Node is where the VM has to be, or the node to fence.
	Node string
	// VMID is the VM; UID is its marker's, "" for whatever marker it carries.
	VMID int
	UID  string
	// NICs are the slots to take down.
	NICs []string
	// Foreign allows a guest without our marker, or outside the range, when it is
	// in the fence scope. Nodes always take it.
	Foreign bool
	// GuestTimeout is how long each guest of a node may take to shut down before
	// the plug is pulled.
	GuestTimeout time.Duration
	// RequireDurable refuses a fence that would not outlast a restart.
	RequireDurable bool
	Precondition   FencePrecondition
	// Progress receives what happens, a line each and one at a time. It may be nil.
	Progress func(line string)
}

// inTurn has Progress called by one guest of a node at a time.
func (f Fence) inTurn() Fence {
	if f.Progress == nil {
		return f
	}
	var mu sync.Mutex
	progress := f.Progress
	f.Progress = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		progress(line)
	}
	return f
}

// FencePrecondition is what has to hold before anything is stopped.
type FencePrecondition struct {
	// Job names a replication job whose replica has to be no older than MaxLag;
	// "" asks for none.
	Job    string
	MaxLag time.Duration
	// Quorum wants the cluster to be quorate.
	Quorum bool
}

func (f Fence) tell(format string, a ...any) {
	if f.Progress != nil {
		f.Progress(fmt.Sprintf(format, a...))
	}
}

// guest is the VM that is fenced.
func (f Fence) guest() Guest { return Guest{Kind: KindVM, VMID: f.VMID, Node: f.Node, UID: f.UID} }

// FenceState is how a fence stands.
type FenceState string

// The states. A fence is never said to hold where it cannot be proven.
const (
	// Fenced is proven, and outlasts a restart of the node and of HA.
	Fenced FenceState = "fenced"
	// FenceTransient is proven just now, and something would undo it.
	FenceTransient FenceState = "transient"
	// FenceUnknown cannot be proven: nobody could be asked.
	FenceUnknown FenceState = "unknown"
	// FenceLapsed does not hold any more.
	FenceLapsed FenceState = "lapsed"
)

// The checks of a fence, by the names that proofs and refusals tell.
const (
	CheckScope       = "scope"
	CheckKind        = "kind"
	CheckNode        = "node"
	CheckEndpoint    = "endpoint-not-on-node"
	CheckVisible     = "guests-visible"
	CheckLock        = "not-locked"
	CheckOnBoot      = "onboot-off"
	CheckHA          = "ha"
	CheckReplication = "replication"
	CheckQuorum      = "quorum"
	CheckStopped     = "stopped"
	CheckLinks       = "links-down"
)

// FenceProof is what was found about a fence.
type FenceProof struct {
	State FenceState
	// Reasons say why it is not simply fenced.
	Reasons []string
	// Checks tell which checks passed.
	Checks map[string]bool
	At     time.Time
}

func (c *Client) newProof() *FenceProof {
	return &FenceProof{State: Fenced, Checks: map[string]bool{}, At: c.clock.Now()}
}

// check notes a check. One that failed makes the proof what it says, unless it is
// worse already.
func (p *FenceProof) check(name string, passed bool, otherwise FenceState, format string, a ...any) {
	if held, seen := p.Checks[name]; !seen || held {
		p.Checks[name] = passed
	}
	if passed {
		return
	}
	p.Reasons = append(p.Reasons, fmt.Sprintf(format, a...))
	if severity[otherwise] > severity[p.State] {
		p.State = otherwise
	}
}

var severity = map[FenceState]int{Fenced: 0, FenceTransient: 1, FenceUnknown: 2, FenceLapsed: 3}

// FenceBefore is what unfencing brings back.
type FenceBefore struct {
	// Guests ran before, or HA wanted them to.
	Guests []FencedGuest `json:"guests,omitempty"`
	// LinksUp are the network devices that were up.
	LinksUp []string `json:"links_up,omitempty"`
}

// FencedGuest is a guest that a fence stopped.
type FencedGuest struct {
	Kind Kind `json:"kind"`
	VMID int  `json:"vmid"`
	// HA is the state that HA was asked for, "" where HA did not manage it or could
	// not be asked.
	HA string `json:"ha,omitempty"`
}

func (g FencedGuest) String() string { return nameGuest(g.Kind, g.VMID, "", "") }

// IsEmpty reports whether there is nothing to bring back.
func (b FenceBefore) IsEmpty() bool { return len(b.Guests) == 0 && len(b.LinksUp) == 0 }

// WantedByHA are the guests that HA was asked to have started. Its manager keeps
// them stopped now, until they are started again.
func (b FenceBefore) WantedByHA() []FencedGuest {
	return slices.DeleteFunc(slices.Clone(b.Guests), func(g FencedGuest) bool { return !g.wantedByHA() })
}

func (g FencedGuest) wantedByHA() bool { return HAResource{Requested: g.HA}.wantsUp() }

// With is what two fences of the same target took, one after the other: what the
// later one found stopped had run before the earlier one.
func (b FenceBefore) With(later FenceBefore) FenceBefore {
	all := FenceBefore{Guests: slices.Clone(b.Guests), LinksUp: slices.Clone(b.LinksUp)}
	for _, guest := range later.Guests {
		if !slices.ContainsFunc(all.Guests, func(g FencedGuest) bool { return g.VMID == guest.VMID && g.Kind == guest.Kind }) {
			all.Guests = append(all.Guests, guest)
		}
	}
	for _, slot := range later.LinksUp {
		if !slices.Contains(all.LinksUp, slot) {
			all.LinksUp = append(all.LinksUp, slot)
		}
	}
	return all
}

// FenceRefusal says that a fence was refused before anything was stopped.
type FenceRefusal struct {
	// Check names the check that failed.
	Check  string
	Reason string
	Err    error
}

func (e *FenceRefusal) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

func (e *FenceRefusal) Unwrap() error { return e.Err }

func refuse(check, format string, a ...any) error {
	return &FenceRefusal{Check: check, Reason: fmt.Sprintf(format, a...)}
}

func refusedBy(check string, err error, format string, a ...any) error {
	return &FenceRefusal{Check: check, Reason: fmt.Sprintf(format, a...), Err: err}
}

// IsFenceRefused reports whether a fence was refused before anything was done.
func IsFenceRefused(err error) bool {
	var refusal *FenceRefusal
	var ownership *OwnershipError
	var begun *FenceBegunError
	if errors.As(err, &begun) {
		return false
	}
	return errors.As(err, &refusal) || errors.As(err, &ownership) || errors.Is(err, ErrFenceScope) || errors.Is(err, ErrNoRange)
}

// FenceUnprovenError says that what was begun could not be brought to its end in
// time.
type FenceUnprovenError struct {
	// Left says what is not as it should be.
	Left []string
	Err  error
}

func (e *FenceUnprovenError) Error() string {
	text := "the fence could not be proven: " + strings.Join(e.Left, "; ")
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *FenceUnprovenError) Unwrap() error { return e.Err }

// FenceBegunError says that a fence failed when it had begun.
type FenceBegunError struct {
	// Taken names what is stopped, or down, by now. It stays so.
	Taken []string
	// Unread says why that could not be read.
	Unread error
	Err    error
}

func (e *FenceBegunError) Error() string { return e.Err.Error() + "; " + e.Outcome() }

// Outcome says what the fence has done.
func (e *FenceBegunError) Outcome() string {
	switch {
	case e.Unread != nil:
		return "what it has stopped by now cannot be read: " + e.Unread.Error()
	case len(e.Taken) == 0:
		return "nothing is stopped by now"
	}
	return "stopped by now, and left so: " + strings.Join(e.Taken, ", ")
}

func (e *FenceBegunError) Unwrap() error { return e.Err }
