package pvelab

import (
	"errors"
	"fmt"
	"strconv"
)

func destroyVM(c *call) (any, error) {
	if err := c.refuseForToken("skiplock"); err != nil {
		return nil, err
	}
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := c.checkDestroy(g, c.params.boolean("purge")); err != nil {
		return nil, err
	}
	d := &destruction{
		c: c, vmid: g.vmid, purge: c.params.boolean("purge"), skiplock: c.params.boolean("skiplock"),
		unreferenced: c.params.boolean("destroy-unreferenced-disks"),
	}
	return c.lab.startTask(c, c.node, "qmdestroy", strconv.Itoa(g.vmid), d.work), nil
}

func (c *call) checkDestroy(g *guest, purge bool) error {
	if err := g.checkProtection(fmt.Sprintf("can't remove VM %d", g.vmid)); err != nil {
		return err
	}
	if err := c.lab.checkUnbound(g, purge); err != nil {
		return err
	}
	if g.run != nil {
		return fail("VM %d is running - destroy failed", g.vmid)
	}
	return nil
}

// destruction is a DELETE of a VM.
type destruction struct {
	c                             *call
	vmid                          int
	purge, skiplock, unreferenced bool
}

func (d *destruction) work(t *task) error {
	return t.withLock(d.vmid, func() error {
		if err := t.step(d.begin); err != nil {
			return err
		}
		if err := t.sleep(stopTime); err != nil {
			return err
		}
		return t.step(func() error { return d.finish(t.logf) })
	})
}

// begin checks again: the configuration may have changed since the answer.
func (d *destruction) begin() error {
	g, err := d.c.lab.vmOn(d.c.node, d.vmid)
	if err != nil {
		return err
	}
	if err := d.c.checkDestroy(g, d.purge); err != nil {
		return err
	}
	if !d.skiplock && g.conf["lock"] != "suspended" {
		if err := g.checkLock(); err != nil {
			return err
		}
	}
	return d.c.lab.checkBases(g)
}

// checkBases refuses to remove a template whose disks have linked clones.
func (l *Lab) checkBases(g *guest) error {
	if !g.isTemplate() {
		return nil
	}
	for _, volid := range g.volumes() {
		if l.baseInUse(volid) {
			return fail("base volume '%s' is still in use by linked cloned", volid)
		}
	}
	return nil
}

func (d *destruction) finish(log logger) error {
	l := d.c.lab
	g, err := l.vmOn(d.c.node, d.vmid)
	if err != nil {
		return err
	}
	for _, volid := range g.volumes() {
		if !l.owns(g, volid) {
			continue
		}
		if err := l.freeVolume(g.node, volid); err != nil {
			log("Could not remove disk '%s', check manually: %s", volid, err)
		}
	}
	if d.unreferenced {
		l.freeUnreferenced(g)
	}
	l.removeGuestAccess(g.vmid)
	l.removeFirewall(g.vmid)
	if d.purge {
		log("purging VM %d from related configurations..", g.vmid)
		l.unbind(g, log)
	}
	delete(l.guests, g.vmid)
	return nil
}

func (l *Lab) freeUnreferenced(g *guest) {
	for _, v := range l.volumesOf(g.node, g.vmid) {
		var gone *apiError
		if err := l.freeVolume(g.node, v.volid); err != nil && !errors.As(err, &gone) {
			return
		}
	}
}

// volumes lists what the guest's slots, unusedN keys, pending changes and
// snapshots hold, media of CD-ROM drives left out.
func (g *guest) volumes() []string {
	var list []string
	seen := map[string]bool{}
	for _, conf := range append([]guestConfig{g.conf, g.pending}, mapValues(g.snapshots)...) {
		for _, key := range sortedKeys(conf) {
			if !g.isVolumeKey(key) && !unusedRE.MatchString(key) {
				continue
			}
			d := parseDrive(conf[key])
			if _, _, ok := volumeParts(d.file()); !ok || d.isPlainCDROM() || seen[d.file()] {
				continue
			}
			seen[d.file()] = true
			list = append(list, d.file())
		}
	}
	return list
}

func mapValues(m map[string]guestConfig) []guestConfig {
	list := make([]guestConfig, 0, len(m))
	for _, key := range sortedKeys(m) {
		list = append(list, m[key])
	}
	return list
}
