package pvelab

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ctCreation is a POST to the list of containers.
type ctCreation struct {
	c                       *call
	vmid                    int
	pool, storage, template string
	start                   bool
	unprivileged            bool
	// set are the options without volumes, mounts the volumes.
	set, mounts guestConfig
	made        []*volume
}

func createCT(c *call) (any, error) {
	cr := &ctCreation{
		c: c, vmid: c.params.integer("vmid"), pool: c.params.str("pool"), template: c.params.str("ostemplate"),
		storage: orDefault(c.params.str("storage"), "local"), start: c.params.boolean("start"),
		unprivileged: !c.params.has("unprivileged") || c.params.boolean("unprivileged"),
	}
	restore, force, keys := c.params.boolean("restore"), c.params.boolean("force"), c.params.str("ssh-public-keys")
	for _, name := range ctCreateControl {
		delete(c.params, name)
	}
	cr.split(c.settings())
	if err := cr.check(restore, restore && force && c.lab.isCT(cr.vmid), keys); err != nil {
		return nil, err
	}
	g := newGuest(kindLXC, cr.vmid, c.node)
	g.conf["lock"] = "create"
	c.lab.guests[cr.vmid] = g
	return c.lab.startTask(c, c.node, "vzcreate", strconv.Itoa(cr.vmid), cr.work), nil
}

// ctCreateControl parameters steer a creation and are no options.
var ctCreateControl = []string{
	"bwlimit", "force", "ha-managed", "ignore-unpack-errors", "node", "ostemplate", "password", "pool", "restore",
	"ssh-public-keys", "start", "storage", "unique", "unprivileged", "vmid",
}

func (cr *ctCreation) split(all guestConfig) {
	cr.set, cr.mounts = guestConfig{}, guestConfig{}
	for key, value := range all {
		switch {
		case unusedRE.MatchString(key):
		case isMount(key):
			if strings.Trim(value, "0123456789.") == "" {
				value = cr.storage + ":" + value
			}
			cr.mounts[key] = value
		default:
			cr.set[key] = value
		}
	}
}

// check refuses what PVE refuses before it forks; only a restore may overwrite.
func (cr *ctCreation) check(restore, overwrite bool, sshKeys string) error {
	c, l := cr.c, cr.c.lab
	if !cr.unprivileged && !restore {
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	if err := l.checkUnused(cr.vmid); err != nil && !overwrite {
		return err
	}
	if err := checkSSHKeys(url.PathEscape(sshKeys)); sshKeys != "" && err != nil {
		return err
	}
	if cr.pool != "" && l.pools[cr.pool] == nil {
		return deniedText(fmt.Sprintf("pool '%s' does not exist", cr.pool))
	}
	if !c.can(guestPath(cr.vmid), "VM.Allocate") && (cr.pool == "" || !c.can("/pool/"+cr.pool, "VM.Allocate")) {
		return deniedText("")
	}
	all := maps.Clone(cr.set)
	maps.Copy(all, cr.mounts)
	if err := c.checkCTOptions(cr.vmid, cr.pool, nil, all, nil, cr.unprivileged); err != nil {
		return err
	}
	content := "vztmpl"
	if restore {
		content = "backup"
	}
	if err := c.useVolume(cr.vmid, cr.template, content); err != nil {
		return err
	}
	if restore {
		return fail("unable to restore CT %d - the lab cannot restore backups", cr.vmid)
	}
	return cr.checkStorages()
}

func (cr *ctCreation) checkStorages() error {
	if len(cr.mounts) == 0 {
		cr.mounts["rootfs"] = cr.storage + ":" + strconv.Itoa(defaultRootSize/gib)
	} else if cr.mounts["rootfs"] == "" {
		return fail("mount points configured, but 'rootfs' not set - aborting")
	}
	for _, key := range cr.mounts.mounts() {
		m := parseMount(cr.mounts[key])
		if m.kind() != "volume" {
			if !cr.c.isRootPassword() {
				return fail("Only root can pass arbitrary filesystem paths.")
			}
			continue
		}
		id, _, ok := volumeParts(m.volume())
		if !ok {
			return fail("unable to parse volume ID '%s'", m.volume())
		}
		s, err := cr.c.lab.storage(cr.c.node, id)
		if err != nil {
			return err
		}
		if !s.allows("rootdir") {
			return badParams(map[string]string{"storage": fmt.Sprintf("storage '%s' does not support container directories", id)})
		}
		if err := cr.c.require("/storage/"+id, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	return nil
}

func (cr *ctCreation) work(t *task) error {
	err := t.withLock(cr.vmid, func() error { return cr.build(t) })
	if errors.Is(err, errTaskLost) {
		return err
	}
	if err != nil {
		t.lab.locked(cr.undo)
		return fmt.Errorf("unable to create CT %d - %w", cr.vmid, err)
	}
	if cr.start {
		t.lab.locked(func() {
			t.lab.startTask(cr.c, cr.c.node, "vzstart", strconv.Itoa(cr.vmid), startCTWorker(cr.vmid, cr.c.node))
		})
	}
	return nil
}

func (cr *ctCreation) undo() {
	for _, v := range cr.made {
		_ = cr.c.lab.freeVolume(cr.c.node, v.volid) // a fresh volume that nobody builds upon.
	}
	delete(cr.c.lab.guests, cr.vmid)
}

// unpackTime is what unpacking a template takes.
const unpackTime = 2 * time.Second

// build allocates the volumes, unpacks the template into them and writes the
// configuration: before the template is set up, without a lock, and once more with
// the defaults filled in.
func (cr *ctCreation) build(t *task) error {
	conf := guestConfig{}
	if err := cr.allocate(t, conf); err != nil {
		return err
	}
	err := t.step(func() error {
		if _, err := t.lab.volume(cr.c.node, cr.template); err != nil {
			if !t.lab.is8() {
				t.logf("%s", err)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.logf("extracting archive '%s'", cr.archive())
	if err := t.sleep(unpackTime); err != nil {
		return err
	}
	t.logf("Total bytes read: 2191360 (2.1MiB, 93MiB/s)")
	t.logf("Detected container architecture: %s", templateArch(cr.template))
	t.lab.locked(func() { cr.write(conf) })
	if err := t.sleep(allocTime); err != nil {
		return err
	}
	t.lab.locked(func() { cr.finish(conf) })
	return nil
}

func (cr *ctCreation) archive() (file string) {
	cr.c.lab.locked(func() {
		if v, err := cr.c.lab.volume(cr.c.node, cr.template); err == nil {
			file = v.path()
		}
	})
	return file
}

func (cr *ctCreation) allocate(t *task, conf guestConfig) error {
	for _, key := range cr.mounts.mounts() {
		m := parseMount(cr.mounts[key])
		storage, size, isNew := m.newVolume()
		if !isNew {
			conf[key] = m.print()
			continue
		}
		if err := t.sleep(allocTime); err != nil {
			return err
		}
		err := t.step(func() error {
			v, err := t.lab.allocCT(cr.c.node, cr.vmid, storage, size, t.logf)
			if err != nil {
				return err
			}
			cr.made = append(cr.made, v)
			m["volume"] = v.volid
			m.setSize(v.size)
			conf[key] = m.print()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// write puts the options into the configuration file.
func (cr *ctCreation) write(conf guestConfig) {
	g := cr.c.lab.guests[cr.vmid]
	ch := &ctChange{c: cr.c, g: newGuest(kindLXC, cr.vmid, g.node)}
	for _, key := range sortedKeys(cr.set) {
		value, err := ch.rewrite(key, cr.set[key])
		switch {
		case err != nil || key == "description" && value == "":
		case isNet(key):
			conf[key] = ctNIC(value)
		default:
			conf[key] = value
		}
	}
	if cr.unprivileged {
		conf["unprivileged"] = "1"
	}
	if conf["ostype"] == "" {
		conf["ostype"] = templateOS(cr.template)
	}
	if conf["arch"] == "" {
		conf["arch"] = templateArch(cr.template)
	}
	g.conf = maps.Clone(conf)
}

// finish fills in the defaults.
func (cr *ctCreation) finish(conf guestConfig) {
	l := cr.c.lab
	for key, value := range map[string]string{
		"hostname": "CT" + strconv.Itoa(cr.vmid), "memory": strconv.Itoa(defaultMiB), "swap": strconv.Itoa(defaultMiB),
	} {
		if conf[key] == "" {
			conf[key] = value
		}
	}
	g := l.guests[cr.vmid]
	g.conf = conf
	if root, err := l.volume(g.node, parseMount(conf["rootfs"]).volume()); err == nil {
		root.unpacked = cr.template
	}
	if cr.pool != "" {
		l.addToPool(cr.pool, cr.vmid)
	}
}

// allocCT makes and formats a volume for a container: raw where it has a size.
func (l *Lab) allocCT(node string, vmid int, storageID string, size int64, log logger) (*volume, error) {
	s, err := l.storage(node, storageID)
	if err != nil {
		return nil, err
	}
	if !s.allows("rootdir") {
		return nil, fail("content type 'rootdir' is not available or configured on storage '%s'", storageID)
	}
	format := "raw"
	if size == 0 && s.path != "" {
		format = "subvol"
	}
	v, err := s.alloc(node, vmid, format, "", size)
	if err != nil {
		return nil, err
	}
	if format == "raw" {
		log("%s", allocLine(v))
		logMkfs(log, v.size)
	}
	return v, nil
}

// templateOS is the operating system that a template's name tells of.
func templateOS(volid string) string {
	name, _, _ := strings.Cut(path.Base(volid), "-")
	if name == "lab" {
		return "alpine"
	}
	if slices.Contains(words("debian devuan ubuntu centos fedora opensuse archlinux alpine gentoo nixos"), name) {
		return name
	}
	return "unmanaged"
}

func templateArch(volid string) string {
	if strings.Contains(path.Base(volid), "_arm64.") {
		return "arm64"
	}
	return "amd64"
}
