package pvelab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// interfaces is /etc/network/interfaces: the interfaces in the file's order, in
// the form in which PVE shows them.
type interfaces struct {
	order  []string
	byName map[string]iface
}

// iface is one interface's keys.
type iface map[string]any

func (i interfaces) clone() interfaces {
	out := interfaces{order: slices.Clone(i.order), byName: map[string]iface{}}
	for name, f := range i.byName {
		out.byName[name] = maps.Clone(f)
	}
	return out
}

func (i *interfaces) set(name string, f iface) {
	if i.byName[name] == nil {
		i.order = append(i.order, name)
	}
	i.byName[name] = f
}

func (i *interfaces) remove(name string) {
	i.order = slices.DeleteFunc(i.order, func(n string) bool { return n == name })
	delete(i.byName, name)
}

// initNetwork gives a node its network card and the bridge on it.
func (n *node) initNetwork() {
	n.network = interfaces{byName: map[string]iface{}}
	n.network.set("eth0", iface{"type": "eth"})
	n.network.set("vmbr0", iface{
		"type": "bridge", "autostart": 1, "bridge_ports": "eth0", "bridge_stp": "off", "bridge_fd": "0",
		"address": n.ip, "netmask": "24",
	})
	n.active = map[string]bool{"eth0": true, "vmbr0": true}
}

// addBridge adds a bridge without ports or address, in use at once.
func (n *node) addBridge(name string) {
	n.network.set(name, iface{"type": "bridge", "autostart": 1, "bridge_ports": "", "bridge_stp": "off", "bridge_fd": "0"})
	n.active[name] = true
}

// configured is the file as PVE reads it: with the changes that wait.
func (n *node) configured() interfaces {
	if n.changed != nil {
		return *n.changed
	}
	return n.network
}

// hasBridge reports whether guests on a node can be plugged into a bridge.
func (l *Lab) hasBridge(node, name string) bool {
	n := l.nodes[node]
	return n != nil && n.active[name] && n.network.byName[name]["type"] == "bridge"
}

func (l *Lab) routeNetwork() {
	const all, one = "/nodes/{node}/network", "/nodes/{node}/network/{iface}"
	l.handle("GET", all, networkList)
	l.handle("POST", all, networkCreate)
	l.handle("PUT", all, networkApply)
	l.handle("DELETE", all, networkRevert)
	l.handle("GET", one, networkRead)
	l.handle("PUT", one, networkUpdate)
	l.handle("DELETE", one, networkDelete)
}

// firstPriority is the place in the file of what follows the loopback device.
const firstPriority = 3

// asAPI shows an interface with what PVE derives.
func (n *node) asAPI(name string) map[string]any {
	file := n.configured()
	f := file.byName[name]
	out := map[string]any{
		"families": []string{"inet"}, "method": "manual", "method6": "manual",
		"priority": slices.Index(file.order, name) + firstPriority,
	}
	maps.Copy(out, f)
	for _, family := range []string{"", "6"} {
		if f["address"+family] != nil {
			out["method"+family] = "static"
			out["cidr"+family] = fmt.Sprintf("%s/%s", f["address"+family], f["netmask"+family])
		}
	}
	if f["address6"] != nil {
		out["families"] = []string{"inet", "inet6"}
	}
	if f["type"] == "vlan" {
		out["exists"] = nil
	}
	if n.active[name] {
		out["active"] = 1
	}
	return out
}

// seesInterface hides bridges that the caller may not use.
func (c *call) seesInterface(name string, kind any) bool {
	if kind != "bridge" && kind != "OVSBridge" || c.auth.id() == "root@pam" {
		return true
	}
	return c.canAny("/sdn/zones/localnetwork/"+name, "SDN.Audit", "SDN.Use")
}

func networkList(c *call) (any, error) {
	n, wanted := c.lab.nodes[c.node], c.params.str("type")
	out := []map[string]any{}
	for _, name := range n.configured().order {
		kind := n.configured().byName[name]["type"]
		bridge := (wanted == "any_bridge" || wanted == "any_local_bridge") && (kind == "bridge" || kind == "OVSBridge")
		if wanted != "" && wanted != "include_sdn" && wanted != kind && !bridge || !c.seesInterface(name, kind) {
			continue
		}
		entry := n.asAPI(name)
		entry["iface"] = name
		out = append(out, entry)
	}
	if n.changed == nil {
		return out, nil
	}
	return counted{data: out, changes: n.diff()}, nil
}

// diff stands for the difference between the file and the one that waits.
func (n *node) diff() string {
	var b strings.Builder
	b.WriteString("--- /etc/network/interfaces\n+++ /etc/network/interfaces.new\n")
	for _, name := range n.changed.order {
		if n.network.byName[name] == nil {
			b.WriteString("+iface " + name + "\n")
		}
	}
	for _, name := range n.network.order {
		if n.changed.byName[name] == nil {
			b.WriteString("-iface " + name + "\n")
		}
	}
	return b.String()
}

func networkRead(c *call) (any, error) {
	n, name := c.lab.nodes[c.node], c.params.str("iface")
	if n.configured().byName[name] == nil {
		return nil, noInterface
	}
	return n.asAPI(name), nil
}
