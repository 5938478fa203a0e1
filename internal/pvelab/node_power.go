package pvelab

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// powerOffAfter is what systemd takes from the answer until it begins to stop
	// services, bootAfter until a node that reboots is back.
	powerOffAfter = 2 * time.Second
	bootAfter     = time.Minute
	// stopallTimeout is how long stopall leaves each guest.
	stopallTimeout = 180 * time.Second
	stopallWorkers = 8
)

func (l *Lab) routeNodePower() {
	l.handle("POST", "/nodes/{node}/status", nodeCommand)
	l.handle("POST", "/nodes/{node}/stopall", stopAll)
}

// nodeCommand shuts a node down or reboots it: its guests are stopped, then it
// goes away.
func nodeCommand(c *call) (any, error) {
	n, reboot := c.lab.nodes[c.node], c.params.str("command") == "reboot"
	c.lab.server.wg.Go(func() { c.lab.powerOff(c.ctx, n, reboot) })
	return nothing(c)
}

func (l *Lab) powerOff(ctx context.Context, n *node, reboot bool) {
	if l.clock.Sleep(ctx, powerOffAfter) != nil {
		return
	}
	var upid string
	l.locked(func() {
		n.leaving = true
		upid = l.stopGuests(nil, n.name, &stopping{timeout: stopallTimeout, force: true, workers: stopallWorkers})
	})
	t, _ := l.tasks.find(n.name, upid)
	select {
	case <-t.done:
	case <-ctx.Done():
		return
	}
	_ = l.faults.NodeOffline(n.name) // fails for an unknown node only
	if reboot && l.clock.Sleep(ctx, bootAfter) == nil {
		_ = l.faults.NodeOnline(n.name)
	}
}

// boot is what a node does that was shut down: it starts the guests that are to
// start with it.
func (l *Lab) boot(n *node) {
	n.leaving, n.booted = false, l.clock.Now()
	for _, vmid := range sortedKeys(l.guests) {
		g := l.guests[vmid]
		if g.node == n.name && g.run == nil && g.conf["onboot"] == "1" && !l.haManages(g) {
			l.startTask(nil, n.name, taskPrefix[g.kind]+"start", strconv.Itoa(vmid), starters[g.kind](vmid, n.name))
		}
	}
}

// stopping are the parameters of a stopall.
type stopping struct {
	only    []int
	timeout time.Duration
	force   bool
	workers int
}

func stopAll(c *call) (any, error) {
	s := &stopping{timeout: stopallTimeout, force: true, workers: stopallWorkers}
	if c.params.has("force-stop") {
		s.force = c.params.boolean("force-stop")
	}
	if c.params.has("max-workers") {
		s.workers = c.params.integer("max-workers")
	}
	if c.params.has("timeout") {
		s.timeout = time.Duration(c.params.integer("timeout")) * time.Second
	}
	for _, id := range c.params.list("vms") {
		s.only = append(s.only, number(id))
	}
	if !c.can("/", "VM.PowerMgmt") {
		if len(s.only) == 0 {
			return nil, denied("/", "VM.PowerMgmt")
		}
		for _, vmid := range s.only {
			if err := c.require(guestPath(vmid), "VM.PowerMgmt"); err != nil {
				return nil, err
			}
		}
	}
	return c.lab.stopGuests(c, c.node, s), nil
}

// stopGuests begins the task that stops the running guests of a node, by falling
// id, a few at a time.
func (l *Lab) stopGuests(c *call, node string, s *stopping) string {
	return l.startTask(c, node, "stopall", "", func(t *task) error {
		var all []*guest
		l.locked(func() {
			for _, vmid := range sortedKeys(l.guests) {
				g := l.guests[vmid]
				if g.node == node && g.run != nil && (s.only == nil || slices.Contains(s.only, vmid)) {
					all = append(all, g)
				}
			}
		})
		slices.Reverse(all)
		s.run(t, all)
		return nil
	})
}

// run stops guests; one that cannot be stopped is logged and left.
func (s *stopping) run(t *task, guests []*guest) {
	slots := make(chan struct{}, s.workers)
	var wg sync.WaitGroup
	for _, g := range guests {
		slots <- struct{}{}
		t.logf("Stopping %s %d (timeout = %d seconds)", g.typeName(), g.vmid, int(s.timeout.Seconds()))
		var worker *task
		t.lab.locked(func() {
			upid := t.lab.startTask(nil, t.node, taskPrefix[g.kind]+"shutdown", strconv.Itoa(g.vmid), s.shutdown(g))
			worker, _ = t.lab.tasks.find(t.node, upid)
		})
		wg.Go(func() {
			<-worker.done
			<-slots
		})
	}
	wg.Wait()
}

func (s *stopping) shutdown(g *guest) func(*task) error {
	kind, vmid, node := g.kind, g.vmid, g.node
	return func(t *task) error {
		return t.withLock(vmid, func() error {
			if kind == kindLXC {
				return t.powerdownCT(node, vmid, s.timeout, s.force)
			}
			return t.powerdown(node, vmid, s.timeout, s.force)
		})
	}
}
