package pvelab

import (
	"fmt"
	"time"
)

// haStatus is what HA says of a guest in its status: whether it is managed, and
// the manager's state of it, null before the manager has looked.
func (l *Lab) haStatus(g *guest) map[string]any {
	out := map[string]any{"managed": 0}
	if !l.haManages(g) {
		return out
	}
	out["managed"], out["state"] = 1, nil
	if s := l.ha.services[g.sid()]; s != nil {
		out["state"] = s.state
	}
	if group := l.haResource(g).conf["group"]; group != "" {
		out["group"] = group
	}
	return out
}

// addHAState adds what lists show of a guest under HA: the manager's state, else
// the requested one.
func (l *Lab) addHAState(g *guest, out map[string]any) {
	r := l.haResource(g)
	if r == nil {
		return
	}
	out["hastate"] = nil
	if s := l.ha.services[g.sid()]; s != nil {
		out["hastate"] = s.state
	} else if state := r.conf["state"]; state != "" {
		out["hastate"] = state
	}
}

func haStatusIndex(c *call) (any, error) {
	names := words("current manager_status disarm-ha arm-ha")
	if c.lab.is8() {
		names = words("current manager_status")
	}
	return subdirs("name", names...), nil
}

// haActive is how long a time stamp of the manager's counts as recent.
const haActive = 30 * time.Second

func haCurrent(c *call) (any, error) {
	l, m := c.lab, c.lab.ha
	quorum := map[string]any{"id": "quorum", "type": "quorum", "node": c.via, "quorate": 0, "status": "No quorum on node '" + c.via + "'!"}
	if l.quorate() {
		quorum["status"], quorum["quorate"] = "OK", 1
	}
	out := []map[string]any{quorum}
	armed := map[string]any{
		"id": "fencing", "type": "fencing", "node": c.via,
		"armed-state": "standby", "status": "standby (CRM watchdog standby)",
	}
	if m.master != "" {
		status := "old timestamp - dead?"
		if l.clock.Now().Sub(m.stamp) < haActive {
			status = "active"
			armed["armed-state"], armed["status"] = "armed", "armed (CRM watchdog active)"
		}
		armed["node"] = m.master
		out = append(out, map[string]any{
			"id": "master", "type": "master", "node": m.master, "timestamp": m.stamp.Unix(),
			"status": fmt.Sprintf("%s (%s, %s)", m.master, status, m.stamp.Format(time.ANSIC)),
		})
	}
	if !l.is8() {
		out = append(out, armed)
	}
	if m.master != "" {
		for _, name := range sortedKeys(l.nodes) {
			out = append(out, l.agentStatus(l.nodes[name]))
		}
	}
	for _, sid := range sortedKeys(m.resources) {
		out = append(out, l.serviceStatus(sid))
	}
	return out, nil
}

// agentStatus is what the HA agent of a node says of itself.
func (l *Lab) agentStatus(n *node) map[string]any {
	state, stamp := "idle", l.ha.stamp
	for _, s := range l.ha.services {
		if s.node == n.name {
			state = "active"
		}
	}
	if gone, missing := l.ha.gone[n.name]; missing {
		state, stamp = "old timestamp - dead?", gone
	}
	return map[string]any{
		"id": "lrm:" + n.name, "type": "lrm", "node": n.name, "timestamp": stamp.Unix(),
		"status": fmt.Sprintf("%s (%s, %s)", n.name, state, stamp.Format(time.ANSIC)),
	}
}

// serviceStatus is a resource's entry in the status.
func (l *Lab) serviceStatus(sid string) map[string]any {
	r, s := l.ha.resources[sid], l.ha.services[sid]
	out := r.conf.show("max_restart", "max_relocate", "failback")
	delete(out, "state")
	for k, v := range map[string]any{"max_restart": 1, "max_relocate": 1, "failback": 1} {
		if out[k] == nil && (k != "failback" || !l.is8()) {
			out[k] = v
		}
	}
	node := "---"
	if g := l.guests[r.vmid]; g != nil {
		node = g.node
		out["node"] = node
	}
	if s != nil {
		node = s.node
		out["node"], out["crm_state"] = node, s.state
	}
	state := verboseState(r, s)
	out["id"], out["type"], out["sid"] = "service:"+sid, "service", sid
	out["request_state"], out["state"] = r.requested(), state
	out["status"] = fmt.Sprintf("%s (%s, %s)", sid, node, state)
	return out
}

// verboseState is the state with what is about to happen to it.
func verboseState(r *haResource, s *haService) string {
	wanted := r.requested()
	switch {
	case wanted == haIgnored:
		return haIgnored
	case s == nil:
		return "queued"
	case s.state == haStopped && wanted == haStarted:
		return "starting"
	case s.state == haStopped && wanted == haDisabled:
		return haDisabled
	case s.state == haStarted && !s.running:
		return "starting"
	case s.state == haStarted && wanted != haStarted:
		return "stopping"
	case s.state == haError && wanted == haDisabled:
		return "clearing error flag"
	}
	return s.state
}

func haManagerStatus(c *call) (any, error) {
	l, m := c.lab, c.lab.ha
	quorate := ""
	if l.quorate() {
		quorate = "1"
	}
	nodes := map[string]any{}
	status := map[string]any{"node_status": nodes}
	out := map[string]any{"manager_status": status, "quorum": map[string]any{"node": c.via, "quorate": quorate}}
	if m.master == "" {
		return out, nil
	}
	agents, services := map[string]any{}, map[string]any{}
	for name := range l.nodes {
		nodes[name] = "online"
		if _, missing := m.gone[name]; missing {
			nodes[name] = "unknown"
		}
		agents[name] = map[string]any{"mode": "active", "state": "active", "results": map[string]any{}, "timestamp": m.stamp.Unix()}
	}
	for sid, s := range m.services {
		services[sid] = map[string]any{"state": s.state, "node": s.node, "uid": sid}
	}
	status["master_node"], status["timestamp"], status["service_status"] = m.master, m.stamp.Unix(), services
	out["lrm_status"] = agents
	return out, nil
}
