package pvelab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ctChange is a PUT of a container's configuration, or what a creation sets.
type ctChange struct {
	c       *call
	g       *guest
	set     guestConfig
	delete  []string
	revert  []string
	touched map[string]bool
	// errors are what hot-plugging and applying failed with, by option.
	errors map[string]string
	// made are the volumes allocated for this change.
	made []*volume
}

// updateCT is synchronous; nothing is written when a part of it fails.
func updateCT(c *call) (any, error) {
	vmid, digest := c.params.integer("vmid"), c.params.str("digest")
	ch := &ctChange{
		c: c, delete: splitList(c.params.str("delete")), revert: splitList(c.params.str("revert")),
		touched: map[string]bool{}, errors: map[string]string{},
	}
	ch.set = c.settings()
	if len(ch.set)+len(ch.delete)+len(ch.revert) == 0 {
		return nil, fail("no options specified")
	}
	return nil, c.withLock(vmid, func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		if err := g.checkModified(digest); err != nil {
			return err
		}
		draft := g.draft()
		ch.g = draft
		if err := ch.run(g); err != nil {
			ch.undo()
			return err
		}
		g.adopt(draft)
		return c.lab.checkCTNICs(g)
	})
}

// run checks the change and makes it in the draft.
func (ch *ctChange) run(g *guest) error {
	c, unprivileged := ch.c, g.conf["unprivileged"] == "1"
	if err := c.checkCTOptions(g.vmid, "", g.conf, nil, append(slices.Clone(ch.delete), ch.revert...), unprivileged); err != nil {
		return err
	}
	if err := ch.checkNames(); err != nil {
		return err
	}
	if err := c.checkCTOptions(g.vmid, "", g.conf, ch.set, nil, unprivileged); err != nil {
		return err
	}
	if err := ch.toPending(); err != nil {
		return err
	}
	if g.run != nil {
		ch.hotplug()
	} else {
		ch.apply()
	}
	if len(ch.errors) > 0 {
		return badParams(ch.errors)
	}
	ch.g.dropUsed()
	return nil
}

func (ch *ctChange) undo() {
	for _, v := range ch.made {
		_ = ch.c.lab.freeVolume(ch.g.node, v.volid) // a fresh volume that nobody builds upon.
	}
}

func (ch *ctChange) checkNames() error {
	for _, key := range ch.revert {
		if !ctOptionExists(key) {
			return badParams(map[string]string{"revert": fmt.Sprintf("unknown option '%s'", key)})
		}
		if _, ok := ch.set[key]; ok {
			text := fmt.Sprintf("you can't use '-%s' and '-revert %s' at the same time", key, key)
			return badParams(map[string]string{"revert": text})
		}
	}
	for _, key := range ch.delete {
		if !ctOptionExists(key) {
			return badParams(map[string]string{"delete": fmt.Sprintf("unknown option '%s'", key)})
		}
		if _, ok := ch.set[key]; ok {
			text := fmt.Sprintf("you can't use '-%s' and -delete %s' at the same time", key, key)
			return badParams(map[string]string{"delete": text})
		}
		if slices.Contains(ch.revert, key) {
			text := fmt.Sprintf("you can't use '-delete %s' and '-revert %s' at the same time", key, key)
			return badParams(map[string]string{"delete": text})
		}
	}
	return nil
}

var ctOptions = func() map[string]bool {
	out := map[string]bool{}
	for _, key := range words("arch cmode console cores cpulimit cpuunits debug description entrypoint env features hookscript " +
		"hostname lock memory nameserver onboot ostype parent protection searchdomain snaptime startup swap tags template " +
		"timezone tty unprivileged") {
		out[key] = true
	}
	return out
}()

func ctOptionExists(key string) bool {
	return ctOptions[key] || isMount(key) || isNet(key) || unusedRE.MatchString(key) || deviceRE.MatchString(key)
}

// toPending moves the change into [PENDING], from where it is applied.
func (ch *ctChange) toPending() error {
	g := ch.g
	for _, key := range ch.revert {
		delete(g.pending, key)
		delete(g.pendingDelete, key)
	}
	for _, key := range ch.delete {
		if err := ch.pendDelete(key); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(ch.set) {
		ch.touched[key] = true
		value, err := ch.rewrite(key, ch.set[key])
		if err != nil {
			return err
		}
		g.pending[key] = value
		delete(g.pendingDelete, key)
	}
	g.cleanupPending()
	return nil
}

func (ch *ctChange) pendDelete(key string) error {
	g := ch.g
	if g.conf[key] == "" && g.pending[key] == "" {
		return nil
	}
	ch.touched[key] = true
	switch {
	case key == "memory" || key == "rootfs" || key == "ostype":
		return fail("unable to delete required option '%s'", key)
	case key == "unprivileged":
		return fail("unable to delete read-only option: '%s'", key)
	case unusedRE.MatchString(key) || mountRE.MatchString(key):
		if err := g.checkProtection(fmt.Sprintf("can't remove CT %d drive '%s'", g.vmid, key)); err != nil {
			return err
		}
	}
	delete(g.pending, key)
	g.pendingDelete[key] = false
	return nil
}

// rewrite is a value as PVE stores it, or the reason why it will not.
func (ch *ctChange) rewrite(key, value string) (string, error) {
	switch {
	case isMount(key):
		return value, ch.checkMountStorage(key, value)
	case key == "unprivileged":
		return "", fail("unable to modify read-only option: '%s'", key)
	case key == "nameserver" || key == "searchdomain":
		return strings.Join(splitList(value), " "), nil
	case key == "tags":
		return uniqueTags(value), nil
	case key == "description":
		return ctDescription(value), nil
	case key == "cpuunits":
		return clampShares(value), nil
	case ctSwitches[key]:
		p := props{key: value}
		p.normalise(ctSwitches)
		return p[key], nil
	case strings.TrimSpace(value) == "":
		return " ", nil
	}
	return strings.TrimSpace(value), nil
}

// maxShares is what the second version of control groups allows.
const maxShares = 10000

// clampShares is a guest's cpuunits as PVE keeps them.
func clampShares(value string) string {
	return strconv.FormatInt(min(parseCount(value), maxShares), 10)
}

var ctSwitches = map[string]bool{"console": true, "debug": true, "onboot": true, "protection": true, "template": true}

func (ch *ctChange) checkMountStorage(key, value string) error {
	if err := ch.g.checkProtection(fmt.Sprintf("can't update CT %d drive '%s'", ch.g.vmid, key)); err != nil {
		return err
	}
	m := parseMount(value)
	if m.kind() != "volume" {
		return nil
	}
	id, _, ok := volumeParts(m.volume())
	if !ok {
		return fail("unable to parse volume ID '%s'", m.volume())
	}
	s, err := ch.c.lab.storageConfig(id)
	if err != nil {
		return err
	}
	if !s.allows("rootdir") {
		return fail("storage '%s' does not allow content type 'rootdir' (Container)", id)
	}
	return nil
}

// checkCTNICs fails for an interface without a bridge after the configuration was
// written: PVE 9 notices when it writes LXC's own configuration.
func (l *Lab) checkCTNICs(g *guest) error {
	for _, key := range sortedKeys(g.conf) {
		if isNet(key) && parseProps(g.conf[key], "")["bridge"] == "" {
			return fail("bridge '' does not exist")
		}
	}
	return nil
}
