package pvelab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// resizeDisk leaves everything but the form of its parameters to the worker, as
// PVE does: a missing disk or a shrink shows in the task only.
func resizeDisk(c *call) (any, error) {
	if err := c.refuseForToken("skiplock"); err != nil {
		return nil, err
	}
	vmid := c.params.integer("vmid")
	return c.lab.startTask(c, c.node, "resize", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error {
			return t.step(func() error { return c.resize(t.logf) })
		})
	}), nil
}

func (c *call) resize(log logger) error {
	g, err := c.vm()
	if err != nil {
		return err
	}
	if err := g.checkDigest(c.params.str("digest")); err != nil {
		return err
	}
	if !c.params.boolean("skiplock") {
		if err := g.checkLock(); err != nil {
			return err
		}
	}
	slot := c.params.str("disk")
	value, ok := g.conf[slot]
	if !ok {
		return fail("disk '%s' does not exist", slot)
	}
	d := parseDrive(value)
	if d.isCDROM() {
		return fail("you can't resize a cdrom")
	}
	storage, _, _ := volumeParts(d.file())
	if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	v, err := c.lab.volume(g.node, d.file())
	if err != nil {
		return err
	}
	size, relative, _ := parseSize(c.params.str("size"))
	if relative {
		size += v.size
	}
	if size < v.size {
		return fail("shrinking disks is not supported")
	}
	if size == v.size {
		return nil
	}
	if err := c.lab.resizeVolume(g.node, d.file(), size); err != nil {
		return err
	}
	if g.run == nil {
		log("Image resized.")
	}
	d.setSize(size)
	g.conf[slot] = d.print()
	return nil
}

// moving is a POST to …/move_disk, to another storage or to another VM.
type moving struct {
	c              *call
	vmid, target   int
	slot, toSlot   string
	storage        string
	format         string
	removeSource   bool
	digest, toHash string
}

func moveDisk(c *call) (any, error) {
	p := c.params
	m := &moving{
		c: c, vmid: p.integer("vmid"), target: p.integer("target-vmid"), slot: p.str("disk"),
		toSlot: orDefault(p.str("target-disk"), p.str("disk")), storage: p.str("storage"), format: p.str("format"),
		removeSource: p.boolean("delete"), digest: p.str("digest"), toHash: p.str("target-digest"),
	}
	switch {
	case m.target != 0 && m.storage != "":
		const text = "either set 'storage' or 'target-vmid', but not both"
		return nil, badParams(map[string]string{"target-vmid": text, "storage": text})
	case m.target != 0:
		return m.reassign()
	case m.storage != "":
		return m.move()
	}
	const text = "both 'storage' and 'target-vmid' missing, either needs to be set"
	return nil, badParams(map[string]string{"target-vmid": text, "storage": text})
}

func (m *moving) move() (any, error) {
	if err := m.c.require("/storage/"+m.storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	if _, _, err := m.checkMove(); err != nil {
		return nil, err
	}
	return m.c.lab.startTask(m.c, m.c.node, "qmmove", strconv.Itoa(m.vmid), func(t *task) error {
		return t.withLock(m.vmid, func() error { return m.copy(t) })
	}), nil
}

func (m *moving) checkMove() (*guest, drive, error) {
	l := m.c.lab
	g, err := m.c.vm()
	if err != nil {
		return nil, nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, nil, err
	}
	if err := g.checkModified(m.digest); err != nil {
		return nil, nil, err
	}
	value, ok := g.conf[m.slot]
	if !ok {
		return nil, nil, fail("disk '%s' does not exist", m.slot)
	}
	d := parseDrive(value)
	if d.isPlainCDROM() {
		return nil, nil, fail("you can't move a cdrom")
	}
	have, err := l.parseVolume(d.file())
	if err != nil {
		return nil, nil, err
	}
	if have.storageID == m.storage && (m.format == "" || have.format == m.format) {
		return nil, nil, fail("you can't move to the same storage with same format")
	}
	s, err := l.storage(g.node, m.storage)
	if err != nil {
		return nil, nil, err
	}
	if !s.allows("images") {
		text := fmt.Sprintf("storage '%s' does not support vm images", m.storage)
		return nil, nil, badParams(map[string]string{"storage": text})
	}
	if m.removeSource && g.inSnapshot(d.file()) {
		return nil, nil, fail("you can't move a disk with snapshots and delete the source")
	}
	return g, d, nil
}

// checkModified is the digest check of the calls that word it differently.
func (g *guest) checkModified(digest string) error {
	if digest != "" && digest != g.digest() {
		return fail("detected modified configuration - file changed by other user? Try again.")
	}
	return nil
}

func (m *moving) copy(t *task) error {
	var g *guest
	var d drive
	var v *volume
	var old string
	err := t.step(func() (err error) {
		if g, d, err = m.checkMove(); err != nil {
			return err
		}
		old = d.file()
		v, err = m.newVolume(t, d)
		return err
	})
	if err != nil {
		return err
	}
	if err := transfer(t, v.size); err != nil {
		if errors.Is(err, errTaskLost) {
			return err
		}
		err = fmt.Errorf("storage migration failed: copy failed: %w", interrupted(err))
		return errors.Join(err, t.step(func() error { return t.lab.freeVolume(g.node, v.volid) }))
	}
	return t.step(func() error { return m.swap(t, g, d, v, old) })
}

func (m *moving) newVolume(t *task, d drive) (*volume, error) {
	if !t.lab.is8() {
		from, _, _ := volumeParts(d.file())
		t.logf("copying volume '%s' from current storage '%s' to target storage '%s'", d.file(), from, m.storage)
	}
	t.logf("create full clone of drive %s (%s)", m.slot, d.file())
	v, err := t.lab.copyTarget(m.c.node, m.vmid, d, m.storage, m.format, m.slot)
	if err != nil {
		return nil, fmt.Errorf("storage migration failed: %w", err)
	}
	t.logf("%s", allocLine(v))
	if !t.lab.is8() {
		t.logf("allocated target volume '%s'", v.volid)
	}
	return v, nil
}

// swap puts the copy into the slot; the source is removed or kept as unusedN.
func (m *moving) swap(t *task, g *guest, d drive, v *volume, old string) error {
	if g.isTemplate() {
		base, err := t.lab.makeBase(g.node, v.volid)
		if err != nil {
			return err
		}
		v = base
	}
	delete(d, "format")
	d["file"] = v.volid
	d.setSize(v.size)
	g.conf[m.slot] = d.print()
	if m.removeSource {
		if !t.lab.is8() {
			t.logf("removing source volume '%s' after successful copy", old)
		}
		return t.lab.freeVolume(g.node, old)
	}
	key, err := g.conf.addUnused(old)
	if err != nil {
		return err
	}
	if !t.lab.is8() {
		t.logf("adding source volume '%s' as '%s' to config", old, key)
	}
	return nil
}

func (m *moving) reassign() (any, error) {
	c := m.c
	if err := c.require(guestPath(m.target), "VM.Config.Disk"); err != nil {
		return nil, err
	}
	if m.vmid == m.target {
		const text = "must be different than source VMID to reassign disk"
		return nil, badParams(map[string]string{"target-vmid": text})
	}
	_, _, d, err := m.checkReassign()
	if err != nil {
		return nil, err
	}
	storage, _, _ := volumeParts(d.file())
	if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%d-%s>%d-%s", m.vmid, m.slot, m.target, m.toSlot)
	return c.lab.startTask(c, c.node, "qmmove", id, func(t *task) error {
		return t.withLock(m.vmid, func() error {
			return t.withLock(m.target, func() error {
				return t.step(func() error { return m.handOver(t.logf) })
			})
		})
	}), nil
}

func (m *moving) checkReassign() (from, to *guest, d drive, err error) {
	l := m.c.lab
	if l.guests[m.vmid] == nil {
		return nil, nil, nil, fail("could not find VM %d", m.vmid)
	}
	if l.guests[m.target] == nil {
		return nil, nil, nil, fail("could not find target VM %d", m.target)
	}
	if from, err = m.c.vm(); err != nil {
		return nil, nil, nil, err
	}
	if to, err = l.vmOn(m.c.node, m.target); err != nil {
		return nil, nil, nil, err
	}
	for _, g := range []*guest{from, to} {
		if err := g.checkLock(); err != nil {
			return nil, nil, nil, err
		}
	}
	if from.isTemplate() || to.isTemplate() {
		return nil, nil, nil, fail("Can't move disks from or to template VMs")
	}
	if err := from.checkModified(m.digest); err != nil {
		return nil, nil, nil, fmt.Errorf("VM %d: %w", m.vmid, err)
	}
	if err := to.checkModified(m.toHash); err != nil {
		return nil, nil, nil, fmt.Errorf("VM %d: %w", m.target, err)
	}
	value, ok := from.conf[m.slot]
	if !ok {
		return nil, nil, nil, fail("Disk '%s' for VM '%d' does not exist", m.slot, m.vmid)
	}
	if to.conf[m.toSlot] != "" {
		return nil, nil, nil, fail("Target disk key '%s' is already in use for VM '%d'", m.toSlot, m.target)
	}
	d = parseDrive(value)
	switch {
	case d.isPlainCDROM():
		err = fail("CD drive contents can't be moved to another VM")
	case from.inSnapshot(d.file()):
		err = fail("Can't move disk used by a snapshot to another VM")
	case !l.volumeHas("rename", d.file(), ""):
		err = fail("Storage does not support moving of this disk to another VM")
	case from.run != nil && !unusedRE.MatchString(m.slot):
		err = fail("Cannot move disk to another VM while the source VM is running - detach first")
	}
	return from, to, d, err
}

func (m *moving) handOver(log logger) error {
	from, to, d, err := m.checkReassign()
	if err != nil {
		return err
	}
	if m.c.lab.is8() {
		log("moving disk '%s' from VM '%d' to '%d'", m.slot, m.vmid, m.target)
	} else {
		log("reassign disk '%s' from VM '%d' as '%s' to VM '%d'", m.slot, m.vmid, m.toSlot, m.target)
	}
	v, err := m.c.lab.renameVolume(from.node, d.file(), m.target)
	if err != nil {
		return err
	}
	d["file"] = v.volid
	order := bootOrder(from.conf["boot"])
	if i := slices.Index(order, m.slot); i >= 0 {
		log("removing disk '%s' from boot order config", m.slot)
		from.conf.set("boot", printBootOrder(slices.Delete(order, i, i+1)))
	}
	delete(from.conf, m.slot)
	log("removing disk '%s' from VM '%d' config", m.slot, m.vmid)
	if unusedRE.MatchString(m.toSlot) {
		to.conf[m.toSlot] = d.file()
		return nil
	}
	log("update VM %d: -%s %s", m.target, m.toSlot, d.print())
	to.setPending(m.toSlot, d.print())
	return m.c.carryOut(to, map[string]bool{m.toSlot: true}, log)
}

func makeTemplate(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	only := c.params.str("disk")
	if err := g.checkTemplate(only); err != nil {
		return nil, err
	}
	vmid, node := g.vmid, c.node
	return c.lab.startTask(c, c.node, "qmtemplate", strconv.Itoa(vmid), func(t *task) error {
		return t.withLock(vmid, func() error {
			if err := t.sleep(templateTime); err != nil {
				return err
			}
			return t.step(func() error { return t.lab.convert(node, vmid, only) })
		})
	}), nil
}

const templateTime = 200 * time.Millisecond

func (g *guest) checkTemplate(only string) error {
	if err := g.checkLock(); err != nil {
		return err
	}
	switch {
	case len(g.snapshots) > 0:
		return fail("unable to create template, because VM contains snapshots")
	case g.isTemplate() && only == "":
		return fail("you can't convert a template to a template")
	case g.run != nil:
		return fail("you can't convert a VM to template if VM is running")
	}
	return nil
}

// convert turns a VM's volumes into base images.
func (l *Lab) convert(node string, vmid int, only string) error {
	g, err := l.vmOn(node, vmid)
	if err != nil {
		return err
	}
	if err := g.checkTemplate(only); err != nil {
		return err
	}
	g.conf["template"] = "1"
	for _, key := range g.conf.drives() {
		d := parseDrive(g.conf[key])
		if d.isCDROM() || (only != "" && key != only) || !l.volumeHas("template", d.file(), "") {
			continue
		}
		base, err := l.makeBase(g.node, d.file())
		if err != nil {
			return err
		}
		d["file"] = base.volid
		g.conf[key] = d.print()
	}
	return nil
}

// vmFeature answers …/feature: whether the VM's volumes can be snapshotted,
// cloned or copied, and the nodes that reach them all.
func vmFeature(c *call) (any, error) {
	g, err := c.runnable()
	if err != nil {
		return nil, err
	}
	conf, snap := g.conf, c.params.str("snapname")
	if snap != "" {
		if conf, err = g.snapshot(snap); err != nil {
			return nil, err
		}
	}
	has := boolInt(c.lab.hasFeature(conf, c.params.str("feature"), snap))
	return map[string]any{"hasFeature": has, "nodes": c.lab.nodesFor(g, conf)}, nil
}

func (l *Lab) hasFeature(conf guestConfig, feature, snap string) bool {
	for _, key := range conf.drives() {
		if d := parseDrive(conf[key]); !d.isCDROM() && !l.volumeHas(feature, d.file(), snap) {
			return false
		}
	}
	return true
}

// nodesFor lists the nodes from which every volume of a configuration can be
// used: one of its own, where some volume is local.
func (l *Lab) nodesFor(g *guest, conf guestConfig) []string {
	nodes := []string{}
	for _, node := range sortedKeys(l.nodes) {
		if l.nodes[node].online && (node == g.node || len(l.missingStorages(conf, node)) == 0) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
