package pvelab

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

const (
	// haRound is how often the manager looks, and each node's agent acts.
	haRound = 10 * time.Second
	// fenceDelay is what passes until the manager takes a silent node for dead: its
	// watchdog has reset it by then.
	fenceDelay = 2 * time.Minute
	// haShutdown is how long a guest may take to shut down where nobody said.
	haShutdown = time.Minute
)

// haService is the manager's status of a resource.
type haService struct {
	state, node string
	// running is set once the node's agent has reported a start.
	running bool
	// timeout is what a requested stop leaves the guest; 0 pulls the plug.
	timeout time.Duration
	stop    *haCommand
	// target is the node that it was asked to move to, "" for none.
	target string
	// busy is set while the agent works on it, result what became of the work.
	busy   bool
	result haResult
	failed int
}

type haResult int

const (
	haPending haResult = iota
	haDone
	haFailed
)

// haCommand asks the manager to stop a service, or to move it to a node.
type haCommand struct {
	sid     string
	timeout time.Duration
	target  string
}

// HangHA keeps the HA manager from doing anything, or lets it go on: what is asked
// of it waits.
func (f *Faults) HangHA(hangs bool) { f.lab.locked(func() { f.lab.ha.hangs = hangs }) }

// manageHA is the HA manager until ctx ends.
func (l *Lab) manageHA(ctx context.Context) {
	for l.clock.Sleep(ctx, haRound) == nil {
		l.locked(l.haStep)
	}
}

// haStep is a round of the manager and of every node's agent. Without a quorum
// nobody holds the locks that they need.
func (l *Lab) haStep() {
	m := l.ha
	if m.hangs || !l.quorate() || m.master == "" && len(m.resources) == 0 {
		return
	}
	l.electMaster()
	l.haMembers()
	m.admit(l)
	for _, cmd := range m.commands {
		switch s := m.services[cmd.sid]; {
		case s == nil:
		case cmd.target == "":
			s.stop = &cmd
		case l.nodes[cmd.target].online && cmd.target != s.node:
			s.target = cmd.target
		}
	}
	m.commands = nil
	for _, sid := range sortedKeys(m.services) {
		l.nextState(sid, m.services[sid])
	}
	for _, sid := range sortedKeys(m.services) {
		l.act(sid, m.services[sid])
	}
}

func (l *Lab) electMaster() {
	m := l.ha
	m.stamp = l.clock.Now()
	if n := l.nodes[m.master]; n != nil && n.online {
		return
	}
	for _, name := range sortedKeys(l.nodes) {
		if l.nodes[name].online {
			m.master = name
			return
		}
	}
}

// haMembers notes since when nodes are missing.
func (l *Lab) haMembers() {
	for name, n := range l.nodes {
		switch _, missing := l.ha.gone[name]; {
		case n.online:
			delete(l.ha.gone, name)
		case !missing:
			l.ha.gone[name] = l.clock.Now()
		}
	}
}

// isDead reports whether a node has been silent for so long that it was fenced.
func (l *Lab) isDead(node string) bool {
	since, missing := l.ha.gone[node]
	return missing && l.clock.Now().Sub(since) >= l.clock.scale(fenceDelay)
}

// admit takes in resources that are new and drops those that are gone or ignored.
func (m *haManager) admit(l *Lab) {
	for sid, r := range m.resources {
		g := l.guests[r.vmid]
		if m.services[sid] != nil || r.requested() == haIgnored || g == nil {
			continue
		}
		s := &haService{state: "request_stop", node: g.node, timeout: haShutdown}
		if r.requested() == haStarted {
			s.state = haStarted
		}
		m.services[sid] = s
	}
	maps.DeleteFunc(m.services, func(sid string, _ *haService) bool {
		r := m.resources[sid]
		return r == nil || r.requested() == haIgnored
	})
}

// become changes a service's state, which starts the agent's work anew.
func (s *haService) become(state string) {
	s.state, s.running, s.result, s.failed = state, false, haPending, 0
}

// nextState is the manager's decision about one service.
func (l *Lab) nextState(sid string, s *haService) {
	r := l.ha.resources[sid]
	if g := l.guests[r.vmid]; g != nil {
		s.node = g.node
	}
	if s.state != haError && l.isDead(s.node) && r.requested() != haDisabled {
		l.recover(sid, s)
		return
	}
	wanted := r.requested()
	if s.target != "" && (s.state == haStarted && wanted == haStarted || s.state == haStopped) {
		s.become(haMigrate)
	}
	switch s.state {
	case haMigrate:
		s.nextMigrate(wanted)
	case haStarted:
		l.nextStarted(r, s)
	case "request_stop":
		switch s.result {
		case haDone:
			s.become(haStopped)
		case haFailed:
			s.become(haError)
		case haPending:
		}
	case haStopped, "recovery":
		s.stop = nil // what is stopped already ignores the command
		if wanted == haStarted {
			s.become(haStarted)
		}
	case haError:
		if wanted == haDisabled {
			s.become(haStopped)
		}
	}
}

// nextStarted decides about a service that runs or is to run. A stop that was
// asked for through the guest's own API changes the requested state.
func (l *Lab) nextStarted(r *haResource, s *haService) {
	if r.requested() != haStarted {
		s.become("request_stop")
		s.timeout = haShutdown
		return
	}
	if s.stop != nil {
		s.become("request_stop")
		s.timeout, s.stop = s.stop.timeout, nil
		r.conf["state"] = haStopped
		return
	}
	switch s.result {
	case haDone:
		s.running, s.failed, s.result = true, 0, haPending
	case haFailed:
		s.running, s.result = false, haPending
		if s.failed++; s.failed > r.attempts() {
			s.become(haError)
		}
	case haPending:
	}
}

// attempts is how often a failed start is tried again before it is an error.
func (r *haResource) attempts() int {
	total := 0
	for _, k := range []string{"max_restart", "max_relocate"} {
		n, err := strconv.Atoi(r.conf[k])
		if err != nil {
			n = 1
		}
		total += n
	}
	return total
}

// recover moves a dead node's service to another one. What was running there is
// not any more.
func (l *Lab) recover(sid string, s *haService) {
	s.become("recovery")
	g := l.guests[l.ha.resources[sid].vmid]
	target := l.placeFor(sid)
	if g == nil || target == "" {
		return
	}
	g.node, g.run, s.node = target, nil, target
	if s.state = haStopped; l.ha.resources[sid].requested() == haStarted {
		s.state = haStarted
	}
}

// placeFor is the node that a resource is recovered to, "" where there is none.
func (l *Lab) placeFor(sid string) string {
	nodes, strict := l.ha.preferred(sid)
	best, bestPriority := "", -1
	for _, name := range sortedKeys(l.nodes) {
		priority, listed := nodes[name]
		if !l.nodes[name].online || strict && !listed {
			continue
		}
		if listed {
			priority++ // any listed node before every other one
		}
		if priority > bestPriority {
			best, bestPriority = name, priority
		}
	}
	return best
}

// act is what the agent of a service's node does about it.
func (l *Lab) act(sid string, s *haService) {
	n := l.nodes[s.node]
	g := l.guests[l.ha.resources[sid].vmid]
	if s.busy || g == nil || n == nil || !n.online || n.leaving {
		return
	}
	up, isUp := g.run != nil, func() bool { return g.run != nil }
	switch s.state {
	case haMigrate:
		if s.result == haPending {
			l.haWork(g, s, migrateTask[g.kind], l.moveWorker(g, s.target), func() bool { return g.node == s.target })
		}
	case haStarted:
		if up {
			s.result = haDone
			return
		}
		l.haWork(g, s, taskPrefix[g.kind]+"start", starters[g.kind](g.vmid, g.node), isUp)
	case "request_stop", haStopped:
		if !up {
			s.result = haDone
			return
		}
		what := "shutdown"
		if s.timeout == 0 {
			what = "stop"
		}
		l.haWork(g, s, taskPrefix[g.kind]+what, stopWorker(g, s.timeout), func() bool { return !isUp() })
	}
}

// migrateTask are the types of the tasks that migrate a guest.
var migrateTask = map[string]string{kindQemu: "qmigrate", kindLXC: "vzmigrate"}

// haWork runs a task of the agent's, and notes whether the guest is as it should be
// afterwards.
func (l *Lab) haWork(g *guest, s *haService, typ string, work func(*task) error, done func() bool) {
	s.busy = true
	l.startTask(nil, g.node, typ, strconv.Itoa(g.vmid), func(t *task) error {
		err := work(t)
		l.locked(func() {
			s.busy = false
			s.result = haFailed
			if done() {
				s.result = haDone
			}
		})
		return err
	})
}

// stopWorker shuts a guest down and pulls the plug after a timeout, at once where
// that is 0.
func stopWorker(g *guest, timeout time.Duration) func(*task) error {
	kind, vmid, node := g.kind, g.vmid, g.node
	return func(t *task) error {
		return t.withLock(vmid, func() error {
			switch {
			case kind == kindLXC && timeout == 0:
				return t.endCT(node, vmid, stopTime)
			case kind == kindLXC:
				return t.powerdownCT(node, vmid, timeout, true)
			case timeout == 0:
				return t.halt(node, vmid)
			default:
				return t.powerdown(node, vmid, timeout, true)
			}
		})
	}
}

// nextMigrate decides about a service that moves, or has.
func (s *haService) nextMigrate(wanted string) {
	if s.result == haPending {
		return
	}
	s.target = ""
	if wanted == haStarted {
		s.become(haStarted)
		return
	}
	s.become("request_stop")
	s.timeout = haShutdown
}

// moveWorker migrates a guest as HA's agent does: with its local disks, a container
// by a restart.
func (l *Lab) moveWorker(g *guest, target string) func(*task) error {
	m := migration{lab: l, vmid: g.vmid, from: g.node, to: target, online: g.run != nil, withDisks: true}
	if g.kind == kindLXC {
		return (&ctMigration{migration: m, patience: migrateShutdown}).work
	}
	return m.work
}

// migrateByHA answers a migration of a guest that HA manages: its task only leaves
// a request for the manager.
func (c *call) migrateByHA(g *guest, target string) (any, error) {
	text := fmt.Sprintf("Requesting HA migration for %s %d to node %s", g.typeName(), g.vmid, target)
	return c.requestHA(g, "hamigrate", text, func() error {
		c.lab.ha.commands = append(c.lab.ha.commands, haCommand{sid: g.sid(), target: target})
		return nil
	}), nil
}

// askHA answers a power call for a guest that HA manages: its task only leaves a
// request for the manager.
func (c *call) askHA(g *guest, what string, request func() error) (any, error) {
	if c.params.has("overrule-shutdown") && c.params.boolean("overrule-shutdown") {
		return nil, badParams(map[string]string{"overrule-shutdown": "Not applicable for HA resources."})
	}
	return c.requestHA(g, "ha"+what, fmt.Sprintf("Requesting HA %s for %s %d", what, g.typeName(), g.vmid), request), nil
}

// requestHA starts the task that leaves a request for the manager.
func (c *call) requestHA(g *guest, typ, text string, request func() error) string {
	l := c.lab
	return l.startTask(c, c.node, typ, strconv.Itoa(g.vmid), func(t *task) error {
		t.logf("%s", text)
		return t.step(func() error {
			err := l.ha.checkState(g.sid(), "")
			if err == nil {
				err = request()
			}
			if err == nil {
				return nil
			}
			t.logf("%s", strings.TrimSuffix(err.Error(), "\n"))
			return fail("command 'ha-manager' failed: exit code 255")
		})
	})
}

// startByHA asks for the state started.
func (c *call) startByHA(g *guest) (any, error) {
	return c.askHA(g, "start", func() error {
		r := c.lab.haResource(g)
		if r == nil {
			return fail("update resources config failed: no such resource '%s'", g.sid())
		}
		r.conf["state"] = haStarted
		return nil
	})
}

// stopByHA asks the manager to stop a guest within a timeout, at once where that
// is 0.
func (c *call) stopByHA(g *guest, timeout time.Duration) (any, error) {
	return c.askHA(g, "stop", func() error {
		if !c.lab.haManages(g) {
			return fail("resource '%s' is not HA managed", g.sid())
		}
		c.lab.ha.commands = append(c.lab.ha.commands, haCommand{sid: g.sid(), timeout: timeout})
		return nil
	})
}

// managed is the guest that a power call names, where HA manages it, else nil.
func (c *call) managed() *guest {
	g := c.lab.guests[c.params.integer("vmid")]
	if g == nil || g.node != c.node || !c.lab.haManages(g) {
		return nil
	}
	return g
}
