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
		if missing := c.lab.unusableStorages(g.conf, name); len(missing) > 0 {
			refused[name] = map[string]any{"unavailable_storages": missing}
			continue
		}
		allowed = append(allowed, name)
	}
	out := map[string]any{
		"running": boolInt(g.run != nil), "allowed_nodes": allowed, "not_allowed_nodes": refused,
		"local_disks": c.lab.localDisks(g), "local_resources": []string{},
		"mapped-resources": []string{}, "mapped-resource-info": map[string]any{},
	}
	if !c.lab.is8() {
		out["has-dbus-vmstate"] = 1
	}
	return out, nil
}

// localDisks describes the volumes that are on no shared storage.
func (l *Lab) localDisks(g *guest) []map[string]any {
	disks := []map[string]any{}
	for _, key := range sortedKeys(g.conf) {
		if !isDriveSlot(key) && !unusedRE.MatchString(key) {
			continue
		}
		d := parseDrive(g.conf[key])
		id, _, ok := volumeParts(d.file())
		if s := l.storages[id]; !ok || (s != nil && s.shared) {
			continue
		}
		unused := unusedRE.MatchString(key)
		disk := map[string]any{
			"volid": d.file(), "cdrom": boolInt(d.isCDROM()), "is_unused": boolInt(unused),
			"is_attached": boolInt(!unused), "is_tpmstate": boolInt(key == "tpmstate0"), "is_vmstate": 0,
			"shared": boolInt(d["shared"] == "1"), "replicate": boolInt(d["replicate"] != "0"),
		}
		if !unused {
			disk["drivename"] = key
		}
		if !l.is8() {
			disk["is_cloudinit"] = boolInt(d.isCloudInit())
		}
		if d["size"] != "" {
			disk["size"] = d.size()
		}
		disks = append(disks, disk)
	}
	return disks
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
	m := &migration{
		c: c, vmid: g.vmid, from: c.node, to: target, online: g.run != nil,
		withDisks: c.params.boolean("with-local-disks"), storage: c.params.str("targetstorage"),
	}
	return c.lab.startTask(c, c.node, "qmigrate", strconv.Itoa(g.vmid), m.work), nil
}

// migration moves a guest to another node.
type migration struct {
	c                 *call
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
		err := t.step(func() (err error) {
			locals, err = m.begin()
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

// begin locks the VM and lists the volumes that have to be copied.
func (m *migration) begin() ([]string, error) {
	l := m.c.lab
	g, err := l.vmOn(m.from, m.vmid)
	if err != nil {
		return nil, err
	}
	if err := g.checkLock(); err != nil {
		return nil, err
	}
	if !l.nodes[m.to].online {
		return nil, fail("Can't connect to destination address using public key")
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
	l := m.c.lab
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
	if g := m.c.lab.guests[m.vmid]; g != nil {
		delete(g.conf, "lock")
	}
}

func (m *migration) finish() {
	m.unlock()
	if g := m.c.lab.guests[m.vmid]; g != nil {
		g.node = m.to
	}
}
