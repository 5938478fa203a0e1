package pvelab

import (
	"slices"
	"strconv"
	"strings"
)

// routeHAPlacement registers groups, which PVE 9 has turned into rules, and
// rules.
func (l *Lab) routeHAPlacement() {
	const groups, rules = "/cluster/ha/groups", "/cluster/ha/rules"
	l.handle("GET", groups, haGroupCall("index groups", haGroupList))
	l.handle("POST", groups, haGroupCall("create group", haGroupCreate))
	l.handle("GET", groups+"/{group}", haGroupCall("read group", haGroupRead))
	l.handle("PUT", groups+"/{group}", haGroupCall("update group", haGroupUpdate))
	l.handle("DELETE", groups+"/{group}", haGroupCall("delete group", haGroupDelete))
	l.handle("GET", rules, haRuleList)
	l.handle("POST", rules, haRuleCreate)
	l.handle("GET", rules+"/{rule}", haRuleRead)
	l.handle("PUT", rules+"/{rule}", haRuleUpdate)
	l.handle("DELETE", rules+"/{rule}", haRuleDelete)
}

func haGroupCall(what string, h handler) handler {
	return func(c *call) (any, error) {
		if !c.lab.is8() {
			return nil, fail("cannot %s: ha groups have been migrated to rules", what)
		}
		return h(c)
	}
}

func haGroupList(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.lab.ha.groups) {
		out = append(out, c.lab.ha.showGroup(id))
	}
	return out, nil
}

func (m *haManager) showGroup(id string) map[string]any {
	out := m.groups[id].show("restricted", "nofailback")
	out["group"], out["type"], out["digest"] = id, "group", digestOf(m.groups)
	return out
}

func haGroupCreate(c *call) (any, error) {
	id := c.params.str("group")
	if c.lab.ha.groups[id] != nil {
		return nil, fail("create ha group failed: ha group ID '%s' already defined", id)
	}
	conf := section{}
	c.fill(conf, "group", "type")
	c.lab.ha.groups[id] = conf
	return nothing(c)
}

// haGroup is the group that a call names.
func (c *call) haGroup() (section, error) {
	conf := c.lab.ha.groups[c.params.str("group")]
	if conf == nil {
		return nil, fail("no such ha group '%s'", c.params.str("group"))
	}
	return conf, nil
}

func haGroupRead(c *call) (any, error) {
	if _, err := c.haGroup(); err != nil {
		return nil, err
	}
	return c.lab.ha.showGroup(c.params.str("group")), nil
}

func haGroupUpdate(c *call) (any, error) {
	conf, err := c.haGroup()
	if err != nil {
		return nil, err
	}
	c.fill(conf, "group")
	return nothing(c)
}

func haGroupDelete(c *call) (any, error) {
	id := c.params.str("group")
	for _, sid := range sortedKeys(c.lab.ha.resources) {
		if c.lab.ha.resources[sid].conf["group"] == id {
			return nil, fail("delete ha group failed: ha group is used by service '%s'", sid)
		}
	}
	delete(c.lab.ha.groups, id)
	return nothing(c)
}

func haRuleList(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range c.lab.ha.ruleOrder {
		rule := c.lab.ha.rules[id]
		if typ := c.params.str("type"); typ != "" && typ != rule["type"] {
			continue
		}
		if sid := c.params.str("resource"); sid != "" && !slices.Contains(splitList(rule["resources"]), sid) {
			continue
		}
		out = append(out, c.lab.ha.showRule(id))
	}
	return out, nil
}

func (m *haManager) showRule(id string) map[string]any {
	out := m.rules[id].show("strict", "disable")
	if out["type"] == "node-affinity" && out["strict"] == nil {
		out["strict"] = 0
	}
	out["rule"], out["order"], out["digest"] = id, slices.Index(m.ruleOrder, id)+1, digestOf(m.rules)
	return out
}

func haRuleRead(c *call) (any, error) {
	id := c.params.str("rule")
	if c.lab.ha.rules[id] == nil {
		return nil, fail("no such ha rule '%s'", id)
	}
	return c.lab.ha.showRule(id), nil
}

func haRuleCreate(c *call) (any, error) {
	m, id := c.lab.ha, c.params.str("rule")
	if m.rules[id] != nil {
		return nil, fail("create ha rule failed: HA rule '%s' already defined", id)
	}
	if err := c.checkRule("create ha rule failed"); err != nil {
		return nil, err
	}
	conf := section{}
	c.fill(conf, "rule")
	m.rules[id] = conf
	m.ruleOrder = append(m.ruleOrder, id)
	return nothing(c)
}

// checkRule refuses resources and nodes that do not exist.
func (c *call) checkRule(prefix string) error {
	for _, sid := range c.params.list("resources") {
		if c.lab.ha.resources[sid] == nil {
			return fail("%s: cannot use unmanaged resource(s) %s.", prefix, sid)
		}
	}
	var absent []string
	for node := range priorities(c.params.str("nodes")) {
		if c.lab.nodes[node] == nil {
			absent = append(absent, node)
		}
	}
	if slices.Sort(absent); len(absent) > 0 {
		return fail("%s: cannot use non-existent node(s) %s.", prefix, strings.Join(absent, ", "))
	}
	return nil
}

func haRuleUpdate(c *call) (any, error) {
	const prefix = "update HA rules failed"
	rule := c.lab.ha.rules[c.params.str("rule")]
	if rule == nil {
		return nil, fail("%s: HA rule '%s' does not exist", prefix, c.params.str("rule"))
	}
	if err := c.checkRule(prefix); err != nil {
		return nil, err
	}
	c.fill(rule, "rule")
	return nothing(c)
}

func haRuleDelete(c *call) (any, error) {
	c.lab.ha.dropRule(c.params.str("rule"))
	return nothing(c)
}

func (m *haManager) dropRule(id string) {
	delete(m.rules, id)
	m.ruleOrder = slices.DeleteFunc(m.ruleOrder, func(r string) bool { return r == id })
}

// priorities are the nodes of a list such as "pve1:2,pve2".
func priorities(nodes string) map[string]int {
	out := map[string]int{}
	for _, entry := range splitList(nodes) {
		node, priority, _ := strings.Cut(entry, ":")
		out[node], _ = strconv.Atoi(priority)
	}
	return out
}

// preferred are the nodes that a group or a rule wants a resource on, and whether
// it may run on no other.
func (m *haManager) preferred(sid string) (nodes map[string]int, strict bool) {
	if group := m.groups[m.resources[sid].conf["group"]]; group != nil {
		return priorities(group["nodes"]), group["restricted"] == "1"
	}
	for _, id := range m.ruleOrder {
		rule := m.rules[id]
		applies := rule["type"] == "node-affinity" && rule["disable"] != "1"
		if applies && slices.Contains(splitList(rule["resources"]), sid) {
			return priorities(rule["nodes"]), rule["strict"] == "1"
		}
	}
	return nil, false
}
