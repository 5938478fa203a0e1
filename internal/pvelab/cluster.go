package pvelab

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clusterState is what the endpoints of cluster and nodes keep in the lab.
type clusterState struct {
	nodes map[string]*node
	// clusterName is "" on a standalone node.
	clusterName string
	// options are datacenter.cfg.
	options map[string]string
	// status is what was last broadcast; statdHangs keeps it as it is. statdAt is
	// pvestatd's last round.
	status     map[string]broadcast
	statdHangs bool
	statdAt    time.Time
}

func (l *Lab) initCluster() {
	l.nodes = map[string]*node{}
	l.clusterState.options = map[string]string{}
	l.status = map[string]broadcast{}
	if !l.opts.Standalone {
		l.clusterName = "lab"
	}
	for i, name := range l.opts.Nodes {
		l.nodes[name] = newNode(l, name, i+1)
	}
}

func (l *Lab) routeCluster() {
	l.handle("GET", "/version", versionRead)
	l.handle("GET", "/cluster", clusterIndex)
	l.handle("GET", "/cluster/status", clusterStatus)
	l.handle("GET", "/cluster/resources", clusterResources)
	l.handle("GET", "/cluster/nextid", nextID)
	l.handle("GET", "/cluster/options", optionsRead)
	l.handle("PUT", "/cluster/options", optionsUpdate)
	l.routeNodes()
	l.routeNetwork()
}

// release is what /version tells of the version that the lab plays.
func (l *Lab) release() map[string]any {
	if l.is8() {
		return map[string]any{"version": "8.4.21", "release": "8.4", "repoid": "2606ac850d46da29"}
	}
	return map[string]any{"version": "9.2.11", "release": "9.2", "repoid": "14a22df35955d97d"}
}

func versionRead(c *call) (any, error) { return c.lab.release(), nil }

func clusterIndex(c *call) (any, error) {
	names := words("acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics notifications nextid options qemu replication resources status tasks sdn")
	if c.lab.is8() {
		names = words("acme backup backup-info ceph config firewall ha jobs log mapping metrics notifications nextid options replication resources status tasks sdn")
	}
	return subdirs("name", names...), nil
}

func clusterStatus(c *call) (any, error) {
	l := c.lab
	out := []map[string]any{}
	if l.clusterName != "" {
		out = append(out, map[string]any{
			"type": "cluster", "id": "cluster", "name": l.clusterName,
			"version": len(l.nodes), "nodes": len(l.nodes), "quorate": boolInt(l.quorate()),
		})
	}
	for _, name := range sortedKeys(l.nodes) {
		n := l.nodes[name]
		id := n.id
		if l.clusterName == "" {
			id = 0
		}
		out = append(out, map[string]any{
			"type": "node", "id": "node/" + name, "name": name, "nodeid": id, "ip": n.ip,
			"local": boolInt(name == c.via), "online": boolInt(n.online), "level": "",
		})
	}
	return out, nil
}

// quorate reports whether more than half of the nodes are there.
func (l *Lab) quorate() bool {
	online := 0
	for _, n := range l.nodes {
		online += boolInt(n.online)
	}
	return 2*online > len(l.nodes)
}

// checkQuorum refuses what would write to the cluster's file system.
func (l *Lab) checkQuorum() error {
	if l.quorate() {
		return nil
	}
	return fail("cluster not ready - no quorum?")
}

func nextID(c *call) (any, error) {
	l := c.lab
	if c.params.has("vmid") {
		vmid := c.params.integer("vmid")
		if l.guests[vmid] != nil {
			return nil, badParams(map[string]string{"vmid": fmt.Sprintf("VM %d already exists", vmid)})
		}
		return strconv.Itoa(vmid), nil
	}
	limits := parsePairs(l.clusterState.options["next-id"])
	lower, upper := bound(limits, "lower", 100), bound(limits, "upper", 1000*1000)
	for vmid := lower; vmid < upper; vmid++ {
		if l.guests[vmid] == nil {
			return strconv.Itoa(vmid), nil
		}
	}
	return nil, fail("unable to get any free VMID in range [%d, %d]", lower, upper)
}

func bound(limits map[string]string, key string, otherwise int) int {
	if text, ok := limits[key]; ok {
		return number(text)
	}
	return otherwise
}

// parsePairs reads a property string without a default key.
func parsePairs(s string) map[string]string {
	out := map[string]string{}
	for _, pair := range splitList(s) {
		k, v, _ := strings.Cut(pair, "=")
		out[k] = v
	}
	return out
}

func optionsRead(c *call) (any, error) {
	l := c.lab
	props := l.schema.methods["PUT /cluster/options"].Parameters.Properties
	all := map[string]any{"mac_prefix": "BC:24:11", "description": ""}
	for k, v := range l.clusterState.options {
		switch p := props[k]; {
		case k == "description":
			all[k] = strings.TrimSuffix(v, "\n") + "\n"
		case p != nil && p.Format.Keys != nil:
			all[k] = parsePairs(v)
		default:
			all[k] = asType(p, v)
		}
	}
	out := map[string]any{}
	for k, v := range all {
		if k == "console" || k == "tag-style" || c.can("/", "Sys.Audit") {
			out[k] = v
		}
	}
	out["allowed-tags"] = c.allowedTags()
	return out, nil
}

// allowedTags are the tags that the caller may give: those registered and those
// of the guests in sight.
func (c *call) allowedTags() []string {
	set := map[string]bool{}
	for vmid, g := range c.lab.guests {
		if !c.can(guestPath(vmid), "VM.Audit") {
			continue
		}
		for _, t := range splitList(g.conf["tags"]) {
			set[t] = true
		}
	}
	for _, t := range splitList(c.lab.clusterState.options["registered-tags"]) {
		if c.can("/", "Sys.Modify") {
			set[t] = true
		}
	}
	return append([]string{}, sortedKeys(set)...)
}

func optionsUpdate(c *call) (any, error) {
	for _, k := range c.params.names() {
		if k != "delete" {
			c.lab.clusterState.options[k] = c.params.str(k)
		}
	}
	for _, k := range c.params.list("delete") {
		delete(c.lab.clusterState.options, k)
	}
	return nothing(c)
}
