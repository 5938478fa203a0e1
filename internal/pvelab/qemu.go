package pvelab

import (
	"time"
)

// qemuState is what the guests' endpoints keep in the lab.
type qemuState struct {
	guests  map[int]*guest
	locks   *guestLocks
	lastPID int
	// deaf guests ignore ACPI and agent requests to shut down; those in mute
	// have no agent running. Both by vmid, whether or not the guest exists yet.
	deaf, mute map[int]bool
	// services are the states of guests' units of systemd.
	services map[int]map[string]string
	// cloudInitErrors are what cloud-init fails with, by vmid.
	cloudInitErrors map[int]string
	// held are the guests whose CD-ROM drives do not let go of their media.
	held map[int]bool
}

// IgnoreShutdown makes a guest ignore requests to shut down, or heed them again.
// The guest need not exist yet.
func (f *Faults) IgnoreShutdown(vmid int, ignore bool) {
	f.lab.locked(func() { f.lab.deaf[vmid] = ignore })
}

// MuteAgent keeps a guest's agent from answering, or lets it answer again. The
// guest need not exist yet.
func (f *Faults) MuteAgent(vmid int, mute bool) {
	f.lab.locked(func() { f.lab.mute[vmid] = mute })
}

// HoldMedia keeps a running guest's CD-ROM drives from letting go of what is in
// them, or lets them again: QEMU does not answer in time. The guest need not
// exist yet.
func (f *Faults) HoldMedia(vmid int, hold bool) {
	f.lab.locked(func() { f.lab.held[vmid] = hold })
}

// Unlock lifts the lock in a guest's configuration, as "qm unlock" and "pct unlock" do
// on its node: the API has no call for it.
func (f *Faults) Unlock(vmid int) {
	f.lab.locked(func() {
		if g := f.lab.guests[vmid]; g != nil {
			delete(g.conf, "lock")
		}
	})
}

// SetService gives a service in a guest a state, such as "active" or "failed". The
// guest need not exist yet; a service that nobody has set is "inactive".
func (f *Faults) SetService(vmid int, unit, state string) {
	f.lab.locked(func() {
		if f.lab.services[vmid] == nil {
			f.lab.services[vmid] = map[string]string{}
		}
		f.lab.services[vmid][unit] = state
	})
}

func (l *Lab) initQemu() {
	l.guests = map[int]*guest{}
	l.locks = newGuestLocks()
	l.lastPID = 8000
	l.deaf, l.mute, l.services = map[int]bool{}, map[int]bool{}, map[int]map[string]string{}
	l.cloudInitErrors, l.held = map[int]string{}, map[int]bool{}
}

func (l *Lab) routeQemu() {
	const vms = "/nodes/{node}/qemu"
	const vm = vms + "/{vmid}"
	l.handle("GET", vms, listVMs)
	l.handle("POST", vms, createVM)
	l.handle("GET", vm, index("config", "cloudinit", "pending", "status", "unlink", "vncproxy",
		"termproxy", "migrate", "resize", "move", "rrd", "rrddata", "monitor", "agent", "snapshot",
		"spiceproxy", "sendkey", "firewall", "mtunnel", "remote_migrate"))
	l.handle("DELETE", vm, destroyVM)
	l.handle("GET", vm+"/config", vmConfig)
	l.handle("PUT", vm+"/config", updateVM)
	l.handle("POST", vm+"/config", updateVMAsync)
	l.handle("GET", vm+"/pending", vmPending)
	l.handle("PUT", vm+"/unlink", unlinkDisks)
	l.handle("PUT", vm+"/resize", resizeDisk)
	l.handle("POST", vm+"/move_disk", moveDisk)
	l.handle("POST", vm+"/clone", cloneVM)
	l.handle("POST", vm+"/template", makeTemplate)
	l.handle("GET", vm+"/feature", vmFeature)
	l.handle("GET", vm+"/migrate", migratePreconditions)
	l.handle("POST", vm+"/migrate", migrateVM)
	l.routePower(vm + "/status")
	l.routeSnapshots(vm + "/snapshot")
	l.routeAgent(vm + "/agent")
	l.routeCloudInit(vm + "/cloudinit")
}

// index answers a directory of the tree of paths.
func index(names ...string) handler {
	return func(*call) (any, error) { return subdirs("subdir", names...), nil }
}

// vm returns the VM that a call names, if its configuration is on the node.
func (c *call) vm() (*guest, error) { return c.lab.vmOn(c.node, c.params.integer("vmid")) }

func (l *Lab) vmOn(node string, vmid int) (*guest, error) {
	g := l.guests[vmid]
	if g == nil || g.kind != "qemu" || g.node != node {
		return nil, fail("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
	}
	return g, nil
}

// runnable returns the VM with the text that PVE's test for a running process
// dies with where there is none.
func (c *call) runnable() (*guest, error) {
	g, err := c.vm()
	if err != nil {
		return nil, fail("unable to find configuration file for VM %d on node '%s'", c.params.integer("vmid"), c.node)
	}
	return g, nil
}

// refuseForToken refuses options that only root@pam itself may use.
func (c *call) refuseForToken(names ...string) error {
	for _, name := range names {
		if c.params.boolean(name) && !c.isRootPassword() {
			return badParams(map[string]string{name: "Only root may use this option."})
		}
	}
	return nil
}

// requireVM demands privileges on a VM, or on the pool it is created in.
func (c *call) requireVM(vmid int, pool string, privs ...string) error {
	if pool != "" && c.can("/pool/"+pool, privs...) {
		return nil
	}
	return c.require(guestPath(vmid), privs...)
}

func (c *call) requireAnyVM(vmid int, pool string, privs ...string) error {
	if pool != "" && c.canAny("/pool/"+pool, privs...) {
		return nil
	}
	return c.requireAny(guestPath(vmid), privs...)
}

func listVMs(c *call) (any, error) {
	list := []map[string]any{}
	for _, vmid := range sortedKeys(c.lab.guests) {
		g := c.lab.guests[vmid]
		if g.kind == "qemu" && g.node == c.node && c.can(guestPath(vmid), "VM.Audit") {
			list = append(list, c.lab.vmStatus(g, c.params.boolean("full")))
		}
	}
	return list, nil
}

// bootTime is how long a guest's operating system takes until it answers its
// agent and heeds ACPI.
const bootTime = 11500 * time.Millisecond

// isUp reports whether the guest's operating system runs.
func (l *Lab) isUp(g *guest) bool { return g.run != nil && !g.run.paused && l.untilUp(g) <= 0 }

// answers reports whether the guest's agent does.
func (l *Lab) answers(g *guest) bool { return l.isUp(g) && g.run.agent && !l.mute[g.vmid] }

// untilUp is what is left of the boot, in PVE's time.
func (l *Lab) untilUp(g *guest) time.Duration {
	booting := float64(l.clock.Now().Sub(g.run.booted)) * l.opts.Speed
	return bootTime - time.Duration(booting)
}
