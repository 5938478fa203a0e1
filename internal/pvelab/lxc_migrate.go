package pvelab

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// migrateCT finds most of what speaks against a move only in its task.
func migrateCT(c *call) (any, error) {
	target := c.params.str("target")
	if target == c.node {
		return nil, badParams(map[string]string{"target": "target is local node."})
	}
	if err := c.lab.checkQuorum(); err != nil {
		return nil, err
	}
	if c.lab.nodes[target] == nil {
		return nil, fail("no such cluster node '%s'", target)
	}
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	if g.run != nil && !c.params.boolean("online") && !c.params.boolean("restart") {
		return nil, fail("can't migrate running container without --online or --restart")
	}
	if c.lab.haManages(g) {
		return c.migrateByHA(g, target)
	}
	m := &ctMigration{
		migration: migration{lab: c.lab, vmid: g.vmid, from: c.node, to: target, storage: c.params.str("target-storage")},
		online:    c.params.boolean("online"), patience: cmp.Or(c.timeout(), migrateShutdown),
	}
	return c.lab.startTask(c, c.node, migrateTask[g.kind], strconv.Itoa(g.vmid), m.work), nil
}

// ctMigration moves a container to another node. One that runs is shut down and
// started there.
type ctMigration struct {
	migration
	online   bool
	patience time.Duration
}

// migrateShutdown is how long a container may take to shut down before it is moved.
const migrateShutdown = 180 * time.Second

func (m *ctMigration) work(t *task) error {
	m.began = t.lab.clock.Now()
	return t.withLock(m.vmid, func() error {
		running := false
		err := t.step(func() (err error) {
			running, err = m.prepare()
			return err
		})
		if err == nil && running {
			m.logf(t, "shutdown CT %d", m.vmid)
			err = t.powerdownCT(m.from, m.vmid, m.patience, false)
		}
		if err != nil {
			return m.fails(t, err)
		}
		m.logf(t, "starting migration of CT %d to node '%s'", m.vmid, m.to)
		var locals []string
		t.lab.locked(func() { locals = m.begin() })
		if err := m.transfer(t, locals); err != nil {
			t.lab.locked(m.unlock)
			return m.fails(t, err)
		}
		t.lab.locked(m.finish)
		if running {
			m.logf(t, "start container on target node")
			if err := t.step(func() error { return t.lab.launchCT(m.to, m.vmid) }); err != nil {
				return err
			}
		}
		m.logf(t, "migration finished successfully (duration %s)", m.duration(t))
		return nil
	})
}

// prepare checks the container and reports whether it runs.
func (m *ctMigration) prepare() (running bool, err error) {
	l := m.lab
	g, err := l.ctOn(m.from, m.vmid)
	if err != nil {
		return false, err
	}
	if err := g.checkLock(); err != nil {
		return false, err
	}
	if g.run != nil && m.online {
		return false, fail("lxc live migration is currently not implemented")
	}
	for _, key := range sortedKeys(g.conf) {
		mount := parseMount(g.conf[key])
		if !isMount(key) && !unusedRE.MatchString(key) {
			continue
		}
		if kind := mount.kind(); kind != "volume" && mount["shared"] != "1" {
			return false, fail("cannot migrate local %s mount point '%s'", kind, key)
		}
		if err := m.checkVolume(g, mount.volume()); err != nil {
			return false, err
		}
	}
	if !l.nodes[m.to].online {
		return false, fail("Can't connect to destination address using public key")
	}
	return g.run != nil, nil
}

// checkVolume wants the volume's storage on the target node, and no snapshot of a
// volume that would have to be copied.
func (m *ctMigration) checkVolume(g *guest, volid string) error {
	l := m.lab
	id, _, ok := volumeParts(volid)
	if !ok {
		return nil
	}
	s, err := l.storageConfig(id)
	if err != nil {
		return err
	}
	target := s
	if m.storage != "" && !s.shared {
		if target, err = l.storageConfig(m.storage); err != nil {
			return err
		}
	}
	switch {
	case !target.enabled(m.to):
		return fail("storage '%s' is not available on node '%s'", target.id, m.to)
	case !slices.Contains(target.contents, "rootdir"):
		return fail("%s: content type 'rootdir' is not available on storage '%s'", volid, target.id)
	case !s.shared && len(g.snapshots) > 0 && s.kind != "zfspool":
		return fail("can't migrate local volume '%s': non-migratable snapshot exists", volid)
	}
	return nil
}

// begin locks the container and lists the volumes that have to be copied.
func (m *ctMigration) begin() []string {
	l := m.lab
	g := l.guests[m.vmid]
	var locals []string
	for _, volid := range g.volumes() {
		id, _, _ := volumeParts(volid)
		if s := l.storages[id]; s != nil && !s.shared && l.owns(g, volid) {
			locals = append(locals, volid)
		}
	}
	g.conf["lock"] = "migrate"
	return locals
}
