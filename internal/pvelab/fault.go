package pvelab

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// Faults make the lab misbehave on demand.
type Faults struct {
	lab *Lab

	mu    sync.Mutex
	next  int
	calls []*callFault
	tasks []*taskFault
	full  map[string]bool
	away  map[string]bool
}

// Drop tells when the connection of a call is cut.
type Drop string

const (
	// DropNone leaves the connection alone.
	DropNone Drop = ""
	// DropBefore cuts it before the call had any effect.
	DropBefore Drop = "before"
	// DropAfter cuts it when the call has done its work.
	DropAfter Drop = "after"
	// DropBody cuts it in the middle of the answer's body.
	DropBody Drop = "body"
)

// Fault is what shall happen to some calls.
type Fault struct {
	// Method is an HTTP method; empty matches all.
	Method string `json:"method,omitempty"`
	// Path is a regular expression, matched against the path below /api2/json.
	Path string `json:"path"`
	// Agent is a regular expression for what the client calls itself (User-Agent);
	// empty matches all. So others may be spared.
	Agent string `json:"agent,omitempty"`
	// Skip lets so many matching calls go by first.
	Skip int `json:"skip,omitempty"`
	// Times is how often it happens: 0 means once, a negative number always.
	Times int `json:"times,omitempty"`
	// Delay is waited before the answer, divided by the lab's speed.
	Delay time.Duration `json:"delay,omitempty"`
	// Drop cuts the connection.
	Drop Drop `json:"drop,omitempty"`
	// Status and Text are answered instead; the call has no effect, except with
	// After. Status 0 leaves the answer as it is.
	Status int    `json:"status,omitempty"`
	Text   string `json:"text,omitempty"`
	After  bool   `json:"after,omitempty"`
	// Hold keeps the answer back, when the call has done its work, until Release
	// or Remove.
	Hold bool `json:"hold,omitempty"`
}

// LockTimeout is the answer to a call that could not take a guest's lock.
func LockTimeout(method, path string, vmid int) Fault {
	return Fault{Method: method, Path: path, Status: http.StatusInternalServerError, Text: lockText(vmid)}
}

func lockText(vmid int) string {
	return fmt.Sprintf("can't lock file '/var/lock/qemu-server/lock-%d.conf' - got timeout", vmid)
}

// quota counts down what a fault lets by and how often it happens.
type quota struct{ skip, times, hits int }

func newQuota(skip, times int) quota {
	if times == 0 {
		times = 1
	}
	return quota{skip: skip, times: times}
}

// take reports whether it happens this time.
func (q *quota) take() bool {
	if q.skip > 0 {
		q.skip--
		return false
	}
	if q.times == 0 {
		return false
	}
	if q.times > 0 {
		q.times--
	}
	q.hits++
	return true
}

type callFault struct {
	Fault
	id    int
	path  *regexp.Regexp
	agent *regexp.Regexp
	quota
	*holding
}

func newFaults(l *Lab) *Faults {
	return &Faults{lab: l, full: map[string]bool{}, away: map[string]bool{}}
}

// Add asks for a fault and returns its number. It fails on a path or an agent that
// is no regular expression.
func (f *Faults) Add(fault Fault) (int, error) {
	re, err := regexp.Compile("^(?:" + fault.Path + ")$")
	if err != nil {
		return 0, fmt.Errorf("fault path: %w", err)
	}
	agent, err := regexp.Compile(fault.Agent)
	if err != nil {
		return 0, fmt.Errorf("fault agent: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.calls = append(f.calls, &callFault{Fault: fault, id: f.next, path: re, agent: agent, quota: newQuota(fault.Skip, fault.Times), holding: newHolding()})
	return f.next, nil
}

// Hits is how often a fault has happened.
func (f *Faults) Hits(id int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.id == id {
			return c.hits
		}
	}
	for _, t := range f.tasks {
		if t.id == id {
			return t.hits
		}
	}
	return 0
}

// Remove withdraws a fault; what it holds goes on.
func (f *Faults) Remove(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = without(f.calls, func(c *callFault) bool {
		if c.id == id {
			c.release()
		}
		return c.id == id
	})
	f.tasks = without(f.tasks, func(t *taskFault) bool {
		if t.id == id {
			t.release()
		}
		return t.id == id
	})
}

// Clear withdraws all faults and lets go on what they hold. Nodes that are offline,
// storages that are full or away and skewed clocks stay so.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tasks {
		t.release()
	}
	for _, c := range f.calls {
		c.release()
	}
	f.calls, f.tasks = nil, nil
}

func without[T any](all []T, gone func(T) bool) []T {
	var out []T
	for _, e := range all {
		if !gone(e) {
			out = append(out, e)
		}
	}
	return out
}

// match finds the first fault for a call; nil for none.
func (f *Faults) match(method, path, agent string) *callFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.Method != "" && c.Method != method || !c.path.MatchString(path) || !c.agent.MatchString(agent) {
			continue
		}
		if c.take() {
			return c
		}
	}
	return nil
}

// before returns the answer of a call that shall have no effect, else nil.
func (c *callFault) before(ctx context.Context, clk *clock) *response {
	if c == nil {
		return nil
	}
	if c.Delay > 0 && clk.Sleep(ctx, c.Delay) != nil {
		return &response{fate: fateDrop}
	}
	if c.Drop == DropBefore {
		return &response{fate: fateDrop}
	}
	if c.Status != 0 && !c.After {
		return c.instead()
	}
	return nil
}

// after changes the answer of a call that has done its work.
func (c *callFault) after(ctx context.Context, resp *response) *response {
	switch {
	case c == nil:
		return resp
	case c.Hold && c.stand(ctx) != nil:
		return &response{fate: fateDrop}
	case c.Drop == DropAfter:
		return &response{fate: fateDrop}
	case c.Drop == DropBody:
		resp.fate = fateCut
		return resp
	case c.Status != 0:
		return c.instead()
	}
	return resp
}

// instead is the answer that a fault asks for: what pveproxy itself says (502
// and above) has no body.
func (c *callFault) instead() *response {
	if c.Status >= http.StatusBadGateway {
		return bare(c.Status, c.Text)
	}
	resp := failure(httpError(c.Status, c.Text))
	resp.final = true
	return resp
}

// NodeOffline takes a node out of the cluster: its endpoint stops answering, its
// connections are cut, its tasks are lost, and calls for it through other nodes
// answer 595.
func (f *Faults) NodeOffline(name string) error { return f.setOnline(name, false) }

// NodeOnline brings a node back.
func (f *Faults) NodeOnline(name string) error { return f.setOnline(name, true) }

func (f *Faults) setOnline(name string, online bool) error {
	f.lab.mu.Lock()
	n := f.lab.nodes[name]
	if n != nil {
		n.online = online
		if online && n.leaving {
			f.lab.boot(n)
		}
	}
	f.lab.mu.Unlock()
	if n == nil {
		return fmt.Errorf("no node %q", name)
	}
	if !online {
		f.lab.tasks.loseTasks(name)
		f.lab.server.endpoints[name].dropAll()
	}
	return nil
}

// SkewClock shifts the time that all answers show.
func (f *Faults) SkewClock(d time.Duration) { f.lab.clock.setSkew(d) }

// FillStorage makes a storage full, on all nodes, or gives it its room back.
func (f *Faults) FillStorage(id string, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.full[id] = full
}

// storageFull reports whether a storage has no room by FillStorage.
func (l *Lab) storageFull(id string) bool {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	return l.faults.full[id]
}

// StorageAway makes a storage out of reach, on all nodes, or brings it back: it
// is enabled and not active.
func (f *Faults) StorageAway(id string, away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away[id] = away
}

// storageAway reports whether a storage is out of reach by StorageAway.
func (l *Lab) storageAway(id string) bool {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	return l.faults.away[id]
}
