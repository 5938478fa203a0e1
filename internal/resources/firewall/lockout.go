package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/resources/firewall/plan"
)

// entrances are the TCP ports that are to stay open to the provider: PVE's API
// and SSH; with them the macros and services that stand for them.
var entrances = []struct {
	port           int
	macro, service string
}{{8006, "PMG", ""}, {22, "SSH", "ssh"}}

// managementSet is the set whose members PVE itself lets reach the nodes where
// no rule decides: pve-firewall judges it after the rules and before the policy.
const managementSet = "management"

// closed tells why the planned firewall may lock out who comes from an address,
// or "".
func (c *check) closed(ctx context.Context, from netip.Addr) (why string, err error) {
	lists := [][]proxmox.FirewallRule{c.want.rules}
	if !c.want.managed || c.planned.marker() != "" {
		has, err := c.client.Firewall.Rules(ctx, c.scope)
		if err != nil {
			return "", err
		}
		lists = c.results(has.Rules)
	}
	for _, rules := range lists {
		if why := c.shut(from, rules); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// results are the lists that the plan may make of one with rules of others. How
// it is changed depends on whether it is in force by then, and with it where
// among the others new rules land.
func (c *check) results(has []proxmox.FirewallRule) [][]proxmox.FirewallRule {
	own := c.planned.marker()
	if before := c.state.marker(); !c.state.Rules.IsNull() && before != own {
		// Another tag makes it another resource: this one's rules go first.
		has = slices.DeleteFunc(slices.Clone(has), before.has)
	}
	if !c.want.managed {
		return [][]proxmox.FirewallRule{has}
	}
	var lists [][]proxmox.FirewallRule
	for _, o := range []plan.Options{{}, {Live: true, Exact: true}} {
		o.Owned = own.has
		list := has
		for _, step := range plan.Rules(has, c.want.rules, o) {
			list = step.Apply(list)
		}
		lists = append(lists, list)
	}
	return lists
}

// shut tells why a list of rules, with what else is planned, may lock out who
// comes from an address, or "".
func (c *check) shut(from netip.Addr, rules []proxmox.FirewallRule) string {
	a := approach{from: from, sets: c.want.sets, aliases: c.want.aliases}
	otherwise := c.want.options["policy_in"]
	if a.among(c.want.sets[managementSet]) == surely {
		otherwise = accepts
	}
	for _, entrance := range entrances {
		a.port, a.macro, a.service = entrance.port, entrance.macro, entrance.service
		if !a.open(rules, otherwise) {
			return fmt.Sprintf("no rule is seen to accept TCP port %d from %s, where the provider runs", a.port, from)
		}
	}
	return ""
}

// approach is the provider on its way to a port of a node.
type approach struct {
	from           netip.Addr
	port           int
	macro, service string
	sets           map[string]members
	aliases        map[string]string
}

// likelihood is whether something holds for the approach.
type likelihood int

const (
	never likelihood = iota
	perhaps
	surely
)

// open reports whether the rules surely let it in. A security group may refuse
// it, a name that is not configured here may mean anything.
func (a approach) open(rules []proxmox.FirewallRule, policy string) bool {
	for _, rule := range rules {
		if !rule.Enabled || rule.Type != directionIn && rule.Type != directionGroup {
			continue
		}
		match := a.match(rule)
		switch {
		case rule.Type == directionGroup:
			return false
		case rule.Action == accepts && match == surely:
			return true
		case rule.Action != accepts && match != never:
			return false
		}
	}
	return policy == accepts
}

func (a approach) match(rule proxmox.FirewallRule) likelihood {
	match := surely
	for _, part := range []likelihood{a.protocol(rule), a.ports(rule.DestinationPort), a.sender(rule.Source)} {
		match = min(match, part)
	}
	if rule.Interface != "" || rule.Destination != "" || rule.SourcePort != "" {
		match = min(match, perhaps)
	}
	return match
}

func (a approach) protocol(rule proxmox.FirewallRule) likelihood {
	switch {
	case rule.Protocol != "" && rule.Protocol != "tcp" && rule.Protocol != "6":
		return never
	case rule.Macro == "" || rule.Macro == a.macro:
		return surely
	}
	return perhaps
}

func (a approach) ports(list string) likelihood {
	if list == "" {
		return surely
	}
	best := never
	for _, item := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(item, ":")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		switch {
		case err == nil && err2 == nil && first <= a.port && a.port <= last, item == a.service && item != "":
			return surely
		case err != nil || err2 != nil:
			best = perhaps
		}
	}
	return best
}

func (a approach) sender(end string) likelihood {
	name := referenceOf(end)
	switch {
	case end == "":
		return surely
	case strings.HasPrefix(name, "+"):
		set, ours := a.sets[name[1:]]
		if !ours {
			return perhaps
		}
		return a.among(set)
	case name != "":
		cidr, ours := a.aliases[name]
		if !ours {
			return perhaps
		}
		return a.in(cidr)
	case strings.Contains(end, "-"):
		return perhaps
	}
	best := never
	for _, item := range strings.Split(end, ",") {
		best = max(best, a.in(item))
	}
	return best
}

// among reports whether a set holds the address, and none of its exceptions.
func (a approach) among(set members) likelihood {
	best, most := never, surely
	for address, except := range set {
		in := a.sender(address)
		if except {
			most = min(most, surely-in)
			continue
		}
		best = max(best, in)
	}
	return min(best, most)
}

func (a approach) in(cidr string) likelihood {
	if network, ok := networkOf(cidr); ok && network.Contains(a.from) {
		return surely
	}
	return never
}
