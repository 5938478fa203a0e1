package pvelab

import "strings"

func (l *Lab) routeFirewallGroups(groups string) {
	l.handle("GET", groups, securityGroups)
	l.handle("POST", groups, createSecurityGroup)
	l.routeRuleList(groups+"/{group}", securityGroupRules)
	l.handle("DELETE", groups+"/{group}", deleteSecurityGroup)
}

func securityGroups(c *call) (any, error) {
	return entriesAsAPI(listed("group", clusterFirewall(c).conf.groups)), nil
}

// securityGroupRules finds a security group's rules.
func securityGroupRules(c *call) (*ruleList, error) {
	scope := clusterFirewall(c)
	scope.env = "group"
	group := scope.conf.groups[c.params.str("group")]
	if group == nil {
		return nil, fail("no such security group '%s'", c.params.str("group"))
	}
	return &ruleList{scope: scope, rules: &group.entries}, nil
}

// createSecurityGroup makes a group or, with rename, gives one another name or comment.
func createSecurityGroup(c *call) (any, error) {
	groups := clusterFirewall(c).conf.groups
	name, rename, comment := c.params.str("group"), c.params.str("rename"), c.params.str("comment")
	if rename == "" {
		if groups[name] != nil {
			return nil, badParams(map[string]string{"group": "Security group '" + name + "' already exists"})
		}
		groups[strings.ToLower(name)] = &firewallList{comment: comment}
		return nil, nil
	}
	if err := c.unmodified(firewallDigest(listed("group", groups)...)); err != nil {
		return nil, err
	}
	group := groups[rename]
	if group == nil {
		return nil, badParams(map[string]string{"group": "Security group '" + rename + "' does not exist"})
	}
	if groups[name] != nil && name != rename {
		return nil, badParams(map[string]string{"group": "Security group '" + name + "' does already exist"})
	}
	if c.params.has("comment") {
		group.comment = comment
	}
	delete(groups, rename)
	groups[strings.ToLower(name)] = group
	c.lab.renameGroup(rename, name)
	return nil, nil
}

// renameGroup follows a group's new name in all rules.
func (l *Lab) renameGroup(old, name string) {
	for _, conf := range l.firewalls {
		for _, rule := range conf.rules {
			if rule["type"] == "group" && rule["action"] == old {
				rule["action"] = name
			}
		}
	}
}

func deleteSecurityGroup(c *call) (any, error) {
	list, err := securityGroupRules(c)
	if err != nil {
		return nil, err
	}
	if len(*list.rules) > 0 {
		return nil, fail("Security group '%s' is not empty", c.params.str("group"))
	}
	delete(list.scope.conf.groups, c.params.str("group"))
	return nil, nil
}
