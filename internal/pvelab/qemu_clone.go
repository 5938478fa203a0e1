package pvelab

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"
)

// cloning is a POST to …/clone.
type cloning struct {
	c                     *call
	vmid, newid           int
	name, description     string
	pool, storage, format string
	target, snapname      string
	full, fullGiven       bool
	running               bool
	// source is the configuration that is cloned, conf the clone's.
	source, conf guestConfig
	// drives are cloned in this order; those in copied in full.
	drives []string
	copied map[string]bool
	made   []*volume
}

func cloneVM(c *call) (any, error) {
	g, err := c.runnable()
	if err != nil {
		return nil, err
	}
	p := c.params
	cl := &cloning{
		c: c, vmid: g.vmid, newid: p.integer("newid"), name: p.str("name"), description: p.str("description"),
		pool: p.str("pool"), storage: p.str("storage"), format: p.str("format"), target: p.str("target"),
		snapname: p.str("snapname"), full: p.boolean("full"), fullGiven: p.has("full"), running: g.run != nil,
	}
	if cl.target == c.node || cl.target == "localhost" {
		cl.target = ""
	}
	if err := cl.loadAndCheck(); err != nil {
		return nil, err
	}
	// The task carries the source's id; nothing in it names the clone's.
	return c.lab.startTask(c, c.node, "qmclone", strconv.Itoa(cl.vmid), cl.work), nil
}

// loadAndCheck is done before the answer and again in the worker, under the
// source's lock.
func (cl *cloning) loadAndCheck() error {
	c, l := cl.c, cl.c.lab
	if err := cl.checkPlaces(); err != nil {
		return err
	}
	g, err := l.vmOn(c.node, cl.vmid)
	if err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if (g.run != nil) != cl.running {
		return fail("unexpected state change")
	}
	cl.source = maps.Clone(g.conf)
	if cl.snapname != "" {
		if cl.source, err = g.snapshot(cl.snapname); err != nil {
			return err
		}
	}
	if !cl.fullGiven {
		cl.full = !g.isTemplate()
	}
	if cl.storage != "" && !cl.full {
		return fail("parameter 'storage' not allowed for linked clones")
	}
	if cl.format != "" && !cl.full {
		return fail("parameter 'format' not allowed for linked clones")
	}
	shared, err := cl.checkStorages()
	if err != nil {
		return err
	}
	if err := cl.checkMappings(); err != nil {
		return err
	}
	if err := c.checkBridges(cl.source); err != nil {
		return err
	}
	if cl.target != "" && !shared {
		return fail("can't clone VM to node '%s' (VM uses local storage)", cl.target)
	}
	if l.guests[cl.newid] != nil {
		return fail("unable to create VM %d: config file already exists", cl.newid)
	}
	return cl.plan()
}

func (cl *cloning) checkPlaces() error {
	l := cl.c.lab
	if cl.pool != "" && l.pools[cl.pool] == nil {
		return deniedText(fmt.Sprintf("pool '%s' does not exist", cl.pool))
	}
	if cl.target != "" && l.nodes[cl.target] == nil {
		return fail("no such cluster node '%s'", cl.target)
	}
	if cl.storage == "" {
		return nil
	}
	s, err := l.storage(cl.c.node, cl.storage)
	if err != nil {
		return err
	}
	if !s.allows("images") {
		return badParams(map[string]string{"storage": fmt.Sprintf("storage '%s' does not support vm images", cl.storage)})
	}
	if cl.target == "" {
		return nil
	}
	if _, err := l.storage(cl.target, cl.storage); err != nil {
		return err
	}
	if !s.shared {
		return fail("can't clone to non-shared storage '%s'", cl.storage)
	}
	return nil
}

// checkStorages asks for space on the target storage of every disk and reports
// whether all drives of the source lie on shared storages.
func (cl *cloning) checkStorages() (shared bool, err error) {
	shared = true
	for _, key := range cl.source.drives() {
		d := parseDrive(cl.source[key])
		id, _, ok := volumeParts(d.file())
		if !ok {
			continue
		}
		s, err := cl.c.lab.storageConfig(id)
		if err != nil {
			return false, err
		}
		shared = shared && s.shared
		if d.isCDROM() {
			continue
		}
		if err := cl.c.require("/storage/"+orDefault(cl.storage, id), "Datastore.AllocateSpace"); err != nil {
			return false, err
		}
	}
	return shared, nil
}

func (cl *cloning) checkMappings() error {
	for _, key := range sortedKeys(cl.source) {
		if isDriveSlot(key) || isNet(key) {
			continue
		}
		if err := cl.c.checkDevice(cl.newid, cl.pool, key, cl.source[key]); err != nil {
			return err
		}
	}
	return nil
}

// leftBehind are options that belong to the source alone.
var leftBehind = map[string]bool{
	"lock": true, "parent": true, "snaptime": true, "vmstate": true, "runningcpu": true,
	"runningmachine": true, "running-nets-host-mtu": true, "template": true,
}

// plan draws up the clone's configuration, with new addresses, and the drives
// that have to be copied or linked.
func (cl *cloning) plan() error {
	cl.conf, cl.drives, cl.copied = guestConfig{"lock": "clone"}, nil, map[string]bool{}
	for _, key := range sortedKeys(cl.source) {
		value := cl.source[key]
		switch {
		case leftBehind[key] || strings.HasPrefix(key, "unused"):
		case isNet(key):
			n := parseNIC(value)
			n["macaddr"] = randomMAC()
			cl.conf[key] = n.print()
		case isDriveSlot(key) && !parseDrive(value).isPlainCDROM():
			if err := cl.planDrive(key, parseDrive(value)); err != nil {
				return err
			}
		default:
			cl.conf[key] = value
		}
	}
	return nil
}

func (cl *cloning) planDrive(key string, d drive) error {
	if cl.full && cl.running && cl.snapname == "" && key == "tpmstate0" {
		return fail("cannot clone TPM state while VM is running")
	}
	cl.copied[key] = cl.full || d.isCloudInit() || key == "tpmstate0"
	feature, kind := "clone", "Linked"
	if cl.copied[key] {
		feature, kind = "copy", "Full"
	}
	if !cl.c.lab.volumeHas(feature, d.file(), cl.snapname) {
		of := ""
		if cl.snapname != "" {
			of = " a snapshot of"
		}
		return fail("%s clone feature is not supported for%s '%s' (%s)", kind, of, d.file(), key)
	}
	cl.drives = append(cl.drives, key)
	return nil
}

func (cl *cloning) work(t *task) error {
	return t.withLockFor(cl.vmid, !cl.running, createTimeout, func() error {
		return t.withLockFor(cl.newid, false, createTimeout, func() error { return cl.clone(t) })
	})
}

func (cl *cloning) clone(t *task) error {
	if err := t.step(cl.loadAndCheck); err != nil {
		return err
	}
	if !t.lab.is8() {
		t.logf("creating a clone of VM %d with ID %d", cl.vmid, cl.newid)
	}
	t.lab.locked(cl.writeStub)
	if err := cl.copyDrives(t); err != nil {
		if errors.Is(err, errTaskLost) {
			return err
		}
		cl.undo(t)
		return fmt.Errorf("clone failed: %w", interrupted(err))
	}
	t.lab.locked(cl.finish)
	return nil
}

// interrupted words the end of a stopped worker as PVE's storage tools do.
func interrupted(err error) error {
	if errors.Is(err, errInterrupted) {
		return errors.New(strings.ReplaceAll(err.Error(), errInterrupted.Error(), "interrupted by signal"))
	}
	return err
}

// writeStub makes the clone's configuration file: for now it holds the lock and
// a comment, which reads as a description.
func (cl *cloning) writeStub() {
	uuid := newUUID()
	smbios := parseProps(cl.conf["smbios1"], "")
	smbios["uuid"] = uuid
	cl.conf["smbios1"] = smbios.print("")
	if cl.conf["vmgenid"] != "" {
		cl.conf["vmgenid"] = newUUID()
	}
	name := orDefault(cl.source["name"], strconv.Itoa(cl.vmid))
	cl.conf.set("name", orDefault(cl.name, "Copy-of-VM-"+name))
	if cl.description != "" {
		cl.conf.set("description", cl.description)
	}
	g := newGuest("qemu", cl.newid, cl.c.node)
	g.conf = guestConfig{"description": " qmclone temporary file", "lock": "clone"}
	cl.c.lab.guests[cl.newid] = g
	cl.c.lab.copyFirewall(cl.vmid, cl.newid)
}

// copyDrives copies one drive after the other and writes the configuration
// after each: from the first on it shows name and description, still locked.
func (cl *cloning) copyDrives(t *task) error {
	for i, key := range cl.drives {
		if err := cl.copyDrive(t, key, parseDrive(cl.source[key])); err != nil {
			return err
		}
		if i < len(cl.drives)-1 {
			t.lab.locked(cl.write)
		}
	}
	return nil
}

func (cl *cloning) write() {
	conf := guestConfig{}
	for key, value := range cl.conf {
		conf.set(key, value)
	}
	cl.c.lab.guests[cl.newid].conf = conf
}

func (cl *cloning) copyDrive(t *task, key string, d drive) error {
	kind := "linked"
	if cl.copied[key] {
		kind = "full"
	}
	t.logf("create %s clone of drive %s (%s)", kind, key, d.file())
	v, err := cl.newVolume(t, key, d)
	if err != nil {
		return err
	}
	if cl.copied[key] && !d.isCloudInit() {
		if err := transfer(t, v.size); err != nil {
			return fmt.Errorf("copy failed: %w", err)
		}
	}
	delete(d, "format")
	d["file"] = v.volid
	d.setSize(v.size)
	cl.conf[key] = d.print()
	return nil
}

// newVolume makes the volume of the clone's drive and takes the time for it.
func (cl *cloning) newVolume(t *task, key string, d drive) (v *volume, err error) {
	err = t.step(func() error {
		if cl.copied[key] {
			v, err = t.lab.copyTarget(cl.c.node, cl.newid, d, cl.storage, cl.format, key)
		} else {
			v, err = t.lab.cloneVolume(cl.c.node, d.file(), cl.newid)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cl.made = append(cl.made, v)
	if !cl.copied[key] {
		base, file := imageName(d.file()), path.Base(v.volid)
		t.logf("clone %s: images, %s, %d to %s (base=../%s)", base, file, cl.newid, file, base)
	}
	t.logf("%s", allocLine(v))
	if err := t.sleep(allocTime); err != nil {
		return nil, fmt.Errorf("unable to create image: %w", err)
	}
	if cl.copied[key] && !t.lab.is8() {
		t.logf("allocated target volume '%s'", v.volid)
	}
	return v, nil
}

// imageName is a volume id without its storage.
func imageName(volid string) string {
	_, name, _ := volumeParts(volid)
	return name
}

// copyTarget allocates the volume that a drive is copied to.
func (l *Lab) copyTarget(node string, vmid int, d drive, storageID, format, key string) (*volume, error) {
	src, err := l.volume(node, d.file())
	if err != nil {
		return nil, err
	}
	own, _, _ := volumeParts(d.file())
	s, err := l.storage(node, orDefault(storageID, own))
	if err != nil {
		return nil, err
	}
	format = s.resolveFormat(orDefault(format, src.format))
	name, size := "", src.size
	switch {
	case d.isCloudInit():
		name, size = fmt.Sprintf("vm-%d-cloudinit", vmid), cloudInitDiskSize
		if s.path != "" {
			name += "." + format
		}
	case key == "efidisk0":
		size = efiVarsSize
	case key == "tpmstate0":
		size = tpmStateSize
	}
	v, err := s.alloc(node, vmid, format, name, size)
	if err != nil {
		return nil, err
	}
	v.contentID = src.contentID
	return v, nil
}

// transfer takes the time that copying a volume needs and logs its progress.
func transfer(t *task, size int64) error {
	step := copyTime(size) / transferSteps
	for i := range transferSteps {
		t.logf("%s", transferLine(size, float64(i)/transferSteps))
		if err := t.sleep(max(step, time.Millisecond)); err != nil {
			return err
		}
	}
	t.logf("%s", transferLine(size, 1))
	t.logf("%s", transferLine(size, 1))
	return nil
}

func (cl *cloning) undo(t *task) {
	t.lab.locked(func() {
		for _, v := range cl.made {
			if err := t.lab.freeVolume(cl.c.node, v.volid); err != nil {
				t.logf("%s", err)
			}
		}
		delete(t.lab.guests, cl.newid)
		t.lab.removeFirewall(cl.newid)
	})
}

// finish unlocks the clone, moves it to its node and into its pool.
func (cl *cloning) finish() {
	l := cl.c.lab
	delete(cl.conf, "lock")
	cl.write()
	g := l.guests[cl.newid]
	if cl.target != "" {
		g.node = cl.target
	}
	if cl.pool != "" {
		l.addToPool(cl.pool, cl.newid)
	}
}
