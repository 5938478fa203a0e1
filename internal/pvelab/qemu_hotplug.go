package pvelab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errWaits marks a change that has to wait for the VM's next start.
var errWaits = errors.New("waits for the next start")

// fastPlugged options take effect on a running VM at once; so do cloud-init's.
var fastPlugged = map[string]bool{
	"description": true, "hookscript": true, "lock": true, "migrate_downtime": true,
	"migrate_speed": true, "name": true, "onboot": true, "protection": true, "shares": true,
	"startup": true, "tags": true, "vmstatestorage": true,
}

func isFastPlugged(key string) bool {
	return fastPlugged[key] || isCloudInitOption[key] || ipconfigRE.MatchString(key)
}

// hotplugFeatures is what the hotplug option of the running VM allows.
func (o guestConfig) hotplugFeatures() map[string]bool {
	value := orDefault(o["hotplug"], "1")
	if value == "1" {
		value = "network,disk,usb"
	}
	features := map[string]bool{}
	for _, f := range splitList(value) {
		features[f] = true
	}
	return features
}

// plugging is one pass over what waits for a running VM.
type plugging struct {
	c        *call
	g        *guest
	features map[string]bool
}

// hotplug carries out what a running VM can take, among the modified options;
// what cannot be done is told per option, and waits.
func (c *call) hotplug(g *guest, modified map[string]bool, failed map[string]string) {
	for _, key := range sortedKeys(g.pending) {
		if isFastPlugged(key) {
			g.takePending(key)
		}
	}
	p := &plugging{c: c, g: g, features: g.conf.hotplugFeatures()}
	for _, key := range sortedKeys(g.pendingDelete) {
		if !modified[key] {
			continue
		}
		if err := p.remove(key, g.pendingDelete[key]); err != nil {
			noteProblem(failed, key, err)
			continue
		}
		g.recordImage(key, nil)
		delete(g.conf, key)
		delete(g.pendingDelete, key)
	}
	plugged := false
	for _, key := range sortedKeys(g.pending) {
		if !modified[key] {
			continue
		}
		if err := p.change(key, g.pending[key]); err != nil {
			noteProblem(failed, key, err)
			continue
		}
		plugged = plugged || isDriveSlot(key) && parseDrive(g.pending[key]).isCloudInit()
		g.takePending(key)
	}
	if plugged || p.features["cloudinit"] && g.imageIsStale() {
		if err := c.lab.regenerateImage(g); err != nil {
			noteProblem(failed, "cloudinit", err)
		}
	}
}

func noteProblem(failed map[string]string, key string, err error) {
	if !errors.Is(err, errWaits) {
		failed[key] = "hotplug problem - " + err.Error() + "\n"
	}
}

// takePending makes a pending value the present one.
func (g *guest) takePending(key string) {
	value := g.pending[key]
	delete(g.pending, key)
	g.recordImage(key, &value)
	g.conf.set(key, value)
}

func (p *plugging) remove(key string, force bool) error {
	switch {
	case isFastPlugged(key), key == "cpuunits", key == "cpulimit":
		return nil
	case key == "hotplug":
		return waitIf(strings.Contains(p.g.conf["hotplug"], "cpu") || strings.Contains(p.g.conf["hotplug"], "memory"))
	case key == "tablet":
		return waitIf(!p.features["usb"])
	case strings.HasPrefix(key, "usb"):
		return p.usb()
	case key == "vcpus":
		return waitIf(!p.features["cpu"])
	case key == "balloon":
		return waitIf(p.g.conf["balloon"] == "0")
	case key == "memory":
		return waitIf(!p.features["memory"])
	case isNet(key):
		if !p.features["network"] {
			return errWaits
		}
		return p.unplug(key)
	case isDriveSlot(key):
		return p.removeDrive(key, force)
	}
	return errWaits
}

func (p *plugging) removeDrive(key string, force bool) error {
	if !p.features["disk"] || !pluggableSlot(key) {
		return errWaits
	}
	if err := p.unplug(key); err != nil {
		return err
	}
	return p.c.lab.detach(p.c, p.g, key, force)
}

func waitIf(waits bool) error {
	if waits {
		return errWaits
	}
	return nil
}

// pluggableSlot is false for the buses that know no hotplug.
func pluggableSlot(key string) bool {
	return strings.HasPrefix(key, "scsi") || strings.HasPrefix(key, "virtio")
}

func (p *plugging) usb() error {
	ostype := p.g.conf["ostype"]
	modern := ostype == "l26" || slices.Contains([]string{"win8", "win10", "win11"}, ostype)
	return waitIf(!p.features["usb"] || !modern)
}

// unplug takes a device away, for which its guest must run: PCI devices leave
// only when the operating system lets go of them.
func (p *plugging) unplug(key string) error {
	if slices.Contains(p.g.bootDisks(), key) && isDriveSlot(key) {
		return fail("can't unplug bootdisk '%s'", key)
	}
	if p.c.lab.isUp(p.g) {
		return nil
	}
	if !p.c.lab.is8() {
		if strings.HasPrefix(key, "scsi") {
			return nil
		}
		return fail("error on hot-unplugging device '%s' - still busy in guest?", key)
	}
	if index, ok := strings.CutPrefix(key, "scsi"); ok && p.g.conf["scsihw"] == "virtio-scsi-single" {
		key = "virtioscsi" + index
	}
	return fail("error on hot-unplugging device '%s'", key)
}

func (p *plugging) change(key, value string) error {
	old := p.g.conf[key]
	switch {
	case key == "cpuunits" || key == "cpulimit":
		return nil
	case key == "hotplug":
		both := value + old
		return waitIf(strings.Contains(both, "cpu") || strings.Contains(both, "memory"))
	case key == "tablet":
		return waitIf(!p.features["usb"])
	case strings.HasPrefix(key, "usb"):
		return p.usb()
	case key == "vcpus":
		return waitIf(!p.features["cpu"])
	case key == "memory":
		return waitIf(!p.features["memory"])
	case key == "balloon":
		return waitIf((old == "0") != (value == "0"))
	case isNet(key):
		return p.changeNet(key, parseNIC(value))
	case isDriveSlot(key):
		return p.changeDrive(key, parseDrive(value))
	case key == "agent":
		return waitIf(!onlyTrimDiffers(old, value))
	}
	return errWaits
}

// onlyTrimDiffers reports whether two agent options differ in nothing that the
// device was made with.
func onlyTrimDiffers(old, value string) bool {
	if old == "" {
		return false
	}
	a, b := parseProps(old, "enabled"), parseProps(value, "enabled")
	for _, p := range []props{a, b} {
		p.normalise(map[string]bool{"enabled": true})
		delete(p, "fstrim_cloned_disks")
	}
	return maps.Equal(a, b)
}

func (p *plugging) changeNet(key string, n nic) error {
	if value, ok := p.g.conf[key]; ok {
		old := parseNIC(value)
		if sameProps(old, n, "model", "macaddr", "queues", "mtu") && (old["bridge"] != "") == (n["bridge"] != "") {
			return p.moveNet(old, n)
		}
		if !p.features["network"] {
			return errWaits
		}
		if err := p.unplug(key); err != nil {
			return err
		}
	}
	if !p.features["network"] {
		return errWaits
	}
	if !p.c.lab.hasBridge(p.g.node, n["bridge"]) {
		return fail("VM %d qmp command 'netdev_add' failed - network script "+
			"/usr/libexec/qemu-server/pve-bridge-hotplug failed with status 512", p.g.vmid)
	}
	return nil
}

// moveNet changes what lies outside the guest: bridge, VLAN, firewall, rate,
// link.
func (p *plugging) moveNet(old, n nic) error {
	if !sameProps(old, n, "bridge", "tag", "trunks", "firewall") && !p.c.lab.hasBridge(p.g.node, n["bridge"]) {
		return fail("bridge '%s' does not exist", n["bridge"])
	}
	return nil
}

func sameProps[P ~map[string]string](a, b P, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return a[key] != b[key] })
}

func (p *plugging) changeDrive(key string, d drive) error {
	if key == "efidisk0" || key == "tpmstate0" {
		return errWaits
	}
	value, ok := p.g.conf[key]
	if !ok {
		return waitIf(!p.features["disk"] || !pluggableSlot(key))
	}
	old := parseDrive(value)
	if old.isCDROM() != d.isCDROM() {
		return fail("unable to change media type")
	}
	if old.isCDROM() {
		if p.c.lab.held[p.g.vmid] {
			return fail("VM %d qmp command 'eject' failed - got timeout", p.g.vmid)
		}
		if old.isCloudInit() && d.file() == "none" {
			return p.c.lab.registerUnused(p.g, old)
		}
		return nil
	}
	if old.file() == d.file() {
		return waitIf(!sameProps(old, d, "aio", "discard", "iothread", "queues", "product", "cache", "ssd", "vendor", "ro"))
	}
	if !p.features["disk"] {
		return errWaits
	}
	if err := p.unplug(key); err != nil {
		return err
	}
	if err := p.c.lab.registerUnused(p.g, old); err != nil {
		return err
	}
	return waitIf(!pluggableSlot(key))
}

// applyPending makes everything that waits the configuration of a stopped VM.
func (l *Lab) applyPending(c *call, g *guest, failed map[string]string, log logger) {
	note := func(key string, err error) {
		text := fmt.Sprintf("unable to apply pending change %s : %s\n", key, err)
		failed[key] = text
		log("%s", strings.TrimSpace(text))
	}
	for _, key := range sortedKeys(g.pendingDelete) {
		if _, ok := g.conf[key]; ok && isDriveSlot(key) {
			if err := l.detach(c, g, key, g.pendingDelete[key]); err != nil {
				note(key, err)
				continue
			}
		}
		delete(g.conf, key)
		delete(g.pendingDelete, key)
	}
	g.cleanupPending()
	for _, key := range sortedKeys(g.pending) {
		if value, ok := g.conf[key]; ok && isDriveSlot(key) {
			if err := l.registerUnused(g, parseDrive(value)); err != nil {
				note(key, err)
				continue
			}
		}
		value := g.pending[key]
		delete(g.pending, key)
		g.conf.set(key, value)
	}
	g.dropUsed()
}

// detach takes a drive off its slot: its volume is removed with force, kept as
// unusedN without.
func (l *Lab) detach(c *call, g *guest, key string, force bool) error {
	d := parseDrive(g.conf[key])
	if !force {
		return l.registerUnused(g, d)
	}
	if c != nil {
		if err := c.requireVM(g.vmid, "", "VM.Config.Disk"); err != nil {
			return err
		}
	}
	return l.deallocate(c, g, key, d, force)
}

// registerUnused keeps the volume of a drive that lost its slot as unusedN; a
// cloud-init drive is removed instead.
func (l *Lab) registerUnused(g *guest, d drive) error {
	if d.isCloudInit() {
		g.imageValues, g.imageAdded = guestConfig{}, map[string]bool{}
		return l.freeVolume(g.node, d.file())
	}
	if d.isCDROM() || !l.owns(g, d.file()) {
		return nil
	}
	_, err := g.conf.addUnused(d.file())
	return err
}

func (l *Lab) owns(g *guest, volid string) bool {
	v, err := l.parseVolume(volid)
	return err == nil && v.vmid == g.vmid
}

// deallocate removes the volume of a drive, if it is the guest's own.
func (l *Lab) deallocate(c *call, g *guest, key string, d drive, force bool) error {
	if !force || d.isPlainCDROM() || !l.owns(g, d.file()) {
		return nil
	}
	storage, _, _ := volumeParts(d.file())
	if c != nil {
		if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if g.usesVolume(key, d.file()) {
		return fail("unable to delete '%s' - volume is still in use (snapshot?)", d.file())
	}
	return l.freeVolume(g.node, d.file())
}

// usesVolume reports whether another slot than skip, or a snapshot, holds a
// volume.
func (g *guest) usesVolume(skip, volid string) bool {
	for _, key := range g.conf.drives() {
		if key != skip && parseDrive(g.conf[key]).file() == volid {
			return true
		}
	}
	return g.inSnapshot(volid)
}

func (g *guest) inSnapshot(volid string) bool {
	for _, snap := range g.snapshots {
		if snap.holds(volid) {
			return true
		}
	}
	return false
}
