package pvelab

import (
	"errors"
	"fmt"
	"strconv"
)

// mountChange is a resize, checked before the answer and again in the worker.
type mountChange struct {
	g    *guest
	key  string
	m    mount
	v    *volume
	size int64
}

func resizeMount(c *call) (any, error) {
	vmid := c.params.integer("vmid")
	if _, err := c.checkResize(); err != nil {
		return nil, err
	}
	return c.lab.startTask(c, c.node, "resize", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.sleep(allocTime); err != nil {
				return err
			}
			return t.step(func() error {
				ch, err := c.checkResize()
				if err != nil {
					return err
				}
				return ch.grow(t)
			})
		})
	}), nil
}

func (c *call) checkResize() (*mountChange, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	// PVE takes the name of the volume's parameter, "disk", for an option of the container.
	if err := c.requireVM(g.vmid, "", "VM.Config.Disk", "VM.Config.Options"); err != nil {
		return nil, err
	}
	if err := g.checkModified(c.params.str("digest")); err != nil {
		return nil, err
	}
	key := c.params.str("disk")
	if g.conf[key] == "" {
		return nil, noMount(key)
	}
	m := parseMount(g.conf[key])
	name, err := c.lab.parseVolume(m.volume())
	if err != nil {
		return nil, err
	}
	if name.vmid != g.vmid {
		return nil, fail("can't resize mount point owned by another container (%d)", name.vmid)
	}
	if err := c.require("/storage/"+name.storageID, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	v, err := c.lab.volume(g.node, m.volume())
	if err != nil {
		return nil, err
	}
	size, relative, _ := parseSize(c.params.str("size"))
	if relative {
		size += v.size
	}
	switch {
	case size < v.size:
		return nil, fail("unable to shrink disk size")
	case size == v.size:
		return nil, fail("disk is already at specified size")
	}
	return &mountChange{g: g, key: key, m: m, v: v, size: size}, nil
}

func (ch *mountChange) grow(t *task) error {
	if err := t.lab.resizeVolume(ch.g.node, ch.v.volid, ch.size); err != nil {
		return err
	}
	ch.m.setSize(ch.size)
	ch.g.conf[ch.key] = ch.m.print()
	t.logf("Image resized.")
	t.logf("resize2fs 1.47.2 (1-Jan-2025)")
	fs := newExt4(ch.size)
	t.logf("Resizing the filesystem on %s to %d (%dk) blocks.", ch.v.path(), fs.blocks, fs.blockSize/1024)
	return nil
}

// volumeMove is a POST to …/move_volume, to another storage or another container.
type volumeMove struct {
	c              *call
	vmid, target   int
	key, toKey     string
	storage        string
	removeSource   bool
	digest, toHash string
}

func moveVolume(c *call) (any, error) {
	p := c.params
	m := &volumeMove{
		c: c, vmid: p.integer("vmid"), target: p.integer("target-vmid"), key: p.str("volume"), storage: p.str("storage"),
		toKey: orDefault(p.str("target-volume"), p.str("volume")), removeSource: p.boolean("delete"),
		digest: p.str("digest"), toHash: p.str("target-digest"),
	}
	switch {
	case m.target != 0 && m.storage != "":
		return nil, fail("either set storage or target-vmid, but not both")
	case m.target != 0:
		return m.handOver()
	case m.storage != "":
		return m.move()
	}
	const text = "both 'storage' and 'target-vmid' missing, either needs to be set"
	return nil, badParams(map[string]string{"target-vmid": text, "storage": text})
}

// move copies a volume to another storage; meanwhile the container has the lock
// "disk".
func (m *volumeMove) move() (any, error) {
	if err := m.c.require("/storage/"+m.storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	g, err := m.checkMove()
	if err != nil {
		return nil, err
	}
	g.conf["lock"] = "disk"
	return m.c.lab.startTask(m.c, m.c.node, "move_volume", strconv.Itoa(m.vmid), func(t *task) error {
		err := m.copy(t, g)
		if errors.Is(err, errTaskLost) {
			return err
		}
		t.lab.locked(func() { delete(g.conf, "lock") })
		return err
	}), nil
}

func (m *volumeMove) checkMove() (*guest, error) {
	g, err := m.c.ct()
	if err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	switch {
	case g.run != nil:
		return nil, fail("cannot move volumes of a running container")
	case unusedRE.MatchString(m.key):
		return nil, fail("cannot move volume '%s', only configured volumes can be moved to another storage", m.key)
	case g.conf[m.key] == "":
		return nil, noMount(m.key)
	}
	if m.removeSource && g.snapshotMounts(parseMount(g.conf[m.key]).volume()) {
		return nil, fail("you can't move a volume with snapshots and delete the source")
	}
	return g, g.checkModified(m.digest)
}

func (g *guest) snapshotMounts(volid string) bool {
	for _, snap := range g.snapshots {
		if snap.mountsVolume(volid) {
			return true
		}
	}
	return false
}

func (m *volumeMove) copy(t *task, g *guest) error {
	var from, to *volume
	err := t.step(func() (err error) {
		if from, err = t.lab.volume(g.node, parseMount(g.conf[m.key]).volume()); err != nil {
			return err
		}
		to, err = t.lab.copyCTVolume(g.node, m.vmid, from, m.storage, t.logf)
		return err
	})
	if err != nil {
		return err
	}
	if err := t.sleep(copyTime(from.size)); err != nil {
		if errors.Is(err, errTaskLost) {
			return err
		}
		return errors.Join(interrupted(err), t.step(func() error { return t.lab.freeVolume(g.node, to.volid) }))
	}
	return t.step(func() error {
		mp := parseMount(g.conf[m.key])
		mp["volume"] = to.volid
		mp.setSize(to.size)
		g.conf[m.key] = mp.print()
		if m.removeSource {
			return t.lab.freeVolume(g.node, from.volid)
		}
		_, err := g.conf.addUnused(from.volid)
		return err
	})
}

// copyCTVolume makes the volume that a container's volume is copied to.
func (l *Lab) copyCTVolume(node string, vmid int, from *volume, storageID string, log logger) (*volume, error) {
	to, err := l.allocCT(node, vmid, orDefault(storageID, from.storageID), from.size, log)
	if err != nil {
		return nil, err
	}
	to.contentID, to.unpacked = from.contentID, from.unpacked
	return to, nil
}

// handOver gives a volume to another container, or to another slot of its own.
func (m *volumeMove) handOver() (any, error) {
	c := m.c
	if err := c.requireVM(m.target, "", "VM.Config.Disk"); err != nil {
		return nil, err
	}
	_, _, mp, err := m.checkHandOver()
	if err != nil {
		return nil, err
	}
	storage, _, _ := volumeParts(mp.volume())
	if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%d-%s>%d-%s", m.vmid, m.key, m.target, m.toKey)
	return c.lab.startTask(c, c.node, "move_volume", id, func(t *task) error {
		return t.withLock(m.vmid, func() error {
			if m.target == m.vmid {
				return m.reassign(t)
			}
			return t.withLock(m.target, func() error { return m.reassign(t) })
		})
	}), nil
}

func (m *volumeMove) checkHandOver() (from, to *guest, mp mount, err error) {
	l := m.c.lab
	switch {
	case m.key == "rootfs" || m.toKey == "rootfs":
		return nil, nil, nil, fail("Cannot move to/from 'rootfs'")
	case unusedRE.MatchString(m.key) && !unusedRE.MatchString(m.toKey):
		return nil, nil, nil, fail("Moving an unused volume to a used one is not possible")
	}
	for _, vmid := range []int{m.vmid, m.target} {
		if l.guests[vmid] == nil {
			return nil, nil, nil, fail("could not find CT %d", vmid)
		}
	}
	if a, b := l.guests[m.vmid].node, l.guests[m.target].node; a != b {
		return nil, nil, nil, fail("Both containers need to be on the same node (%s != %s)", a, b)
	}
	if from, err = m.c.ct(); err != nil {
		return nil, nil, nil, err
	}
	if to, err = l.ctOn(m.c.node, m.target); err != nil {
		return nil, nil, nil, err
	}
	for _, g := range []*guest{from, to} {
		if err := g.checkLock(); err != nil {
			return nil, nil, nil, err
		}
	}
	if from.isTemplate() || to.isTemplate() {
		return nil, nil, nil, fail("Can't move volumes from or to template CT")
	}
	if err := from.checkModified(m.digest); err != nil {
		return nil, nil, nil, fail("Container %d: %s", m.vmid, err)
	}
	if err := to.checkModified(m.toHash); err != nil {
		return nil, nil, nil, fail("Container %d: %s", m.target, err)
	}
	mp, err = m.checkSlots(from, to)
	return from, to, mp, err
}

func (m *volumeMove) checkSlots(from, to *guest) (mount, error) {
	if from.conf[m.key] == "" {
		return nil, fail("volume '%s' for container '%d' does not exist", m.key, m.vmid)
	}
	if to.conf[m.toKey] != "" {
		return nil, fail("Target volume key '%s' is already in use for container '%d'", m.toKey, m.target)
	}
	mp := parseMount(from.conf[m.key])
	switch {
	case from.snapshotMounts(mp.volume()):
		return nil, fail("Cannot move volume used by a snapshot to another container")
	case mp.kind() != "volume":
		return nil, fail("Cannot move a bindmount or device mount to another container")
	case !m.c.lab.volumeHas("rename", mp.volume(), ""):
		return nil, fail("Storage does not support moving of this disk to another container")
	case from.run != nil && !unusedRE.MatchString(m.key):
		return nil, fail("Cannot move in-use volume while the source CT is running - detach or shutdown first")
	}
	return mp, nil
}

func (m *volumeMove) reassign(t *task) error {
	if err := t.sleep(allocTime); err != nil {
		return err
	}
	return t.step(func() error {
		from, to, mp, err := m.checkHandOver()
		if err != nil {
			return err
		}
		t.logf("moving volume '%s' from container '%d' to '%d'", m.key, m.vmid, m.target)
		v, err := t.lab.renameVolume(from.node, mp.volume(), m.target)
		if err != nil {
			return err
		}
		mp["volume"] = v.volid
		delete(from.conf, m.key)
		t.logf("removing volume '%s' from container '%d' config", m.key, m.vmid)
		if err := m.attach(t, to, mp); err != nil {
			return err
		}
		t.logf("target container '%d' updated with '%s'", m.target, m.toKey)
		return nil
	})
}

// attach puts the volume into the target's slot as a change of its configuration
// would; what fails there is a warning.
func (m *volumeMove) attach(t *task, to *guest, mp mount) error {
	if unusedRE.MatchString(m.toKey) {
		to.conf[m.toKey] = mp.volume()
		return nil
	}
	ch := &ctChange{c: m.c, g: to, touched: map[string]bool{m.toKey: true}, errors: map[string]string{}}
	if err := ch.checkMountStorage(m.toKey, mp.print()); err != nil {
		return err
	}
	to.pending[m.toKey] = mp.print()
	if to.run != nil {
		ch.hotplug()
	} else {
		ch.apply()
	}
	for _, key := range sortedKeys(ch.errors) {
		t.warnf("%s", ch.errors[key])
	}
	return nil
}

// makeCTTemplate answers at once; a worker goes on.
func makeCTTemplate(c *call) (any, error) {
	vmid, node := c.params.integer("vmid"), c.node
	return nil, c.withLock(vmid, func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkCTTemplate(); err != nil {
			return err
		}
		c.lab.startTask(c, node, "vztemplate", strconv.Itoa(vmid), func(t *task) error {
			if err := t.sleep(templateTime); err != nil {
				return err
			}
			return t.step(func() error { return t.lab.convertCT(node, vmid) })
		})
		return nil
	})
}

func (g *guest) checkCTTemplate() error {
	if err := g.checkLock(); err != nil {
		return err
	}
	switch {
	case len(g.snapshots) > 0:
		return fail("unable to create template, because CT contains snapshots")
	case g.isTemplate():
		return fail("you can't convert a template to a template")
	case g.run != nil:
		return fail("you can't convert a CT to template if the CT is running")
	}
	return nil
}

func (l *Lab) convertCT(node string, vmid int) error {
	g, err := l.ctOn(node, vmid)
	if err != nil {
		return err
	}
	keys := g.conf.mounts()
	for _, key := range keys {
		if volid := parseMount(g.conf[key]).volume(); !l.volumeHas("template", volid, "") {
			return fail("Template feature is not available for '%s'", volid)
		}
	}
	for _, key := range keys {
		m := parseMount(g.conf[key])
		base, err := l.makeBase(node, m.volume())
		if err != nil {
			return err
		}
		m["volume"] = base.volid
		g.conf[key] = m.print()
	}
	g.conf["template"] = "1"
	return nil
}

func ctFeature(c *call) (any, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	conf, snap := g.conf, c.params.str("snapname")
	if snap != "" {
		if conf, err = g.snapshot(snap); err != nil {
			return nil, err
		}
	}
	return map[string]any{"hasFeature": boolInt(c.lab.ctHasFeature(conf, c.params.str("feature"), snap))}, nil
}

func (l *Lab) ctHasFeature(conf guestConfig, feature, snap string) bool {
	for _, key := range conf.mounts() {
		if m := parseMount(conf[key]); m.kind() == "volume" && !l.volumeHas(feature, m.volume(), snap) {
			return false
		}
	}
	return true
}
