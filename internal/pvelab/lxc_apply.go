package pvelab

import (
	"errors"
	"maps"
	"slices"
)

// draft is a copy of the container to try a change on.
func (g *guest) draft() *guest {
	d := *g
	d.conf, d.pending, d.pendingDelete = maps.Clone(g.conf), maps.Clone(g.pending), maps.Clone(g.pendingDelete)
	return &d
}

// adopt takes the draft's configuration over.
func (g *guest) adopt(d *guest) {
	g.conf, g.pending, g.pendingDelete = d.conf, d.pending, d.pendingDelete
}

// hotplugged reports whether a change of an option takes effect at once although
// the container runs.
func hotplugged(key string) bool {
	return slices.Contains(words("description onboot startup protection hostname hookscript cores tags lock"), key)
}

// errSkip leaves a change pending.
var errSkip = errors.New("skip")

// hotplug makes the touched changes that a running container can take and leaves
// the others pending.
func (ch *ctChange) hotplug() {
	g := ch.g
	for _, key := range ch.deletions() {
		ch.settle(key, ch.unplug(key), func() {
			delete(g.conf, key)
			delete(g.pendingDelete, key)
		})
	}
	for _, key := range ch.additions() {
		value, err := ch.plug(key)
		ch.settle(key, err, func() { g.take(key, value) })
	}
}

func (g *guest) take(key, value string) {
	delete(g.pending, key)
	if key == "description" && value == "" {
		delete(g.conf, key)
		return
	}
	g.conf[key] = value
}

func (ch *ctChange) deletions() []string { return ch.among(sortedKeys(ch.g.pendingDelete)) }

func (ch *ctChange) additions() []string { return ch.among(sortedKeys(ch.g.pending)) }

func (ch *ctChange) among(keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return ch.touched != nil && !ch.touched[key] })
}

func (ch *ctChange) settle(key string, err error, done func()) {
	switch {
	case err == nil:
		done()
	case errors.Is(err, errSkip):
	case ch.g.run != nil:
		ch.errors[key] = "unable to hotplug " + key + ": " + err.Error() + "\n"
	default:
		ch.errors[key] = "unable to apply pending change " + key + " : " + err.Error() + "\n"
	}
}

func (ch *ctChange) unplug(key string) error {
	switch {
	case hotplugged(key) || key == "swap" || key == "cpulimit" || key == "cpuunits" || isNet(key):
		return nil
	case unusedRE.MatchString(key):
		return ch.removeUnused(key)
	}
	return errSkip
}

func (ch *ctChange) plug(key string) (string, error) {
	g := ch.g
	value := g.pending[key]
	switch {
	case hotplugged(key) || key == "memory" || key == "swap" || key == "cpulimit" || key == "cpuunits":
		return value, nil
	case isNet(key):
		value = ctNIC(value)
		if bridge := parseProps(value, "")["bridge"]; bridge != "" && !ch.c.lab.hasBridge(g.node, bridge) {
			return "", fail("bridge '%s' does not exist", bridge)
		}
		return value, nil
	case mountRE.MatchString(key) && g.conf[key] == "":
		return ch.mounted(key, value)
	}
	return "", errSkip
}

// apply makes every change of a container that does not run, or that starts.
func (ch *ctChange) apply() {
	g := ch.g
	for _, key := range ch.deletions() {
		ch.settle(key, ch.release(key), func() {
			delete(g.conf, key)
			delete(g.pendingDelete, key)
		})
	}
	g.cleanupPending()
	for _, key := range ch.additions() {
		value, err := g.pending[key], error(nil)
		switch {
		case mountRE.MatchString(key):
			value, err = ch.mounted(key, value)
		case isNet(key):
			value = ctNIC(value)
		}
		ch.settle(key, err, func() { g.take(key, value) })
	}
}

// release is what deleting an option means for its volume: a mount point's is kept
// as unusedN, an unused one is removed.
func (ch *ctChange) release(key string) error {
	switch {
	case mountRE.MatchString(key):
		return ch.setAside(key)
	case unusedRE.MatchString(key):
		return ch.removeUnused(key)
	}
	return nil
}

func (ch *ctChange) setAside(key string) error {
	m := parseMount(ch.g.conf[key])
	if m.kind() != "volume" || m.volume() == "" {
		return nil
	}
	_, err := ch.g.conf.addUnused(m.volume())
	return err
}

func (ch *ctChange) removeUnused(key string) error {
	g, l := ch.g, ch.c.lab
	volid := parseMount(g.conf[key]).volume()
	if g.inUse(volid) || !l.owns(g, volid) {
		return nil
	}
	return l.freeVolume(g.node, volid)
}

// mounted makes or looks up the volume of a mount point; what the mount point held
// before becomes unusedN.
func (ch *ctChange) mounted(key, value string) (string, error) {
	g, l := ch.g, ch.c.lab
	m := parseMount(value)
	if storage, size, isNew := m.newVolume(); isNew {
		v, err := l.allocCT(g.node, g.vmid, storage, size, discardLog)
		if err != nil {
			return "", err
		}
		ch.made = append(ch.made, v)
		m["volume"] = v.volid
		m.setSize(v.size)
	} else if v, err := l.volume(g.node, m.volume()); err == nil {
		m.setSize(v.size)
	}
	if g.conf[key] != "" && parseMount(g.conf[key]).volume() != m.volume() {
		if err := ch.setAside(key); err != nil {
			return "", err
		}
	}
	return m.print(), nil
}
