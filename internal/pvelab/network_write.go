package pvelab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

var noInterface = badParams(map[string]string{"iface": "interface does not exist"})

func networkCreate(c *call) (any, error) {
	n, name := c.lab.nodes[c.node], c.params.str("iface")
	file := n.configured().clone()
	if file.byName[name] != nil {
		return nil, badParams(map[string]string{"iface": "interface already exists"})
	}
	f := iface{"type": c.params.str("type")}
	switch f["type"] {
	case "bridge":
		maps.Copy(f, iface{"bridge_ports": "", "bridge_stp": "off", "bridge_fd": "0"})
	case "vlan":
		if raw, id, ok := strings.Cut(name, "."); ok {
			f["vlan-raw-device"], f["vlan-id"] = raw, id
		}
	}
	return null(n.write(c, file, name, f))
}

func networkUpdate(c *call) (any, error) {
	n, name := c.lab.nodes[c.node], c.params.str("iface")
	file := n.configured().clone()
	f := file.byName[name]
	if f == nil {
		return nil, noInterface
	}
	for _, k := range c.params.list("delete") {
		delete(f, k)
		if k == "cidr" || k == "cidr6" {
			family := strings.TrimPrefix(k, "cidr")
			delete(f, "address"+family)
			delete(f, "netmask"+family)
		}
	}
	f["type"] = c.params.str("type")
	return null(n.write(c, file, name, f))
}

// null answers null, or the error.
func null(err error) (any, error) { return nil, err }

// write applies a call's parameters to an interface and keeps the result as the
// file that waits for a reload.
func (n *node) write(c *call, file interfaces, name string, f iface) error {
	if err := splitCIDR(c.params); err != nil {
		return err
	}
	for _, k := range []string{"gateway", "gateway6"} {
		if err := duplicateGateway(c, file, name, k); err != nil {
			return err
		}
	}
	for _, k := range c.params.names() {
		if !slices.Contains(words("node iface type delete"), k) {
			f.apply(k, c.params.str(k))
		}
	}
	file.set(name, f)
	if err := file.check(name); err != nil {
		return err
	}
	n.changed = &file
	return nil
}

// splitCIDR writes the short form of an address as the long one.
func splitCIDR(p params) error {
	for _, family := range []string{"", "6"} {
		cidr := p.str("cidr" + family)
		if cidr == "" {
			continue
		}
		for _, k := range []string{"address" + family, "netmask" + family} {
			if p.has(k) {
				return badParams(map[string]string{k: k + " conflicts with cidr" + family})
			}
		}
		p["address"+family], p["netmask"+family], _ = strings.Cut(cidr, "/")
		delete(p, "cidr"+family)
	}
	return nil
}

func duplicateGateway(c *call, file interfaces, name, key string) error {
	if !c.params.has(key) {
		return nil
	}
	what := map[string]string{"gateway": "Default gateway", "gateway6": "Default ipv6 gateway"}[key]
	for _, other := range file.order {
		if other != name && file.byName[other][key] != nil {
			return badParams(map[string]string{key: fmt.Sprintf("%s already exists on interface '%s'.", what, other)})
		}
	}
	return nil
}

// apply sets a key as it reads back from the file.
func (f iface) apply(k, v string) {
	switch k {
	case "autostart", "bridge_vlan_aware":
		delete(f, k)
		if v == "1" {
			f[k] = 1
		}
	case "comments", "comments6":
		f[k] = strings.TrimSuffix(v, "\n") + "\n"
	default:
		f[k] = v
	}
}

// check refuses ports and slaves that are not there, as writing the file does.
func (i interfaces) check(name string) error {
	f := i.byName[name]
	text := func(k string) []string {
		s, _ := f[k].(string)
		return splitList(s)
	}
	for _, slave := range text("slaves") {
		kind, _ := i.byName[slave]["type"].(string)
		if kind != "eth" && kind != "bond" {
			return fail("bond '%s' - wrong interface type on slave '%s' ('%s' != 'eth or bond')", name, slave, kind)
		}
	}
	for _, port := range text("bridge_ports") {
		if i.byName[port] == nil && !strings.Contains(port, ".") {
			return fail("bridge '%s' - unable to find bridge port '%s'", name, port)
		}
	}
	return nil
}

func networkDelete(c *call) (any, error) {
	n, name := c.lab.nodes[c.node], c.params.str("iface")
	file := n.configured().clone()
	if file.byName[name] == nil {
		return nil, noInterface
	}
	file.remove(name)
	n.changed = &file
	return nothing(c)
}

func networkRevert(c *call) (any, error) {
	c.lab.nodes[c.node].changed = nil
	return nothing(c)
}

func networkApply(c *call) (any, error) {
	l, n := c.lab, c.lab.nodes[c.node]
	if n.changed != nil {
		n.network, n.changed = *n.changed, nil
	}
	return l.startTask(c, c.node, "srvreload", "networking", func(t *task) error {
		if err := t.sleep(500 * time.Millisecond); err != nil {
			return err
		}
		l.locked(n.reload)
		return nil
	}), nil
}

// reload brings up what starts by itself and takes down what is gone.
func (n *node) reload() {
	maps.DeleteFunc(n.active, func(name string, _ bool) bool { return n.network.byName[name] == nil })
	for name, f := range n.network.byName {
		if f["autostart"] == 1 {
			n.active[name] = true
		}
	}
}
