package pvelab

import (
	"strconv"
	"time"
)

func (l *Lab) routePower(status string) {
	l.handle("GET", status, index("current", "start", "stop", "reset", "shutdown", "suspend", "reboot"))
	l.handle("GET", status+"/current", vmCurrent)
	l.handle("POST", status+"/start", startVM)
	l.handle("POST", status+"/stop", stopVM)
	l.handle("POST", status+"/shutdown", shutdownVM)
	l.handle("POST", status+"/reboot", rebootVM)
	l.handle("POST", status+"/reset", resetVM)
	l.handle("POST", status+"/suspend", suspendVM)
	l.handle("POST", status+"/resume", resumeVM)
}

const (
	startTime = time.Second
	stopTime  = 500 * time.Millisecond
	// powerdownTime is what an operating system takes to shut down.
	powerdownTime = 3 * time.Second
	// pingTimeout is how long PVE waits for an agent that does not answer.
	pingTimeout = 3 * time.Second
)

// rootOnly are the parameters of the power calls that only root may use.
var rootOnly = []string{
	"skiplock", "keepActive", "migratedfrom", "stateuri", "migration_type", "migration_network",
	"targetstorage", "force-cpu", "nocheck", "with-conntrack-state", "nets-host-mtu",
}

func (c *call) refuseRootOnly() error {
	for _, name := range rootOnly {
		if c.params.has(name) && c.params.str(name) != "0" && !c.isRootPassword() {
			return badParams(map[string]string{name: "Only root may use this option."})
		}
	}
	return nil
}

func startVM(c *call) (any, error) {
	if err := c.refuseRootOnly(); err != nil {
		return nil, err
	}
	if err := c.lab.checkQuorum(); err != nil {
		return nil, err
	}
	if g := c.managed(); g != nil {
		return c.startByHA(g)
	}
	vmid := c.params.integer("vmid")
	return c.lab.startTask(c, c.node, "qmstart", strconv.Itoa(vmid), startWorker(vmid, c.node)), nil
}

func startWorker(vmid int, node string) func(*task) error {
	return func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.step(func() error { return t.lab.prepareStart(node, vmid, t) }); err != nil {
				return err
			}
			if err := t.sleep(startTime); err != nil {
				return err
			}
			return t.step(func() error { return t.lab.launch(node, vmid) })
		})
	}
}

// workerLog is where a worker writes; the daemon that restarts a VM after a reboot
// has none.
type workerLog interface {
	logf(format string, a ...any)
	warnf(format string, a ...any)
}

type noLog struct{}

func (noLog) logf(string, ...any)  {}
func (noLog) warnf(string, ...any) {}

// prepareStart checks, applies what waited for the start, and makes the
// cloud-init image.
func (l *Lab) prepareStart(node string, vmid int, log workerLog) error {
	g, err := l.vmOn(node, vmid)
	if err != nil {
		return err
	}
	if g.isTemplate() {
		return fail("you can't start a vm if it's a template")
	}
	if lock := g.conf["lock"]; lock != "suspended" {
		if err := g.checkLock(); err != nil {
			return err
		}
	}
	if g.run != nil {
		return fail("VM %d already running", vmid)
	}
	l.applyPending(nil, g, map[string]string{}, log.logf)
	if slot := g.conf.cloudInitSlot(""); slot != "" {
		if err := l.makeImage(g); err != nil {
			return err
		}
		log.logf("generating cloud-init ISO")
	}
	return l.checkHardware(g, log)
}

// checkHardware fails where a volume or a bridge is missing on the node.
func (l *Lab) checkHardware(g *guest, log workerLog) error {
	lacksEFI := g.conf["bios"] == "ovmf" && g.conf["efidisk0"] == ""
	const noEFI = "no efidisk configured! Using temporary efivars disk."
	if lacksEFI && l.is8() {
		log.warnf(noEFI)
	}
	if err := checkMachine(g.conf["machine"]); err != nil {
		return err
	}
	if err := l.checkVolumes(g); err != nil {
		return err
	}
	if lacksEFI && !l.is8() {
		log.warnf(noEFI)
	}
	for _, key := range sortedKeys(g.conf) {
		if !isNet(key) {
			continue
		}
		if bridge := parseNIC(g.conf[key])["bridge"]; bridge != "" && !l.hasBridge(g.node, bridge) {
			return fail("bridge '%s' does not exist", bridge)
		}
	}
	return nil
}

func (l *Lab) checkVolumes(g *guest) error {
	for _, key := range g.conf.drives() {
		file := parseDrive(g.conf[key]).file()
		if _, _, ok := volumeParts(file); !ok {
			continue
		}
		if _, err := l.volume(g.node, file); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) launch(node string, vmid int) error {
	g, err := l.vmOn(node, vmid)
	if err != nil {
		return err
	}
	delete(g.conf, "lock")
	l.lastPID += 16
	g.run = &running{
		pid: l.lastPID, started: l.clock.Now(), agent: g.agentEnabled(), files: map[string][]byte{}, execs: map[int]execResult{},
	}
	l.bootSystem(g)
	return nil
}

func stopVM(c *call) (any, error) {
	if err := c.refuseRootOnly(); err != nil {
		return nil, err
	}
	if g := c.managed(); g != nil {
		return c.stopByHA(g, 0)
	}
	vmid, node := c.params.integer("vmid"), c.node
	overrule := c.params.boolean("overrule-shutdown")
	return c.lab.startTask(c, c.node, "qmstop", strconv.Itoa(vmid), func(t *task) error {
		if overrule {
			t.lab.abortTasks("qmshutdown", strconv.Itoa(vmid))
		}
		return t.withLock(vmid, func() error { return t.halt(node, vmid) })
	}), nil
}

// stoppable returns the VM, nil where it does not run, for a worker that is to
// stop it.
func (t *task) stoppable(node string, vmid int) (g *guest, err error) {
	t.lab.locked(func() {
		if g, err = t.lab.vmOn(node, vmid); err != nil {
			err = fail("unable to find configuration file for VM %d on node '%s'", vmid, node)
			return
		}
		if g.run == nil {
			g = nil
			return
		}
		err = g.checkLock()
	})
	return g, err
}

// halt pulls the plug.
func (t *task) halt(node string, vmid int) error {
	g, err := t.stoppable(node, vmid)
	if err != nil || g == nil {
		return err
	}
	if err := t.sleep(stopTime); err != nil {
		return err
	}
	t.ended(g)
	return nil
}

// ended is the end of a VM's process: what waited for it is applied now.
func (t *task) ended(g *guest) {
	t.lab.locked(func() {
		g.run = nil
		t.lab.applyPending(nil, g, map[string]string{}, t.logf)
	})
}

func shutdownVM(c *call) (any, error) {
	if err := c.refuseRootOnly(); err != nil {
		return nil, err
	}
	force := c.params.boolean("forceStop")
	vmid, node := c.params.integer("vmid"), c.node
	if g, err := c.vm(); err == nil && g.run != nil && g.run.paused {
		if !force {
			return nil, fail("VM is paused - cannot shutdown")
		}
		return c.lab.startTask(c, c.node, "qmshutdown", strconv.Itoa(vmid), func(t *task) error {
			t.logf("VM is paused - stop instead of shutdown")
			return t.withLock(vmid, func() error { return t.halt(node, vmid) })
		}), nil
	}
	timeout := c.timeout()
	if g := c.managed(); g != nil {
		return c.stopByHA(g, orMinute(timeout))
	}
	return c.lab.startTask(c, c.node, "qmshutdown", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error { return t.powerdown(node, vmid, timeout, force) })
	}), nil
}

// timeout is the parameter of that name, or -1.
func (c *call) timeout() time.Duration {
	if !c.params.has("timeout") {
		return -1
	}
	return time.Duration(c.params.integer("timeout")) * time.Second
}

// orMinute is the timeout that PVE takes where a call has none.
func orMinute(timeout time.Duration) time.Duration {
	if timeout < 0 {
		return time.Minute
	}
	return timeout
}

// powerdown asks the guest to shut down and waits; the VM's lock file is held
// all the while, as PVE holds it.
func (t *task) powerdown(node string, vmid int, timeout time.Duration, force bool) error {
	g, err := t.stoppable(node, vmid)
	if err != nil || g == nil {
		return err
	}
	if timeout < 0 {
		t.lab.locked(func() { timeout = g.shutdownTimeout() })
	}
	heard, err := t.requestShutdown(g)
	if err != nil {
		return err
	}
	if heard && timeout > powerdownTime {
		if err := t.sleep(powerdownTime); err != nil {
			return err
		}
		t.ended(g)
		return nil
	}
	if err := t.sleep(timeout); err != nil {
		return err
	}
	if !force {
		return fail("VM quit/powerdown failed - got timeout")
	}
	t.logf("VM still running - terminating now with SIGTERM")
	t.ended(g)
	return nil
}

// shutdownTimeout is the start order's "down", else a minute.
func (g *guest) shutdownTimeout() time.Duration {
	if down := parseCount(parseProps(g.conf["startup"], "order")["down"]); down > 0 {
		return time.Duration(down) * time.Second
	}
	return time.Minute
}

// requestShutdown tells the guest by its agent or, where that does not answer,
// by ACPI; a guest that is still booting, or deaf, does not hear.
func (t *task) requestShutdown(g *guest) (heard bool, err error) {
	var agent, answers bool
	var wait time.Duration
	look := func() { answers, heard = t.lab.answers(g), t.lab.isUp(g) && !t.lab.deaf[g.vmid] }
	t.lab.locked(func() {
		look()
		agent, wait = g.agentEnabled(), t.lab.pingWait(g)
	})
	if !agent || answers {
		return heard, nil
	}
	if err := t.sleep(wait); err != nil {
		return false, err
	}
	if t.lab.locked(look); answers {
		return heard, nil
	}
	channel := "qga"
	if t.lab.is8() {
		channel = "qmp"
	}
	t.logf("QEMU Guest Agent is not running - VM %d %s command 'guest-ping' failed - got timeout", g.vmid, channel)
	return heard, nil
}

func rebootVM(c *call) (any, error) {
	g, err := c.vm()
	if err == nil && g.run != nil && g.run.paused {
		return nil, fail("VM is paused - cannot shutdown")
	}
	if _, err = c.mustRun(); err != nil {
		return nil, err
	}
	vmid, node, timeout := g.vmid, c.node, c.timeout()
	return c.lab.startTask(c, c.node, "qmreboot", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.powerdown(node, vmid, timeout, false); err != nil {
				return err
			}
			t.lab.locked(func() { t.lab.restart(node, vmid) })
			return nil
		})
	}), nil
}

// restart is the daemon that starts a VM again which a reboot ended. What it
// meets shows in no task: the VM just stays off.
func (l *Lab) restart(node string, vmid int) {
	if l.prepareStart(node, vmid, noLog{}) != nil {
		return
	}
	_ = l.launch(node, vmid) // fails for an absent VM only
}

// mustRun returns the VM if its process runs.
func (c *call) mustRun() (*guest, error) {
	g, err := c.runnable()
	if err != nil {
		return nil, err
	}
	if g.run == nil {
		return nil, fail("VM %d not running", g.vmid)
	}
	return g, nil
}

// instant is a power call whose worker has nothing to wait for.
func instant(typ string, act func(l *Lab, g *guest)) handler {
	return func(c *call) (any, error) {
		if err := c.refuseRootOnly(); err != nil {
			return nil, err
		}
		g, err := c.mustRun()
		if err != nil {
			return nil, err
		}
		return c.lab.startTask(c, c.node, typ, strconv.Itoa(g.vmid), func(t *task) error {
			return t.withLock(g.vmid, func() error {
				return t.step(func() error {
					if err := g.checkLock(); err != nil {
						return err
					}
					if g.run == nil {
						return fail("VM %d not running", g.vmid)
					}
					act(t.lab, g)
					return nil
				})
			})
		}), nil
	}
}

var (
	resetVM = instant("qmreset", func(l *Lab, g *guest) {
		l.bootSystem(g)
	})
	pauseVM  = instant("qmpause", func(_ *Lab, g *guest) { g.run.paused = true })
	resumeVM = instant("qmresume", func(_ *Lab, g *guest) { g.run.paused = false })
)

// suspendVM pauses. The lab keeps no memory images, so todisk is refused.
func suspendVM(c *call) (any, error) {
	if c.params.boolean("todisk") {
		return nil, fail("the lab cannot suspend VM %d to disk", c.params.integer("vmid"))
	}
	return pauseVM(c)
}

// abortTasks stops the running workers of a type and id.
func (l *Lab) abortTasks(typ, id string) {
	l.tasks.mu.Lock()
	defer l.tasks.mu.Unlock()
	for _, t := range l.tasks.started {
		if t.typ == typ && t.id == id {
			t.cancel(errInterrupted)
		}
	}
}
