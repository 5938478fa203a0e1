package pvelab

import (
	"strconv"
	"strings"
	"time"
)

func (l *Lab) routeSnapshots(base string) {
	one := base + "/{snapname}"
	l.handle("GET", base, snapshotList)
	l.handle("POST", base, snapshotCreate)
	l.handle("GET", one, func(*call) (any, error) { return subdirs("cmd", "rollback", "config"), nil })
	l.handle("DELETE", one, snapshotDelete)
	l.handle("GET", one+"/config", snapshotConfig)
	l.handle("PUT", one+"/config", snapshotUpdate)
	l.handle("POST", one+"/rollback", snapshotRollback)
}

const snapshotTime = 300 * time.Millisecond

// snapshot is the configuration that a snapshot holds.
func (g *guest) snapshot(name string) (guestConfig, error) {
	snap, ok := g.snapshots[name]
	if !ok {
		return nil, fail("snapshot '%s' does not exist", name)
	}
	return snap, nil
}

func snapshotList(c *call) (any, error) {
	g, err := c.namedGuest()
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, name := range sortedKeys(g.snapshots) {
		snap := g.snapshots[name]
		item := map[string]any{
			"name": name, "snaptime": optionValue("snaptime", snap["snaptime"]),
			"vmstate": boolInt(snap["vmstate"] != ""), "description": snap["description"],
		}
		if parent := snap["parent"]; parent != "" {
			item["parent"] = parent
		}
		list = append(list, item)
	}
	current := map[string]any{
		"name": "current", "digest": g.digest(), "running": boolInt(g.run != nil), "description": "You are here!",
	}
	if parent := g.conf["parent"]; parent != "" {
		current["parent"] = parent
	}
	return append(list, current), nil
}

func snapshotConfig(c *call) (any, error) {
	g, err := c.namedGuest()
	if err != nil {
		return nil, err
	}
	snap, err := g.snapshot(c.params.str("snapname"))
	if err != nil {
		return nil, err
	}
	if g.kind == kindLXC {
		return g.show(snap), nil
	}
	return snap.show(), nil
}

func snapshotUpdate(c *call) (any, error) {
	if !c.params.has("description") {
		return nil, nil
	}
	vmid := c.params.integer("vmid")
	return nil, c.withLock(vmid, func() error {
		g, err := c.namedGuest()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		snap, err := g.snapshot(c.params.str("snapname"))
		if err != nil {
			return err
		}
		snap.set("description", c.params.str("description"))
		return nil
	})
}

// snapshotStep is one locked step of a worker on the VM's snapshots.
type snapshotStep func(g *guest) error

// snapshotTask forks a worker that runs its steps, each under the VM's lock
// file, with time between them.
func (c *call) snapshotTask(typ string, steps ...func(t *task) snapshotStep) string {
	vmid, node, kind := c.params.integer("vmid"), c.node, c.kind()
	return c.lab.startTask(c, node, taskPrefix[kind]+typ, strconv.Itoa(vmid), func(t *task) error {
		for i, step := range steps {
			if i > 0 {
				if err := t.sleep(snapshotTime); err != nil {
					return err
				}
			}
			err := t.withLock(vmid, func() error {
				return t.step(func() error {
					g, err := t.lab.guestOn(kind, node, vmid)
					if err != nil {
						return err
					}
					return step(t)(g)
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// snapshotCreate makes snapshots of disks. The lab keeps no memory: vmstate is
// ignored, as PVE ignores it for a stopped VM.
func snapshotCreate(c *call) (any, error) {
	name, description := c.params.str("snapname"), c.params.str("description")
	switch strings.ToLower(name) {
	case "current", "pending":
		return nil, fail("unable to use snapshot name '%s' (reserved name)", strings.ToLower(name))
	}
	if _, err := c.namedGuest(); err != nil {
		return nil, err
	}
	prepare := func(t *task) snapshotStep {
		return func(g *guest) error { return t.prepareSnapshot(g, name, description) }
	}
	commit := func(*task) snapshotStep {
		return func(g *guest) error {
			delete(g.conf, "lock")
			g.conf["parent"] = name
			return nil
		}
	}
	return c.snapshotTask("snapshot", prepare, commit), nil
}

func (t *task) prepareSnapshot(g *guest, name, description string) error {
	if g.isTemplate() {
		return fail("you can't take a snapshot if it's a template")
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if _, ok := g.snapshots[name]; ok {
		return fail("snapshot name '%s' already used", name)
	}
	if !t.lab.canSnapshot(g) {
		return fail("snapshot feature is not available")
	}
	snap := g.conf.forSnapshot()
	snap["snaptime"] = strconv.FormatInt(t.lab.clock.Now().Unix(), 10)
	snap.set("description", description)
	g.snapshots[name] = snap
	g.conf["lock"] = "snapshot"
	for _, key := range snap.drives() { // a container's are not mentioned.
		if d := parseDrive(snap[key]); !d.isCDROM() {
			t.logf("snapshotting 'drive-%s' (%s)", key, d.file())
		}
	}
	return nil
}

// forSnapshot copies what a snapshot keeps of a configuration, or a rollback
// of a snapshot.
func (o guestConfig) forSnapshot() guestConfig {
	out := guestConfig{}
	for key, value := range o {
		switch key {
		case "lock", "snaptime", "vmstate", "description":
			continue
		}
		if !unusedRE.MatchString(key) {
			out[key] = value
		}
	}
	return out
}

func snapshotDelete(c *call) (any, error) {
	name := c.params.str("snapname")
	prepare := func(*task) snapshotStep {
		return func(g *guest) error {
			if _, err := g.snapshot(name); err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.isTemplate() {
				return fail("you can't delete a snapshot if vm is a template")
			}
			g.conf["lock"] = "snapshot-delete"
			return nil
		}
	}
	remove := func(*task) snapshotStep { return func(g *guest) error { return g.removeSnapshot(name) } }
	return c.snapshotTask("delsnapshot", prepare, remove), nil
}

// removeSnapshot hands its parent on to those that had it as theirs, and keeps
// volumes that only the snapshot held as unusedN.
func (g *guest) removeSnapshot(name string) error {
	snap := g.snapshots[name]
	delete(g.snapshots, name)
	for _, conf := range append(mapValues(g.snapshots), g.conf) {
		if conf["parent"] != name {
			continue
		}
		delete(conf, "parent")
		if snap["parent"] != "" {
			conf["parent"] = snap["parent"]
		}
	}
	delete(g.conf, "lock")
	for _, key := range g.volumeKeys(snap) {
		d := parseDrive(snap[key])
		if d.isCDROM() {
			continue
		}
		if _, err := g.conf.addUnused(d.file()); err != nil {
			return err
		}
	}
	g.dropUsed()
	return nil
}

func snapshotRollback(c *call) (any, error) {
	name, start := c.params.str("snapname"), c.params.boolean("start")
	if start {
		if err := c.require(guestPath(c.params.integer("vmid")), "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}
	prepare := func(*task) snapshotStep {
		return func(g *guest) error {
			if g.isTemplate() {
				return fail("you can't rollback if vm is a template")
			}
			if _, err := g.snapshot(name); err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			g.run = nil
			g.conf["lock"] = "rollback"
			return nil
		}
	}
	apply := func(t *task) snapshotStep {
		return func(g *guest) error {
			if err := t.lab.rollBack(g, name); err != nil || !start {
				return err
			}
			t.lab.startTask(c, c.node, taskPrefix[g.kind]+"start", strconv.Itoa(g.vmid), starters[g.kind](g.vmid, g.node))
			return nil
		}
	}
	return c.snapshotTask("rollback", prepare, apply), nil
}

// rollBack restores configuration and sizes; description and unusedN stay, and
// volumes that the snapshot does not know become unusedN.
func (l *Lab) rollBack(g *guest, name string) error {
	snap := g.snapshots[name]
	conf := snap.forSnapshot()
	conf["parent"] = name
	if conf["vmgenid"] != "" {
		conf["vmgenid"] = newUUID()
	}
	for key, value := range g.conf {
		if key == "description" || unusedRE.MatchString(key) {
			conf[key] = value
		}
	}
	for _, key := range g.volumeKeys(g.conf) {
		d := parseDrive(g.conf[key])
		if d.isCDROM() || !l.owns(g, d.file()) || snap.holds(d.file()) || snap.mountsVolume(d.file()) {
			continue
		}
		if _, err := conf.addUnused(d.file()); err != nil {
			return err
		}
	}
	for _, key := range g.volumeKeys(snap) {
		if d := parseDrive(snap[key]); !d.isCDROM() {
			if err := l.resizeVolume(g.node, d.file(), d.size()); err != nil {
				return err
			}
		}
	}
	g.conf, g.pending, g.pendingDelete = conf, guestConfig{}, map[string]bool{}
	return nil
}

func (o guestConfig) holds(volid string) bool {
	for _, key := range o.drives() {
		if parseDrive(o[key]).file() == volid {
			return true
		}
	}
	return false
}
