package pvelab

import (
	"fmt"
	"strconv"
)

// destroyCT checks protection, lock and power before it answers.
func destroyCT(c *call) (any, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	d := &ctDestruction{
		c: c, vmid: g.vmid, force: c.params.boolean("force"), purge: c.params.boolean("purge"),
		unreferenced: c.params.boolean("destroy-unreferenced-disks"),
	}
	if _, err := d.check(); err != nil {
		return nil, err
	}
	return c.lab.startTask(c, c.node, "vzdestroy", strconv.Itoa(g.vmid), d.work), nil
}

// ctDestruction is a DELETE of a container.
type ctDestruction struct {
	c                          *call
	vmid                       int
	force, purge, unreferenced bool
}

func (d *ctDestruction) check() (*guest, error) {
	g, err := d.c.lab.ctOn(d.c.node, d.vmid)
	if err != nil {
		return nil, err
	}
	if err := g.checkProtection(fmt.Sprintf("can't remove CT %d", d.vmid)); err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	if err := d.c.lab.checkUnbound(g, d.purge); err != nil {
		return nil, err
	}
	if g.run != nil && !d.force {
		return nil, fail("unable to destroy CT %d - container is running", d.vmid)
	}
	return g, d.c.lab.checkBases(g)
}

// work frees the volumes, leaves a configuration with the lock "destroyed" alone,
// and removes that last.
func (d *ctDestruction) work(t *task) error {
	return t.withLock(d.vmid, func() error {
		if err := t.sleep(stopTime); err != nil {
			return err
		}
		if err := t.step(func() error { return d.free(t.logf) }); err != nil {
			return err
		}
		if err := t.sleep(stopTime); err != nil {
			return err
		}
		t.lab.locked(func() {
			if d.purge {
				t.logf("purging CT %d from related configurations..", d.vmid)
				t.lab.unbind(t.lab.guests[d.vmid], t.logf)
			}
			t.lab.removeGuestAccess(d.vmid)
			t.lab.removeFirewall(d.vmid)
			delete(t.lab.guests, d.vmid)
		})
		return nil
	})
}

func (d *ctDestruction) free(log logger) error {
	l := d.c.lab
	g, err := d.check()
	if err != nil {
		return err
	}
	g.run = nil
	for _, volid := range g.volumes() {
		if !l.owns(g, volid) {
			continue
		}
		if err := l.freeVolume(g.node, volid); err != nil {
			log("%s", err)
		}
	}
	if d.unreferenced {
		l.freeUnreferenced(g)
	}
	g.conf = guestConfig{"lock": "destroyed"}
	g.pending, g.pendingDelete, g.snapshots = guestConfig{}, map[string]bool{}, map[string]guestConfig{}
	return nil
}
