package pvelab

import (
	"context"
	"fmt"
	"maps"
	"time"
)

const (
	// broadcastEvery is how often pvestatd tells the cluster how things are.
	broadcastEvery = 10 * time.Second
	// broadcastLife is how long the cluster remembers what it was told.
	broadcastLife = 5 * time.Minute
	// shortestRound is the real time between two broadcasts at least, however fast
	// the lab goes: one looks at every guest while everybody waits.
	shortestRound = 100 * time.Millisecond
)

// broadcast is what pvestatd last told of a guest, node or storage. Its key is
// the id in /cluster/resources.
type broadcast struct {
	at     time.Time
	values map[string]any
}

// statd broadcasts until ctx ends; the first round is done when it starts.
// Everything that /cluster/resources, /nodes and /pools show of a status is as
// old as the last broadcast.
func (l *Lab) statd(ctx context.Context) {
	for l.clock.Sleep(ctx, max(broadcastEvery, l.clock.unscale(shortestRound))) == nil {
		l.locked(l.statdRound)
	}
}

// statdRound broadcasts unless pvestatd hangs, and then what was told grows old.
func (l *Lab) statdRound() {
	l.statdAt = l.clock.Now()
	if !l.statdHangs {
		l.broadcastAll()
	}
}

// broadcastAll does what the pvestatd of every node that is online does.
func (l *Lab) broadcastAll() {
	now := l.clock.Now()
	maps.DeleteFunc(l.status, func(_ string, b broadcast) bool { return l.tooOld(b) })
	for name, n := range l.nodes {
		if !n.online {
			continue
		}
		l.status["node/"+name] = broadcast{now, n.figures()}
		for id, s := range l.storages {
			if s.enabled(name) && s.activate() == nil {
				l.status["storage/"+name+"/"+id] = broadcast{now, map[string]any{"disk": s.used(name), "maxdisk": s.total}}
			}
		}
	}
	for _, g := range l.guests {
		if n := l.nodes[g.node]; n != nil && n.online {
			l.status[g.resourceID()] = broadcast{now, l.guestFigures(g)}
		}
	}
}

// tooOld counts up to pvestatd's last round, not to now: a machine that is too busy
// for the next one in time is no reason to forget a node that is online.
func (l *Lab) tooOld(b broadcast) bool {
	return l.clock.scale(broadcastLife) < l.statdAt.Sub(b.at)
}

// heard is what was last told of an id, nil when nothing was.
func (l *Lab) heard(id string) map[string]any {
	b, ok := l.status[id]
	if !ok || l.tooOld(b) {
		return nil
	}
	return b.values
}

func (g *guest) resourceID() string { return fmt.Sprintf("%s/%d", g.kind, g.vmid) }

// guestFigures are a guest's values in a broadcast.
func (l *Lab) guestFigures(g *guest) map[string]any {
	s := l.guestStatus(g)
	out := map[string]any{
		"name": s["name"], "status": s["status"], "template": boolInt(g.isTemplate()), "maxcpu": s["cpus"],
		"diskread": 0, "diskwrite": 0,
	}
	for _, k := range words("uptime cpu maxmem mem maxdisk disk netin netout memhost") {
		if v, ok := s[k]; ok {
			out[k] = v
		}
	}
	return out
}

// guestResource is a guest as lists of resources show it: unknown, and without
// a name, until its node has told of it.
func (l *Lab) guestResource(g *guest) map[string]any {
	out := map[string]any{
		"id": g.resourceID(), "vmid": g.vmid, "node": g.node, "type": g.kind, "status": "unknown",
	}
	maps.Copy(out, l.heard(g.resourceID()))
	return out
}

// storageResource is a storage as lists of resources show it.
func (l *Lab) storageResource(s *storage, node string) map[string]any {
	id := "storage/" + node + "/" + s.id
	out := map[string]any{
		"id": id, "storage": s.id, "node": node, "type": "storage", "plugintype": s.kind,
		"status": "unknown", "shared": boolInt(s.shared), "content": s.content(),
	}
	if told := l.heard(id); told != nil {
		maps.Copy(out, told)
		out["status"] = "available"
	}
	return out
}

// nodeResource is a node as lists show it. Without Sys.Audit on it there are no
// figures.
func (l *Lab) nodeResource(n *node, audit bool) map[string]any {
	id := "node/" + n.name
	out := map[string]any{"id": id, "node": n.name, "type": "node", "status": "unknown"}
	if told := l.heard(id); told != nil {
		out["level"] = ""
		for k, v := range told {
			size := k == "maxcpu" || k == "maxmem" || k == "maxdisk"
			if audit && (n.online || size) {
				out[k] = v
			}
		}
		if n.online {
			out["status"] = "online"
		}
	}
	if !n.online {
		out["status"] = "offline"
	}
	return out
}

func clusterResources(c *call) (any, error) {
	l, kind := c.lab, c.params.str("type")
	out := []map[string]any{}
	if kind == "" {
		out = append(out, c.poolResources()...)
	}
	if kind == "" || kind == "vm" {
		for _, vmid := range sortedKeys(l.guests) {
			if c.can(guestPath(vmid), "VM.Audit") {
				out = append(out, c.listedGuest(l.guests[vmid]))
			}
		}
	}
	if kind == "" || kind == "node" {
		for _, name := range sortedKeys(l.nodes) {
			entry := l.nodeResource(l.nodes[name], c.can("/nodes/"+name, "Sys.Audit"))
			entry["cgroup-mode"] = 2
			out = append(out, entry)
		}
	}
	if kind == "" || kind == "storage" {
		out = append(out, c.storageResources()...)
	}
	if kind == "" || l.is8() && kind == "sdn" {
		out = append(out, c.zoneResources()...)
	}
	return out, nil
}

func (c *call) poolResources() []map[string]any {
	var out []map[string]any
	for _, id := range sortedKeys(c.lab.pools) {
		if c.can("/pool/"+id, "Pool.Audit") {
			out = append(out, c.lab.poolResource(c.lab.pools[id]))
		}
	}
	return out
}

// poolResource sums up a pool's running guests.
func (l *Lab) poolResource(p *pool) map[string]any {
	out := map[string]any{"id": "/pool/" + p.id, "pool": p.id, "type": "pool"}
	uptime, mem, maxmem, cpus := int64(0), int64(0), int64(0), int64(0)
	for vmid := range p.vms {
		g := l.guests[vmid]
		if g == nil {
			continue
		}
		told := l.heard(g.resourceID())
		if up := asInt(told["uptime"]); up > 0 {
			uptime = max(uptime, up)
			mem += asInt(told["mem"])
			maxmem += asInt(told["maxmem"])
			cpus += asInt(told["maxcpu"])
		}
	}
	if uptime > 0 {
		out["uptime"], out["mem"], out["maxmem"], out["maxcpu"], out["cpu"] = uptime, mem, maxmem, cpus, 0
	}
	return out
}

func asInt(v any) int64 {
	switch n := v.(type) {
	case int:
		return int64(n)
	case int64:
		return n
	default:
		return 0
	}
}

// listedGuest adds what lists read from the configuration itself: lock, tags
// and pool are never late.
func (c *call) listedGuest(g *guest) map[string]any {
	out := c.lab.guestResource(g)
	for _, k := range []string{"lock", "tags"} {
		if v, ok := g.conf[k]; ok {
			out[k] = v
		}
	}
	c.lab.addHAState(g, out)
	if p := c.lab.poolOf(g.vmid); p != nil && c.can("/pool/"+p.id, "Pool.Audit") {
		out["pool"] = p.id
	}
	return out
}

func (c *call) storageResources() []map[string]any {
	var out []map[string]any
	for _, id := range c.lab.storageIDs() {
		if !c.can("/storage/"+id, "Datastore.Audit") {
			continue
		}
		for _, name := range sortedKeys(c.lab.nodes) {
			if s := c.lab.storages[id]; s.enabled(name) {
				out = append(out, c.lab.storageResource(s, name))
			}
		}
	}
	return out
}

// zoneResources are the zone of plain bridges on every node.
func (c *call) zoneResources() []map[string]any {
	const zone = "localnetwork"
	var out []map[string]any
	if !c.can("/sdn/zones/"+zone, "SDN.Audit") {
		return nil
	}
	for _, name := range sortedKeys(c.lab.nodes) {
		if c.lab.is8() {
			out = append(out, map[string]any{
				"id": "sdn/" + name + "/" + zone, "sdn": zone, "node": name, "type": "sdn", "status": "ok",
			})
			continue
		}
		out = append(out, map[string]any{
			"id": "network/" + name + "/zone/" + zone, "network": zone, "network-type": "zone",
			"node": name, "type": "network", "status": "ok",
		})
	}
	return out
}
