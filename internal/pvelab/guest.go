package pvelab

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the lines of a guest's configuration file: option to value.
type guestConfig map[string]string

// guest is a virtual machine or a container with everything PVE keeps of it.
type guest struct {
	kind string // qemu or lxc
	vmid int
	node string
	conf guestConfig
	// pending and pendingDelete are the [PENDING] section: what waits for the
	// guest's next start. A true value in pendingDelete also removes the volume.
	pending       guestConfig
	pendingDelete map[string]bool
	// imageValues are the values that the cloud-init image was made with where
	// conf has others by now, imageAdded the options it was made without.
	imageValues guestConfig
	imageAdded  map[string]bool
	// image is what the cloud-init image holds: conf as of when it was made.
	image     guestConfig
	snapshots map[string]guestConfig
	// blankPending is a [PENDING] section without content, which a description
	// of newlines alone leaves behind until the file is written again.
	blankPending bool
	run          *running
}

// running is what PVE learns from a guest's QEMU process.
type running struct {
	pid     int
	started time.Time
	// booted is when the operating system began to boot: later than started
	// after a reset.
	booted time.Time
	paused bool
	// agent tells whether the process was started with an agent device.
	agent bool
	// image is the configuration that the guest's cloud-init drive held at boot.
	image guestConfig
	// seed is what the guest made of a seed in a CD-ROM drive, nil without one.
	seed *guestSeed
	// host names what the guest calls itself.
	host  string
	files map[string][]byte
	execs map[int]execResult
}

func newGuest(kind string, vmid int, node string) *guest {
	return &guest{
		kind: kind, vmid: vmid, node: node,
		conf: guestConfig{}, pending: guestConfig{}, pendingDelete: map[string]bool{},
		imageValues: guestConfig{}, imageAdded: map[string]bool{},
		snapshots: map[string]guestConfig{},
	}
}

func (g *guest) isTemplate() bool { return g.conf["template"] == "1" }

// checkLock fails while another operation holds the guest's config lock.
func (g *guest) checkLock() error {
	if lock := g.conf["lock"]; lock != "" {
		return fail("%s is locked (%s)", g.typeName(), lock)
	}
	return nil
}

func (g *guest) checkProtection(what string) error {
	if g.conf["protection"] == "1" {
		return fail("%s - protection mode enabled", what)
	}
	return nil
}

func (g *guest) checkDigest(digest string) error {
	if digest != "" && digest != g.digest() {
		return fail("checksum mismatch (file change by other user?)")
	}
	return nil
}

func (g *guest) typeName() string {
	if g.kind == "lxc" {
		return "CT"
	}
	return "VM"
}

// set writes an option as it reads back from the file: blanks around a value
// are lost, and an empty value is read as one blank.
func (o guestConfig) set(key, value string) {
	if key == "description" {
		value = trimDescription(value)
		if value == "" {
			delete(o, key)
			return
		}
		o[key] = value
		return
	}
	if value = strings.TrimSpace(value); value == "" {
		value = " "
	}
	o[key] = value
}

func trimDescription(s string) string { return strings.TrimRight(s, " \t\n\r\f\v") }

// setPending writes an option into [PENDING]. A description of newlines alone
// leaves no trace in the file.
func (g *guest) setPending(key, value string) {
	delete(g.pendingDelete, key)
	if key == "description" {
		if value != "" && strings.Trim(value, "\n") == "" {
			g.blankPending = true
			return
		}
		g.pending[key] = trimDescription(value)
		return
	}
	g.pending.set(key, value)
}

func (g *guest) setPendingDelete(key string, force bool) {
	g.pendingDelete[key] = force
}

// cleanupPending drops pending changes that change nothing.
func (g *guest) cleanupPending() {
	for key, value := range g.pending {
		if have, ok := g.conf[key]; ok && have == value {
			delete(g.pending, key)
		}
	}
	for key := range g.pendingDelete {
		if _, ok := g.conf[key]; !ok {
			delete(g.pendingDelete, key)
		}
	}
}

func (g *guest) hasPending() bool { return len(g.pending)+len(g.pendingDelete) > 0 }

// merged is the configuration with the pending changes taken in.
func (g *guest) merged() guestConfig {
	conf := maps.Clone(g.conf)
	for key, value := range g.pending {
		if g.kind == kindLXC {
			conf[key] = value
			continue
		}
		conf.set(key, value)
	}
	for key := range g.pendingDelete {
		delete(conf, key)
	}
	return conf
}

// digest is the SHA-1 of the configuration file, sections included.
func (g *guest) digest() string {
	sum := sha1.Sum([]byte(g.file()))
	return hex.EncodeToString(sum[:])
}

// file is the configuration as PVE writes it to /etc/pve.
func (g *guest) file() string {
	var b strings.Builder
	g.conf.write(&b)
	if g.hasPending() || g.blankPending {
		b.WriteString("\n[PENDING]\n")
		pending := maps.Clone(g.pending)
		if len(g.pendingDelete) > 0 {
			pending["delete"] = printPendingDelete(g.pendingDelete)
		}
		pending.write(&b)
	}
	if len(g.imageValues)+len(g.imageAdded) > 0 {
		b.WriteString("\n[special:cloudinit]\n")
		section := maps.Clone(g.imageValues)
		if len(g.imageAdded) > 0 {
			section["added"] = strings.Join(sortedKeys(g.imageAdded), ",")
		}
		section.write(&b)
	}
	for _, name := range sortedKeys(g.snapshots) {
		fmt.Fprintf(&b, "\n[%s]\n", name)
		g.snapshots[name].write(&b)
	}
	return b.String()
}

func (o guestConfig) write(b *strings.Builder) {
	if description, ok := o["description"]; ok {
		for line := range strings.SplitSeq(description, "\n") {
			fmt.Fprintf(b, "#%s\n", url.PathEscape(line))
		}
	}
	for _, key := range sortedKeys(o) {
		if key != "description" {
			fmt.Fprintf(b, "%s: %s\n", key, o[key])
		}
	}
}

func printPendingDelete(keys map[string]bool) string {
	var list []string
	for _, key := range sortedKeys(keys) {
		if keys[key] {
			key = "!" + key
		}
		list = append(list, key)
	}
	return strings.Join(list, ",")
}

// numeric options answer as JSON numbers; every other one, memory and cpulimit
// among them, as a string.
var numeric = map[string]bool{
	"balloon": true, "cores": true, "cpuunits": true, "migrate_speed": true, "shares": true,
	"smp": true, "sockets": true, "vcpus": true, "snaptime": true,
	"acpi": true, "allow-ksm": true, "autostart": true, "ciupgrade": true, "freeze": true,
	"keephugepages": true, "kvm": true, "localtime": true, "numa": true, "onboot": true,
	"protection": true, "reboot": true, "tablet": true, "tdf": true, "template": true,
}

// optionValue is a value as PVE's JSON shows it.
func optionValue(key, value string) any {
	if numeric[key] {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return value
}

// show is a configuration as PVE's JSON shows it, the password masked.
func (o guestConfig) show() map[string]any {
	out := make(map[string]any, len(o)+1)
	for key, value := range o {
		out[key] = optionValue(key, value)
	}
	if _, ok := o["cipassword"]; ok {
		out["cipassword"] = maskedPassword
	}
	return out
}

const maskedPassword = "**********"

// pendingList is the answer of …/pending: every option with its value, the
// value that waits, and whether it waits to be deleted (1) or removed (2).
func (g *guest) pendingList() []map[string]any {
	list := []map[string]any{{"key": "digest", "value": g.digest()}}
	for _, key := range sortedKeys(g.conf) {
		item := map[string]any{"key": key, "value": g.optionValue(key, g.conf[key])}
		if key == "cipassword" {
			item["value"] = maskedPassword
		}
		if value, ok := g.pending[key]; ok {
			item["pending"] = g.optionValue(key, value)
		}
		if force, ok := g.pendingDelete[key]; ok {
			item["delete"] = 1
			if force {
				item["delete"] = 2
			}
		}
		list = append(list, item)
	}
	for _, key := range sortedKeys(g.pending) {
		if _, ok := g.conf[key]; !ok {
			list = append(list, map[string]any{"key": key, "pending": g.optionValue(key, g.pending[key])})
		}
	}
	return list
}

// addUnused registers a volume as the lowest free unusedN and returns its key,
// or "" where it is one already.
func (o guestConfig) addUnused(volid string) (string, error) {
	free := ""
	for n := maxUnused - 1; n >= 0; n-- {
		key := "unused" + strconv.Itoa(n)
		switch o[key] {
		case volid:
			return "", nil
		case "":
			free = key
		}
	}
	if free == "" {
		return "", fail("Too many unused volumes - please delete them first.")
	}
	o[free] = volid
	return free, nil
}

const maxUnused = 256

// dropUsed removes the unusedN keys of volumes that a slot holds again.
func (g *guest) dropUsed() {
	used := map[string]bool{}
	for _, conf := range []guestConfig{g.conf, g.pending} {
		for key, value := range conf {
			if g.isVolumeKey(key) {
				used[parseDrive(value).file()] = true
			}
		}
	}
	maps.DeleteFunc(g.conf, func(key, value string) bool {
		return strings.HasPrefix(key, "unused") && used[value]
	})
}

// drives lists the slots that hold a drive, sorted.
func (o guestConfig) drives() []string {
	var keys []string
	for key := range o {
		if isDriveSlot(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
