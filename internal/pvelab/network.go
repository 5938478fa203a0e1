package pvelab

import (
	"maps"
	"slices"
)

// iface is an interface as /etc/network/interfaces describes it, in the form in
// which PVE shows it.
type iface map[string]any

// addressed gives an interface the node's address.
func (n *node) addressed(i iface) iface {
	i["method"], i["method6"] = "static", "manual"
	i["address"], i["netmask"], i["cidr"] = n.ip, "24", n.ip+"/24"
	return i
}

// addBridge adds a bridge without ports or address, in use at once.
func (n *node) addBridge(name string) {
	n.interfaces[name] = iface{
		"type": "bridge", "autostart": 1, "bridge_ports": "", "bridge_stp": "off", "bridge_fd": "0",
		"method": "manual", "method6": "manual", "priority": len(n.interfaces) + 3,
	}
}

// hasBridge reports whether guests on a node can be plugged into a bridge.
func (l *Lab) hasBridge(node, name string) bool {
	n := l.nodes[node]
	return n != nil && n.interfaces[name]["type"] == "bridge"
}

func (l *Lab) routeNetwork() {
	l.handle("GET", "/nodes/{node}/network", networkList)
	l.handle("GET", "/nodes/{node}/network/{iface}", networkRead)
}

// asAPI shows an interface; those in use are active.
func (n *node) asAPI(name string) map[string]any {
	out := map[string]any{"families": []string{"inet"}}
	maps.Copy(out, n.interfaces[name])
	out["active"] = 1
	return out
}

// seesInterface hides bridges that the caller may not use.
func (c *call) seesInterface(name, kind string) bool {
	if kind != "bridge" && kind != "OVSBridge" || c.auth.id() == "root@pam" {
		return true
	}
	return c.canAny("/sdn/zones/localnetwork/"+name, "SDN.Audit", "SDN.Use")
}

// networkTypes are the types that each filter lets through besides its own name.
var networkTypes = map[string][]string{
	"any_bridge":       words("bridge OVSBridge"),
	"any_local_bridge": words("bridge OVSBridge"),
	"include_sdn":      words("bridge bond eth alias vlan OVSBridge OVSBond OVSPort OVSIntPort"),
}

func networkList(c *call) (any, error) {
	n, wanted := c.lab.nodes[c.node], c.params.str("type")
	out := []map[string]any{}
	for _, name := range sortedKeys(n.interfaces) {
		kind, _ := n.interfaces[name]["type"].(string)
		if wanted != "" && wanted != kind && !slices.Contains(networkTypes[wanted], kind) {
			continue
		}
		if !c.seesInterface(name, kind) {
			continue
		}
		entry := n.asAPI(name)
		entry["iface"] = name
		out = append(out, entry)
	}
	return out, nil
}

func networkRead(c *call) (any, error) {
	n, name := c.lab.nodes[c.node], c.params.str("iface")
	if n.interfaces[name] == nil {
		return nil, badParams(map[string]string{"iface": "interface does not exist"})
	}
	return n.asAPI(name), nil
}
