package pvelab

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// apply writes the change into [PENDING] and carries out what need not wait. A
// failed hotplug leaves the change pending all the same.
func (ch *configChange) apply(log logger) error {
	g, err := ch.load()
	if err != nil {
		return err
	}
	ch.takeReverts(g)
	g.blankPending = false
	modified := map[string]bool{}
	order := bootOrder(g.conf["boot"])
	for _, key := range ch.delete {
		done, err := ch.deleteOption(g, key, log)
		if err != nil {
			return err
		}
		modified[key] = done
		if i := slices.Index(order, key); done && i >= 0 {
			order = slices.Delete(order, i, i+1)
			g.setPending("boot", printBootOrder(order))
			modified["boot"] = true
		}
	}
	for _, key := range sortedKeys(ch.set) {
		modified[key] = true
		if value, ok := g.pending[key]; ok && value == ch.set[key] {
			continue
		}
		if err := ch.setOption(g, key, log); err != nil {
			return err
		}
		if d := parseDrive(ch.set[key]); isDriveSlot(key) && len(order) > 0 && d.isPlainCDROM() && !slices.Contains(order, key) {
			order = append(order, key)
			g.setPending("boot", printBootOrder(order))
			modified["boot"] = true
		}
	}
	g.dropUsed()
	g.cleanupPending()
	if !g.hasPending() {
		return nil
	}
	return ch.c.carryOut(g, modified, log)
}

// carryOut applies what waits: all of it to a stopped VM, to a running one what
// can be plugged.
func (c *call) carryOut(g *guest, modified map[string]bool, log logger) error {
	errors := map[string]string{}
	if g.run != nil {
		c.hotplug(g, modified, errors)
	} else {
		c.lab.applyPending(c, g, errors, log)
	}
	if len(errors) > 0 {
		return badParams(errors)
	}
	return nil
}

func (ch *configChange) takeReverts(g *guest) {
	for key := range ch.revert {
		if value, ok := g.conf[key]; ok {
			ch.set[key] = value
		} else if _, ok := g.pending[key]; ok {
			ch.delete = append(ch.delete, key)
		}
	}
}

// deleteOption marks an option for deletion; false where it was not set.
func (ch *configChange) deleteOption(g *guest, key string, log logger) (bool, error) {
	value, set := g.conf[key]
	pending, isPending := g.pending[key]
	if !set {
		value = pending
	}
	if !set && !isPending {
		log("cannot delete '%s' - not set in current configuration!", key)
		return false, nil
	}
	if err := ch.mayDelete(g, key, value); err != nil {
		return false, err
	}
	delete(g.pending, key)
	switch {
	case strings.HasPrefix(key, "unused"):
		if err := ch.c.lab.deallocate(ch.c, g, key, parseDrive(value), true); err != nil {
			return false, err
		}
		delete(g.conf, key)
		return true, nil
	case key == "tags":
		delete(g.conf, key)
		return true, nil
	case isDriveSlot(key) && isPending:
		if err := ch.c.lab.registerUnused(g, parseDrive(pending)); err != nil {
			return false, err
		}
	}
	g.setPendingDelete(key, ch.force)
	return true, nil
}

func (ch *configChange) mayDelete(g *guest, key, value string) error {
	c := ch.c
	switch {
	case strings.HasPrefix(key, "unused"):
		if err := g.checkProtection(fmt.Sprintf("can't remove unused disk '%s'", parseDrive(value).file())); err != nil {
			return err
		}
		return c.requireVM(ch.vmid, "", "VM.Config.Disk")
	case isDriveSlot(key):
		if err := g.checkProtection(fmt.Sprintf("can't remove drive '%s'", key)); err != nil {
			return err
		}
		return c.checkDrive(ch.vmid, value)
	case strings.HasPrefix(key, "serial"):
		if value == "socket" {
			return c.requireVM(ch.vmid, "", "VM.Config.HWType")
		}
		if !c.isRootPassword() {
			return fail("only root can delete '%s' config for real devices", key)
		}
		return nil
	case key == "tags":
		return c.checkTags(ch.vmid, value, "")
	case isNet(key):
		return c.checkBridges(guestConfig{key: value})
	}
	return c.checkDevice(ch.vmid, "", key, value)
}

func (ch *configChange) setOption(g *guest, key string, log logger) error {
	value := ch.set[key]
	if old, ok := g.conf[key]; ok {
		if err := ch.mayReplace(key, old); err != nil {
			return err
		}
	}
	switch {
	case isDriveSlot(key):
		return ch.setDrive(g, key, log)
	case strings.HasPrefix(key, "serial"):
		if err := ch.maySerial(key, g.conf[key], value); err != nil {
			return err
		}
	case key == "tags":
		if err := ch.c.checkTags(ch.vmid, g.conf[key], value); err != nil {
			return err
		}
		value = uniqueTags(value)
	case key == "cipassword":
		g.conf.set(key, hashedPassword(value, g.conf["ostype"]))
		return nil
	case key == "boot":
		var err error
		if value, err = ch.checkBoot(g, value); err != nil {
			return err
		}
	case key == "machine":
		if err := checkMachine(value); err != nil {
			return err
		}
	case key == "ostype":
		if pinned := pinnedMachine(g.conf["machine"], value); pinned != "" && !ch.touches(g, "machine") {
			g.setPending("machine", pinned)
		}
	default:
		if err := ch.c.checkDevice(ch.vmid, "", key, value); err != nil {
			return err
		}
	}
	g.setPending(key, value)
	return nil
}

func (ch *configChange) touches(g *guest, key string) bool {
	_, pending := g.pending[key]
	_, set := ch.set[key]
	return pending || set || slices.Contains(ch.delete, key)
}

// mayReplace asks for what changing the present value needs.
func (ch *configChange) mayReplace(key, old string) error {
	switch {
	case isDriveSlot(key):
		return ch.c.checkDrive(ch.vmid, old)
	case isNet(key):
		if ch.c.lab.is8() && parseNIC(old)["bridge"] == "" {
			return nil
		}
		return ch.c.checkBridges(guestConfig{key: old})
	case strings.HasPrefix(key, "serial"):
		return nil
	}
	return ch.c.checkDevice(ch.vmid, "", key, old)
}

func (ch *configChange) maySerial(key, old, value string) error {
	if (old == "" || old == "socket") && value == "socket" {
		return ch.c.requireVM(ch.vmid, "", "VM.Config.HWType")
	}
	if !ch.c.isRootPassword() {
		return fail("only root can modify '%s' config for real devices", key)
	}
	return nil
}

func (ch *configChange) setDrive(g *guest, key string, log logger) error {
	if err := ch.c.checkDrive(ch.vmid, ch.set[key]); err != nil {
		return err
	}
	if key == "tpmstate0" {
		if err := keepTPMVersion(g.conf[key], ch.set[key]); err != nil {
			return err
		}
	}
	if old, ok := g.pending[key]; ok {
		if err := ch.c.lab.registerUnused(g, parseDrive(old)); err != nil {
			return err
		}
	}
	made, err := ch.c.createDisks(g, guestConfig{key: ch.set[key]}, "", log)
	if err != nil {
		return err
	}
	g.setPending(key, made[key])
	return nil
}

func keepTPMVersion(old, value string) error {
	if old == "" {
		return nil
	}
	before, after := parseDrive(old), parseDrive(value)
	if before.file() != after.file() || orDefault(before["version"], "v1.2") == orDefault(after["version"], "v1.2") {
		return nil
	}
	return fail("cannot change TPM state version after creation")
}

// checkBoot refuses devices that do not exist. Only a create may name them.
func (ch *configChange) checkBoot(g *guest, value string) (string, error) {
	devices := bootOrder(value)
	if len(devices) == 0 {
		return value, nil
	}
	for _, dev := range devices {
		_, set := g.conf[dev]
		_, pending := g.pending[dev]
		_, added := ch.set[dev]
		if (!set && !pending && !added) || slices.Contains(ch.delete, dev) {
			return "", fail("invalid bootorder: device '%s' does not exist'", dev)
		}
	}
	if _, ok := g.conf["bootdisk"]; ok {
		g.setPendingDelete("bootdisk", false)
	}
	return printBootOrder(devices), nil
}

// uniqueTags sorts, lower-cases and dedupes a list of tags.
func uniqueTags(value string) string {
	tags := splitList(strings.ToLower(value))
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ";")
}

var hashedRE = regexp.MustCompile(`^\$(?:[156]|2[ay])(?:\$.+){2}`)

// hashedPassword hashes a cloud-init password unless it is hashed already, or
// meant for Windows. The text has the form of PVE's salted SHA-256 crypt.
func hashedPassword(value, ostype string) string {
	if hashedRE.MatchString(value) || isWindows(ostype) {
		return value
	}
	salt := rand.Text()[:8]
	sum := sha256.Sum256([]byte(salt + value))
	hash := base64.RawStdEncoding.EncodeToString(sum[:])
	return "$5$" + salt + "$" + strings.ReplaceAll(hash, "+", ".")
}

func isWindows(ostype string) bool { return strings.HasPrefix(ostype, "w") }

// pinnedMachine is the machine type that PVE pins a Windows guest to, or "".
func pinnedMachine(machine, ostype string) string {
	p := parseProps(machine, "type")
	if !isWindows(ostype) {
		return ""
	}
	switch p["type"] {
	case "", "pc":
		p["type"] = "pc-i440fx-" + qemuMachine
	case "q35":
		p["type"] = "pc-q35-" + qemuMachine
	default:
		return ""
	}
	return p.print("type")
}

// checkMachine refuses a virtual IOMMU that the machine cannot have. A create
// goes without it, a start does not.
func checkMachine(value string) error {
	p := parseProps(value, "type")
	switch bits := p["aw-bits"]; {
	case p["viommu"] == "intel" && !strings.Contains(p["type"], "q35"):
		return fail("to use Intel vIOMMU please set the machine type to q35")
	case p["viommu"] == "intel" && bits != "" && bits != "39" && bits != "48":
		return fail("Intel vIOMMU supports only 39 or 48 bits as address width")
	case p["viommu"] == "" && bits != "":
		return fail("cannot set aw-bits if no vIOMMU is configured")
	}
	return nil
}

const (
	qemuVersion = "10.0.13"
	qemuMachine = "10.0"
)

// parseCount reads a whole number, 0 where there is none.
func parseCount(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
