package pvelab

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
)

// ctCloning is a POST to a container's …/clone.
type ctCloning struct {
	c                       *call
	vmid, newid             int
	pool, storage, snapname string
	target                  string
	full, running           bool
	conf, mounts            guestConfig
	made                    []*volume
}

// cloneCT writes the clone's configuration before it answers: name and
// description show at once, with the lock "create"; the source has the lock "disk".
func cloneCT(c *call) (any, error) {
	p := c.params
	cl := &ctCloning{
		c: c, vmid: p.integer("vmid"), newid: p.integer("newid"), pool: p.str("pool"), storage: p.str("storage"),
		snapname: p.str("snapname"), target: p.str("target"),
	}
	if cl.target == c.node || cl.target == "localhost" {
		cl.target = ""
	}
	source, err := cl.begin()
	if err != nil {
		return nil, err
	}
	if err := cl.plan(source); err != nil {
		delete(source.conf, "lock")
		return nil, err
	}
	g := newGuest(kindLXC, cl.newid, c.node)
	g.conf = maps.Clone(cl.conf)
	c.lab.guests[cl.newid] = g
	c.lab.copyFirewall(cl.vmid, cl.newid)
	return c.lab.startTask(c, c.node, "vzclone", strconv.Itoa(cl.vmid), func(t *task) error { return cl.work(t, source) }), nil
}

func (cl *ctCloning) begin() (*guest, error) {
	l := cl.c.lab
	if cl.pool != "" && l.pools[cl.pool] == nil {
		return nil, deniedText(fmt.Sprintf("pool '%s' does not exist", cl.pool))
	}
	if cl.target != "" && l.nodes[cl.target] == nil {
		return nil, fail("no such cluster node '%s'", cl.target)
	}
	if cl.storage != "" {
		if _, err := l.storage(cl.c.node, cl.storage); err != nil {
			return nil, err
		}
	}
	source, err := cl.c.ct()
	if err != nil {
		return nil, err
	}
	if err := source.checkLock(); err != nil {
		return nil, err
	}
	if err := l.checkUnused(cl.newid); err != nil {
		return nil, err
	}
	source.conf["lock"] = "disk"
	cl.running = source.run != nil
	return source, nil
}

func (cl *ctCloning) plan(source *guest) error {
	p := cl.c.params
	cl.full = !source.isTemplate()
	if p.has("full") {
		cl.full = p.boolean("full")
	}
	if cl.storage != "" && !cl.full {
		return fail("parameter 'storage' not allowed for linked clones")
	}
	from := source.conf
	if cl.snapname != "" {
		var err error
		if from, err = source.snapshot(cl.snapname); err != nil {
			return err
		}
	}
	cl.conf, cl.mounts = guestConfig{}, guestConfig{}
	for _, key := range sortedKeys(from) {
		if err := cl.planOption(key, from[key]); err != nil {
			return err
		}
	}
	cl.conf["lock"] = "create"
	for _, key := range words("parent snaptime template") {
		delete(cl.conf, key)
	}
	if name := p.str("hostname"); name != "" {
		cl.conf["hostname"] = name
	}
	if text := ctDescription(p.str("description")); text != "" {
		cl.conf["description"] = text
	}
	return nil
}

func (cl *ctCloning) planOption(key, value string) error {
	switch {
	case unusedRE.MatchString(key):
	case isMount(key):
		return cl.planMount(key, value)
	case isNet(key):
		p := parseProps(value, "")
		p["hwaddr"] = randomMAC()
		cl.conf[key] = p.printWith("", "name")
		return cl.c.checkCTBridge(cl.conf[key])
	default:
		cl.conf[key] = value
	}
	return nil
}

func (cl *ctCloning) planMount(key, value string) error {
	l, m := cl.c.lab, parseMount(value)
	if m.kind() != "volume" {
		return fail("unable to clone mountpoint '%s' (type %s)", key, m.kind())
	}
	own, _, _ := volumeParts(m.volume())
	s, err := l.storageConfig(orDefault(cl.storage, own))
	if err != nil {
		return err
	}
	if cl.target != "" && !s.shared {
		return fail("can't clone CT to node '%s' (CT uses local storage)", cl.target)
	}
	if err := cl.c.require("/storage/"+s.id, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	switch {
	case cl.full && cl.running && cl.snapname == "":
		return fail("Full clone of a running container is only possible from a snapshot")
	// A clone of a raw file would be qcow2, which no container can use.
	case !cl.full && (s.path != "" || !l.volumeHas("clone", m.volume(), cl.snapname)):
		return fail("Linked clone feature for '%s' is not available", m.volume())
	}
	cl.mounts[key] = value
	return nil
}

func (cl *ctCloning) work(t *task, source *guest) error {
	t.logf("creating a clone of container %d with ID %d", cl.vmid, cl.newid)
	for _, key := range cl.mounts.mounts() {
		if err := cl.copyMount(t, key, parseMount(cl.mounts[key])); err != nil {
			if errors.Is(err, errTaskLost) {
				return err
			}
			cl.undo(t, source)
			return fmt.Errorf("clone failed: %w", interrupted(err))
		}
	}
	t.lab.locked(func() {
		g := t.lab.guests[cl.newid]
		delete(source.conf, "lock")
		delete(g.conf, "lock")
		if cl.target != "" {
			g.node = cl.target
		}
		if cl.pool != "" {
			t.lab.addToPool(cl.pool, cl.newid)
		}
	})
	return nil
}

func (cl *ctCloning) copyMount(t *task, key string, m mount) error {
	kind := "linked clone of mount point"
	if cl.full {
		kind = "full clone of mountpoint"
	}
	t.logf("create %s %s (%s)", kind, key, m.volume())
	var size int64
	err := t.step(func() error {
		from, err := t.lab.volume(cl.c.node, m.volume())
		if err != nil {
			return err
		}
		var to *volume
		if cl.full {
			to, err = t.lab.copyCTVolume(cl.c.node, cl.newid, from, cl.storage, t.logf)
		} else {
			to, err = t.lab.cloneVolume(cl.c.node, m.volume(), cl.newid)
		}
		if err != nil {
			return err
		}
		cl.made = append(cl.made, to)
		m["volume"], size = to.volid, to.size
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.sleep(copyTime(size)); err != nil {
		return err
	}
	t.lab.locked(func() { t.lab.guests[cl.newid].conf[key] = m.print() })
	return nil
}

func (cl *ctCloning) undo(t *task, source *guest) {
	t.lab.locked(func() {
		delete(source.conf, "lock")
		for _, v := range cl.made {
			if err := t.lab.freeVolume(cl.c.node, v.volid); err != nil {
				t.logf("%s", err)
			}
		}
		delete(t.lab.guests, cl.newid)
		t.lab.removeFirewall(cl.newid)
	})
}
