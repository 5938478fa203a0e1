package pvelab

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// creation is a POST to the list of VMs.
type creation struct {
	c             *call
	vmid          int
	pool, storage string
	start         bool
	set           guestConfig
}

// createControl parameters steer a creation and are no options.
var createControl = []string{
	"archive", "bwlimit", "force", "ha-managed", "import-working-storage", "live-restore", "node",
	"pool", "start", "storage", "unique", "vmid",
}

func createVM(c *call) (any, error) {
	cr := &creation{
		c: c, vmid: c.params.integer("vmid"), pool: c.params.str("pool"),
		storage: c.params.str("storage"), start: c.params.boolean("start"),
	}
	archive := c.params.str("archive")
	for _, name := range createControl {
		delete(c.params, name)
	}
	cr.set = c.settings()
	if err := cr.check(archive); err != nil {
		return nil, err
	}
	if err := cr.reserve(); err != nil {
		return nil, err
	}
	return c.lab.startTask(c, c.node, "qmcreate", strconv.Itoa(cr.vmid), cr.work), nil
}

func (cr *creation) check(archive string) error {
	c := cr.c
	if keys := cr.set["sshkeys"]; keys != "" {
		if err := checkSSHKeys(keys); err != nil {
			return err
		}
	}
	if cr.pool != "" && c.lab.pools[cr.pool] == nil {
		return deniedText(fmt.Sprintf("pool '%s' does not exist", cr.pool))
	}
	if cr.start && !c.lab.is8() {
		if err := c.requireVM(cr.vmid, cr.pool, "VM.PowerMgmt"); err != nil {
			return err
		}
	}
	if cr.storage != "" {
		if err := c.require("/storage/"+cr.storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if !c.can(guestPath(cr.vmid), "VM.Allocate") && (cr.pool == "" || !c.can("/pool/"+cr.pool, "VM.Allocate")) {
		return deniedText("")
	}
	if archive != "" {
		return cr.restore(archive)
	}
	if err := c.checkStorageAccess(cr.vmid, cr.set, cr.storage); err != nil {
		return err
	}
	if err := c.checkOptions(cr.vmid, cr.pool, sortedKeys(cr.set)); err != nil {
		return err
	}
	if err := cr.checkDevices(); err != nil {
		return err
	}
	if err := c.checkBridges(cr.set); err != nil {
		return err
	}
	if err := c.rewriteDrives(cr.set); err != nil {
		return err
	}
	for key, value := range cr.set {
		if isNet(key) {
			cr.set[key] = parseNIC(value).withMAC().print()
		}
	}
	return nil
}

// restore refuses: the lab keeps no backups of VMs.
func (cr *creation) restore(archive string) error {
	if err := cr.c.useVolume(cr.vmid, archive, "backup"); err != nil {
		return err
	}
	_, err := cr.c.lab.volume(cr.c.node, archive)
	if err != nil {
		return err
	}
	return fail("unable to restore VM %d - the lab cannot restore backups", cr.vmid)
}

func (cr *creation) checkDevices() error {
	c := cr.c
	for _, key := range sortedKeys(cr.set) {
		value := cr.set[key]
		if strings.HasPrefix(key, "serial") {
			if value != "socket" && !c.isRootPassword() {
				return fail("only root can set '%s' config for real devices", key)
			}
			if err := c.requireVM(cr.vmid, cr.pool, "VM.Config.HWType"); err != nil {
				return err
			}
			continue
		}
		if isDriveSlot(key) || isNet(key) {
			continue
		}
		if err := c.checkDevice(cr.vmid, cr.pool, key, value); err != nil {
			return err
		}
	}
	return nil
}

// reserve takes the id: from here on nobody else gets it.
func (cr *creation) reserve() error {
	l := cr.c.lab
	if old := l.guests[cr.vmid]; old != nil {
		return fail("unable to create VM %d - %s %d already exists on node '%s'", cr.vmid, old.typeName(), cr.vmid, old.node)
	}
	g := newGuest("qemu", cr.vmid, cr.c.node)
	g.conf["lock"] = "create"
	l.guests[cr.vmid] = g
	return nil
}

// createTimeout is how long create and clone wait for a lock file.
const createTimeout = time.Second

func (cr *creation) work(t *task) error {
	err := t.withLockFor(cr.vmid, false, createTimeout, func() error {
		if err := t.sleep(cr.duration()); err != nil {
			return err
		}
		return t.step(func() error { return cr.build(t.logf) })
	})
	if errors.Is(err, errTaskLost) {
		return err
	}
	if err != nil {
		t.lab.locked(func() { delete(t.lab.guests, cr.vmid) })
		return fmt.Errorf("unable to create VM %d - %w", cr.vmid, err)
	}
	if cr.start {
		t.logf("Execute autostart")
		t.lab.locked(func() {
			t.lab.startTask(cr.c, cr.c.node, "qmstart", strconv.Itoa(cr.vmid), startWorker(cr.vmid, cr.c.node))
		})
	}
	return nil
}

// duration grows with what is imported.
func (cr *creation) duration() (d time.Duration) {
	d = allocTime
	cr.c.lab.locked(func() {
		for _, key := range cr.set.drives() {
			if v, err := cr.c.lab.volume(cr.c.node, parseDrive(cr.set[key])["import-from"]); err == nil {
				d += copyTime(v.size)
			}
		}
	})
	return d
}

func (cr *creation) build(log logger) error {
	l := cr.c.lab
	g := l.guests[cr.vmid]
	draft := newGuest("qemu", cr.vmid, g.node)
	draft.conf = maps.Clone(cr.set)
	made, err := cr.c.createDisks(draft, cr.set, cr.storage, log)
	if err != nil {
		return err
	}
	conf := guestConfig{}
	for key, value := range cr.set {
		conf.set(key, value)
	}
	for key, value := range made {
		conf.set(key, value)
	}
	l.fillNew(conf)
	g.conf = conf
	if cr.pool != "" {
		l.addToPool(cr.pool, cr.vmid)
	}
	return nil
}

// fillNew adds what PVE makes up for every new VM.
func (l *Lab) fillNew(conf guestConfig) {
	conf.set("meta", fmt.Sprintf("creation-qemu=%s,ctime=%d", qemuVersion, l.clock.Now().Unix()))
	if conf["boot"] == "" {
		conf.set("boot", printBootOrder(conf.defaultBootOrder()))
	}
	if conf["smbios1"] == "" {
		conf["smbios1"] = "uuid=" + newUUID()
	}
	if conf["vmgenid"] == "" || conf["vmgenid"] == "1" {
		conf["vmgenid"] = newUUID()
	}
	if pinned := pinnedMachine(conf["machine"], conf["ostype"]); pinned != "" {
		conf["machine"] = pinned
	}
	if tags, ok := conf["tags"]; ok && !l.is8() {
		conf.set("tags", uniqueTags(tags))
	}
	if password, ok := conf["cipassword"]; ok {
		conf["cipassword"] = hashedPassword(password, conf["ostype"])
	}
}
