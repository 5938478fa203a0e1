package pvelab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// missingStorages names the storages of a configuration that a node cannot use.
func (l *Lab) missingStorages(conf guestConfig, node string) []string {
	var missing []string
	for _, key := range conf.drives() {
		id, _, ok := volumeParts(parseDrive(conf[key]).file())
		if !ok || slices.Contains(missing, id) {
			continue
		}
		if s, err := l.storageConfig(id); err == nil && (!s.enabled(node) || !s.shared) {
			missing = append(missing, id)
		}
	}
	return missing
}

// unusableStorages are those that a node does not have at all.
func (l *Lab) unusableStorages(conf guestConfig, node string) []string {
	return slices.DeleteFunc(l.missingStorages(conf, node), func(id string) bool {
		return l.storages[id].enabled(node)
	})
}

func migratePreconditions(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	allowed, refused := []string{}, map[string]any{}
	for _, name := range sortedKeys(c.lab.nodes) {
		if name == c.node {
			continue
		}
		// PVE lists the nodes that are allowed here, too, with nothing against them.
		against := map[string]any{}
		if missing := c.lab.unusableStorages(g.conf, name); len(missing) > 0 {
			against["unavailable_storages"] = missing
		}
		refused[name] = against
		if len(against) == 0 {
			allowed = append(allowed, name)
		}
	}
	bound, mapped := g.localResources()
	devices := map[string]any{}
	for key, name := range mapped {
		devices[key] = map[string]any{"name": name}
	}
	out := map[string]any{
		"running": boolInt(g.run != nil), "allowed_nodes": allowed, "not_allowed_nodes": refused,
		"local_disks": c.lab.localDisks(g), "local_resources": bound,
		"mapped-resources": append([]string{}, sortedKeys(mapped)...), "mapped-resource-info": devices,
	}
	if !c.lab.is8() {
		out["has-dbus-vmstate"] = 1
	}
	return out, nil
}

func migrateVM(c *call) (any, error) {
	target := c.params.str("target")
	if target == c.node {
		return nil, badParams(map[string]string{"target": "target is local node."})
	}
	if c.lab.nodes[target] == nil {
		return nil, fail("no such cluster node '%s'", target)
	}
	if err := c.refuseForToken("force"); err != nil {
		return nil, err
	}
	for _, name := range []string{"migration_type", "migration_network"} {
		if c.params.has(name) && !c.isRootPassword() {
			return nil, badParams(map[string]string{name: "Only root may use this option."})
		}
	}
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	if g.run != nil && !c.params.boolean("online") {
		return nil, fail("can't migrate running VM without --online")
	}
	if missing := c.lab.unusableStorages(g.conf, target); len(missing) > 0 && !c.params.has("targetstorage") {
		return nil, fail("storage '%s' is not available on node '%s'", missing[0], target)
	}
	if c.lab.haManages(g) {
		return c.migrateByHA(g, target)
	}
	m := &migration{
		lab: c.lab, vmid: g.vmid, from: c.node, to: target, online: g.run != nil,
		withDisks: c.params.boolean("with-local-disks"), storage: c.params.str("targetstorage"),
	}
	return c.lab.startTask(c, c.node, migrateTask[g.kind], strconv.Itoa(g.vmid), m.work), nil
}

// migration moves a guest to another node.
type migration struct {
	lab               *Lab
	vmid              int
	from, to, storage string
	online, withDisks bool
	began             time.Time
}

func (m *migration) logf(t *task, format string, a ...any) {
	t.logf("%s %s", t.lab.clock.Now().Format("2006-01-02 15:04:05"), fmt.Sprintf(format, a...))
}

func (m *migration) work(t *task) error {
	m.began = t.lab.clock.Now()
	return t.withLock(m.vmid, func() error {
		m.logf(t, "starting migration of VM %d to node '%s'", m.vmid, m.to)
		var locals []string
		if err := t.step(m.prepare); err != nil {
			m.logf(t, "ERROR: migration aborted (duration %s): %s", m.duration(t), strings.TrimSpace(err.Error()))
			return fail("migration aborted")
		}
		err := t.step(func() (err error) {
			locals, err = m.begin(t)
			return err
		})
		if err != nil {
			return m.fails(t, err)
		}
		if err := m.transfer(t, locals); err != nil {
			t.lab.locked(m.unlock)
			return m.fails(t, err)
		}
		t.lab.locked(m.finish)
		m.logf(t, "migration finished successfully (duration %s)", m.duration(t))
		return nil
	})
}

func (m *migration) duration(t *task) string {
	d := t.lab.clock.Now().Sub(m.began)
	return fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func (m *migration) fails(t *task, err error) error {
	m.logf(t, "ERROR: Problem found while scanning volumes - %s", err)
	m.logf(t, "aborting phase 1 - cleanup resources")
	return fail("migration aborted")
}

// prepare refuses a VM that is locked, or bound to its node, and a target that
// does not answer.
func (m *migration) prepare() error {
	g, err := m.lab.vmOn(m.from, m.vmid)
	if err == nil {
		err = g.checkLock()
	}
	if err == nil {
		err = m.checkDevices(g)
	}
	if err == nil && !m.lab.nodes[m.to].online {
		err = fail("Can't connect to destination address using public key")
	}
	return err
}

// begin locks the VM and lists the volumes that have to be copied.
func (m *migration) begin(t *task) ([]string, error) {
	l := m.lab
	g, err := l.vmOn(m.from, m.vmid)
	if err != nil {
		return nil, err
	}
	images := l.localImages(g)
	for _, volid := range images {
		m.logf(t, "can't migrate local disk '%s': local cdrom image", volid)
	}
	if len(images) > 0 {
		return nil, fail("can't migrate VM - check log")
	}
	var locals []string
	for _, volid := range g.volumes() {
		id, _, _ := volumeParts(volid)
		if s := l.storages[id]; s != nil && !s.shared && l.owns(g, volid) {
			locals = append(locals, volid)
		}
	}
	if m.online && len(locals) > 0 && !m.withDisks {
		return nil, fail("can't live migrate attached local disks without with-local-disks option")
	}
	g.conf["lock"] = "migrate"
	return locals, nil
}

func (m *migration) transfer(t *task, locals []string) error {
	for _, volid := range locals {
		var size int64
		err := t.step(func() error {
			v, err := t.lab.volume(m.from, volid)
			if err == nil {
				size = v.size
			}
			return err
		})
		if err != nil {
			return err
		}
		m.logf(t, "copying local disk image '%s'", volid)
		if err := t.sleep(copyTime(size)); err != nil {
			return err
		}
		if err := t.step(func() error { return m.moveVolume(volid) }); err != nil {
			return err
		}
	}
	return t.sleep(time.Second)
}

// moveVolume puts a copied volume on the target node, under the same name where
// it is free there.
func (m *migration) moveVolume(volid string) error {
	l := m.lab
	g := l.guests[m.vmid]
	v, err := l.volume(m.from, volid)
	if err != nil {
		return err
	}
	id, name, _ := volumeParts(volid)
	s, err := l.storage(m.to, orDefault(m.storage, id))
	if err != nil {
		return err
	}
	made, err := s.alloc(m.to, m.vmid, s.resolveFormat(v.format), name[strings.LastIndex(name, "/")+1:], v.size)
	if err != nil {
		return err
	}
	made.contentID = v.contentID
	for _, conf := range append([]guestConfig{g.conf, g.pending}, slices.Collect(maps.Values(g.snapshots))...) {
		for key, value := range conf {
			if (g.isVolumeKey(key) || unusedRE.MatchString(key)) && parseDrive(value).file() == volid {
				conf[key] = strings.Replace(value, volid, made.volid, 1)
			}
		}
	}
	return l.freeVolume(m.from, volid)
}

func (m *migration) unlock() {
	if g := m.lab.guests[m.vmid]; g != nil {
		delete(g.conf, "lock")
	}
}

func (m *migration) finish() {
	m.unlock()
	if g := m.lab.guests[m.vmid]; g != nil {
		g.node = m.to
	}
}
