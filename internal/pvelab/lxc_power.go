package pvelab

import (
	"strconv"
	"time"
)

func (l *Lab) routeCTPower(status string) {
	l.handle("GET", status, index("current", "start", "stop", "shutdown", "suspend", "resume", "reboot"))
	l.handle("GET", status+"/current", ctCurrent)
	l.handle("POST", status+"/start", startCT)
	l.handle("POST", status+"/stop", stopCT)
	l.handle("POST", status+"/shutdown", shutdownCT)
	l.handle("POST", status+"/reboot", rebootCT)
	l.handle("POST", status+"/suspend", suspendCT)
	l.handle("POST", status+"/resume", resumeCT)
}

// ctShutdown is what a container's services take to stop.
const ctShutdown = time.Second

func startCT(c *call) (any, error) {
	if err := c.refuseForToken("skiplock"); err != nil {
		return nil, err
	}
	vmid := c.params.integer("vmid")
	if c.runsCT() {
		return nil, fail("CT %d already running", vmid)
	}
	if err := c.lab.checkQuorum(); err != nil {
		return nil, err
	}
	if g := c.managed(); g != nil {
		return c.startByHA(g)
	}
	return c.lab.startTask(c, c.node, "vzstart", strconv.Itoa(vmid), startCTWorker(vmid, c.node)), nil
}

func startCTWorker(vmid int, node string) func(*task) error {
	return func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.step(func() error { return t.lab.prepareCTStart(node, vmid) }); err != nil {
				return err
			}
			if err := t.sleep(startTime); err != nil {
				return err
			}
			return t.step(func() error { return t.lab.launchCT(node, vmid) })
		})
	}
}

func (l *Lab) prepareCTStart(node string, vmid int) error {
	g, err := l.ctOn(node, vmid)
	if err != nil {
		return err
	}
	if g.isTemplate() {
		return fail("you can't start a CT if it's a template")
	}
	if g.conf["lock"] != "mounted" {
		if err := g.checkLock(); err != nil {
			return err
		}
	}
	for _, key := range g.conf.mounts() {
		if g.conf["unprivileged"] == "1" && parseMount(g.conf[key])["quota"] == "1" {
			return fail("Quotas are not supported by unprivileged containers.")
		}
	}
	ch := &ctChange{c: &call{lab: l}, g: g, errors: map[string]string{}}
	ch.apply()
	return l.checkCTHardware(g)
}

// checkCTHardware fails where a volume or a bridge is missing on the node.
func (l *Lab) checkCTHardware(g *guest) error {
	for _, key := range g.conf.mounts() {
		m := parseMount(g.conf[key])
		if m.kind() != "volume" {
			continue
		}
		if _, err := l.volume(g.node, m.volume()); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(g.conf) {
		if !isNet(key) {
			continue
		}
		if bridge := parseProps(g.conf[key], "")["bridge"]; !l.hasBridge(g.node, bridge) {
			return fail("bridge '%s' does not exist", bridge)
		}
	}
	return nil
}

func (l *Lab) launchCT(node string, vmid int) error {
	g, err := l.ctOn(node, vmid)
	if err != nil {
		return err
	}
	now := l.clock.Now()
	l.lastPID += 16
	g.run = &running{pid: l.lastPID, started: now, booted: now}
	return nil
}

func stopCT(c *call) (any, error) {
	if err := c.refuseForToken("skiplock"); err != nil {
		return nil, err
	}
	vmid, node := c.params.integer("vmid"), c.node
	if !c.runsCT() {
		return nil, fail("CT %d not running", vmid)
	}
	if g := c.managed(); g != nil {
		return c.stopByHA(g, 0)
	}
	overrule := c.params.boolean("overrule-shutdown")
	return c.lab.startTask(c, node, "vzstop", strconv.Itoa(vmid), func(t *task) error {
		if overrule {
			t.lab.abortTasks("vzshutdown", strconv.Itoa(vmid))
		}
		return t.withLock(vmid, func() error { return t.endCT(node, vmid, stopTime) })
	}), nil
}

// endCT stops a container after a while; one that does not run is fine.
func (t *task) endCT(node string, vmid int, after time.Duration) error {
	g, err := t.stoppableCT(node, vmid)
	if err != nil || g == nil {
		return err
	}
	if err := t.sleep(after); err != nil {
		return err
	}
	t.lab.locked(func() { g.run = nil })
	return nil
}

func (t *task) stoppableCT(node string, vmid int) (g *guest, err error) {
	t.lab.locked(func() {
		if g, err = t.lab.ctOn(node, vmid); err != nil {
			return
		}
		if err = g.checkLock(); err != nil || g.run == nil {
			g = nil
		}
	})
	return g, err
}

func shutdownCT(c *call) (any, error) {
	vmid, node, force := c.params.integer("vmid"), c.node, c.params.boolean("forceStop")
	if !c.runsCT() {
		return nil, fail("CT %d not running", vmid)
	}
	timeout := orMinute(c.timeout())
	if g := c.managed(); g != nil {
		return c.stopByHA(g, timeout)
	}
	return c.lab.startTask(c, node, "vzshutdown", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error { return t.powerdownCT(node, vmid, timeout, force) })
	}), nil
}

func (t *task) powerdownCT(node string, vmid int, timeout time.Duration, force bool) error {
	deaf := false
	t.lab.locked(func() { deaf = t.lab.deaf[vmid] })
	if !deaf && timeout > ctShutdown {
		return t.endCT(node, vmid, ctShutdown)
	}
	if force {
		return t.endCT(node, vmid, timeout)
	}
	g, err := t.stoppableCT(node, vmid)
	if err != nil || g == nil {
		return err
	}
	if err := t.sleep(timeout); err != nil {
		return err
	}
	return fail("container did not stop")
}

// rebootCT is named a VM's by PVE where the container does not run.
func rebootCT(c *call) (any, error) {
	vmid, node, timeout := c.params.integer("vmid"), c.node, orMinute(c.timeout())
	if !c.runsCT() {
		return nil, fail("VM %d not running", vmid)
	}
	return c.lab.startTask(c, node, "vzreboot", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.powerdownCT(node, vmid, timeout, true); err != nil {
				return err
			}
			return t.step(func() error {
				if err := t.lab.prepareCTStart(node, vmid); err != nil {
					return err
				}
				return t.lab.launchCT(node, vmid)
			})
		})
	}), nil
}

// suspendCT fails in its task: PVE would checkpoint the container with CRIU, which
// it does not ship.
func suspendCT(c *call) (any, error) {
	vmid := c.params.integer("vmid")
	if !c.runsCT() {
		return nil, fail("CT %d not running", vmid)
	}
	return c.checkpoint("vzsuspend", "-s -D"), nil
}

func resumeCT(c *call) (any, error) {
	vmid := c.params.integer("vmid")
	if c.runsCT() {
		return nil, fail("CT %d already running", vmid)
	}
	return c.checkpoint("vzresume", "-r --foreground -D"), nil
}

func (c *call) checkpoint(typ, options string) string {
	vmid := c.params.integer("vmid")
	return c.lab.startTask(c, c.node, typ, strconv.Itoa(vmid), func(*task) error {
		return fail("command 'lxc-checkpoint -n %d %s /var/lib/vz/dump' failed: exit code 1", vmid, options)
	})
}
