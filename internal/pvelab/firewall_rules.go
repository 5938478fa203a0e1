package pvelab

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ruleKeys are the properties of a rule that a call can set.
var ruleKeys = words("type action macro source dest proto enable sport dport comment icmp-type iface log")

func (l *Lab) routeFirewallRules(rules string, at firewallAt) {
	list := func(c *call) (*ruleList, error) {
		scope := at(c)
		return &ruleList{scope: scope, rules: &scope.conf.rules}, nil
	}
	l.routeRuleList(rules, list)
}

// ruleList is an ordered list of rules: of a scope, or of a security group.
type ruleList struct {
	scope *firewallScope
	rules *[]firewallEntry
}

// rulesAt finds the list that a call is about.
type rulesAt func(c *call) (*ruleList, error)

func (l *Lab) routeRuleList(path string, at rulesAt) {
	on := func(do func(*ruleList, *call) (any, error)) handler {
		return func(c *call) (any, error) {
			list, err := at(c)
			if err != nil {
				return nil, err
			}
			return do(list, c)
		}
	}
	l.handle("GET", path, on((*ruleList).show))
	l.handle("POST", path, on((*ruleList).insert))
	l.handle("GET", path+"/{pos}", on((*ruleList).one))
	l.handle("PUT", path+"/{pos}", on((*ruleList).update))
	l.handle("DELETE", path+"/{pos}", on((*ruleList).remove))
}

func (r *ruleList) show(*call) (any, error) {
	out := entriesAsAPI(*r.rules)
	for i, shown := range out {
		shown["pos"] = i
		if wrong := r.scope.check((*r.rules)[i]); len(wrong) > 0 {
			shown["errors"] = wrong
		}
	}
	return out, nil
}

func (r *ruleList) one(c *call) (any, error) {
	pos, err := r.position(c)
	if err != nil {
		return nil, err
	}
	shown := entriesAsAPI(*r.rules)[pos]
	shown["pos"] = c.params.str("pos")
	return shown, nil
}

func (r *ruleList) position(c *call) (int, error) {
	pos := c.params.integer("pos")
	if pos >= len(*r.rules) {
		return 0, fail("no rule at position %s", c.params.str("pos"))
	}
	return pos, nil
}

// insert puts a new rule first, whatever position and digest it is sent with.
func (r *ruleList) insert(c *call) (any, error) {
	rule := firewallEntry{"enable": "0"}
	rule.set(c.params)
	if err := r.scope.verify(rule); err != nil {
		return nil, err
	}
	*r.rules = slices.Insert(*r.rules, 0, r.scope.stored(rule))
	return nil, nil
}

// update changes a rule or, with moveto, only moves it.
func (r *ruleList) update(c *call) (any, error) {
	if err := c.unmodified(firewallDigest(*r.rules...)); err != nil {
		return nil, err
	}
	pos, err := r.position(c)
	if err != nil {
		return nil, err
	}
	if to := c.params.integer("moveto"); c.params.has("moveto") && to != pos {
		r.move(pos, to)
		return nil, nil
	}
	rule := cloneEntries((*r.rules)[pos : pos+1])[0]
	delete(rule, "ipversion")
	rule.set(c.params)
	if err := rule.forget(c.params.list("delete")); err != nil {
		return nil, err
	}
	if err := r.scope.verify(rule); err != nil {
		return nil, err
	}
	(*r.rules)[pos] = r.scope.stored(rule)
	return nil, nil
}

// move puts a rule before the one that is at the new position now.
func (r *ruleList) move(pos, to int) {
	var moved []firewallEntry
	rule := (*r.rules)[pos]
	for i, other := range *r.rules {
		if i == pos {
			continue
		}
		if i == to {
			moved = append(moved, rule)
		}
		moved = append(moved, other)
	}
	if to >= len(*r.rules) {
		moved = append(moved, rule)
	}
	*r.rules = moved
}

func (r *ruleList) remove(c *call) (any, error) {
	if err := c.unmodified(firewallDigest(*r.rules...)); err != nil {
		return nil, err
	}
	pos, err := r.position(c)
	if err != nil {
		return nil, err
	}
	*r.rules = slices.Delete(*r.rules, pos, pos+1)
	return nil, nil
}

// set takes a call's properties; an empty one and "-" remove it.
func (e firewallEntry) set(p params) {
	for _, k := range ruleKeys {
		switch v := p.str(k); {
		case !p.has(k):
		case v == "" || v == "-":
			delete(e, k)
		default:
			e[k] = v
		}
	}
}

func (e firewallEntry) forget(keys []string) error {
	for _, k := range keys {
		if !slices.Contains(ruleKeys, k) {
			return badParams(map[string]string{"delete": "no such property ('" + k + "')"})
		}
		if k == "type" || k == "action" {
			return badParams(map[string]string{"delete": "unable to delete required property '" + k + "'"})
		}
		delete(e, k)
	}
	return nil
}

// referenceKeys are what the file holds of a rule that names a security group.
var referenceKeys = words("type action enable iface comment")

var lineEndRE = regexp.MustCompile(`[\r\n].*`)

// stored is a rule as it reads once it was written to the file.
func (s *firewallScope) stored(rule firewallEntry) firewallEntry {
	out := firewallEntry{}
	for k, v := range rule {
		if rule["type"] == "group" && !slices.Contains(referenceKeys, k) || s.env == "group" && k == "iface" {
			continue
		}
		out[k] = v
	}
	enabled, _ := strconv.Atoi(rule["enable"])
	_, given := rule["enable"]
	out["enable"] = strconv.Itoa(boolInt(!given || enabled != 0))
	storeComment(out)
	return out
}

// storeComment keeps a comment as one line of the file can.
func storeComment(e firewallEntry) {
	e["comment"] = strings.TrimSpace(lineEndRE.ReplaceAllString(e["comment"], ""))
	if e["comment"] == "" {
		delete(e, "comment")
	}
}
