package pvelab

import (
	"regexp"
	"slices"
	"strings"
)

// ruleTypes are the kinds of rules that a place takes.
var ruleTypes = map[string][]string{
	"vm": words("in out group"), "ct": words("in out group"), "group": words("in out forward"),
	"cluster": words("in out forward group"), "host": words("in out forward group"),
}

var (
	protocolsWithPorts = words("udp 17 udplite 136 tcp 6 dccp 33 sctp 132")
	icmpProtocols      = words("icmp 1 icmpv6 ipv6-icmp 58")
	guestIfaceRE       = regexp.MustCompile(`^net\d+$`)
	setNameRE          = regexp.MustCompile(`^\+(?:guest/|dc/|sdn/)?([A-Za-z][A-Za-z0-9_-]+)$`)
	aliasNameRE        = regexp.MustCompile(`^(guest/|dc/)?([A-Za-z][A-Za-z0-9_-]+)$`)
)

// mixed is what PVE says of a rule that is about both IPv4 and IPv6.
const mixed = "detected mixed ipv4/ipv6 addresses in rule"

// verify checks a rule before it is stored, completes it, and returns the first
// error as PVE does.
func (s *firewallScope) verify(rule firewallEntry) error {
	v := ruleCheck{scope: s, rule: rule}
	v.run()
	if v.dies != "" {
		return fail("%s", v.dies)
	}
	if len(v.order) == 0 {
		return nil
	}
	first := v.order[0]
	return badParams(map[string]string{first: v.wrong[first]})
}

// check tells what is wrong with a rule that is stored: what it names may be
// gone.
func (s *firewallScope) check(rule firewallEntry) map[string]string {
	v := ruleCheck{scope: s, rule: rule}
	v.run()
	return v.wrong
}

// ruleCheck collects what is wrong with a rule, by property and in PVE's order.
type ruleCheck struct {
	scope   *firewallScope
	rule    firewallEntry
	wrong   map[string]string
	order   []string
	version string
	// dies is an error outside of any property.
	dies string
}

func (v *ruleCheck) add(key, text string) {
	if v.wrong == nil {
		v.wrong = map[string]string{}
	}
	if v.wrong[key] == "" {
		v.wrong[key] = text
		v.order = append(v.order, key)
	}
}

func (v *ruleCheck) run() {
	v.kind()
	v.iface()
	v.macro()
	v.ports()
	v.address("source")
	v.address("dest")
	if v.version != "" {
		v.rule["ipversion"] = v.version
	}
	if v.rule["macro"] == "" || len(v.wrong) > 0 {
		return
	}
	if key, value := clashes(v.rule); key != "" {
		v.add(key, "parameter '"+key+"' already define in macro (value = '"+value+"')")
	}
}

func (v *ruleCheck) kind() {
	kind, action := v.rule["type"], v.rule["action"]
	if !slices.Contains(ruleTypes[v.scope.env], kind) {
		v.add("type", "invalid rule type '"+kind+"' for rule_env '"+v.scope.env+"'")
	}
	if kind == "group" {
		if v.scope.env == "group" {
			v.add("type", "security groups not allowed")
		}
		return
	}
	if kind == "forward" && action == "REJECT" {
		v.add("action", "cannot define REJECT rules on forward chain")
	}
	if !slices.Contains(words("ACCEPT DROP REJECT"), action) {
		v.add("action", "unknown action '"+action+"'")
	}
}

func (v *ruleCheck) iface() {
	iface := v.rule["iface"]
	if iface == "" {
		return
	}
	if v.scope.env == "group" {
		v.add("type", "parameter -i not allowed for this rule type")
	}
	if (v.scope.env == "vm" || v.scope.env == "ct") && !guestIfaceRE.MatchString(iface) {
		v.add("iface", `value does not match the regex pattern 'net\d+'`)
	}
}

// macro corrects the spelling of a macro's name.
func (v *ruleCheck) macro() {
	macro := v.rule["macro"]
	if macro == "" {
		return
	}
	name, ok := macroNames[strings.ToLower(macro)]
	if !ok {
		v.add("macro", "unknown macro '"+macro+"'")
		return
	}
	v.rule["macro"] = name
}

func (v *ruleCheck) ports() {
	proto := v.rule["proto"]
	switch proto {
	case "icmp":
		v.version = "4"
	case "icmpv6", "ipv6-icmp":
		v.version = "6"
	}
	icmp := slices.Contains(icmpProtocols, proto)
	for _, key := range []string{"dport", "icmp-type", "sport"} {
		if v.rule[key] == "" {
			continue
		}
		if key == "icmp-type" {
			v.icmpType(proto, icmp)
			continue
		}
		if err := checkPorts(v.rule[key], key == "dport" && icmp); err != nil {
			v.add(key, err.Error())
		}
		if proto == "" {
			v.add("proto", "missing property - '"+key+"' requires this property")
		}
		if !slices.Contains(protocolsWithPorts, proto) && (key == "sport" || !icmp) {
			v.add(key, "protocol '"+proto+"' does not support ports")
		}
	}
}

func (v *ruleCheck) icmpType(proto string, icmp bool) {
	kind := v.rule["icmp-type"]
	if !icmp {
		v.add("proto", "missing property - 'icmp-type' requires this property")
	}
	if v.rule["dport"] != "" {
		v.add("icmp-type", "'icmp-type' cannot be specified together with 'dport'")
	}
	v4, v6 := slices.Contains(icmpTypes, kind), slices.Contains(icmpv6Types, kind)
	if proto == "icmp" && !v4 || (proto == "icmpv6" || proto == "ipv6-icmp") && !v6 {
		v.add("icmp-type", "invalid icmp-type '"+kind+"' for proto '"+proto+"'")
	}
}

// address checks one end of the traffic: addresses, an alias or a set.
func (v *ruleCheck) address(key string) {
	value := v.rule[key]
	if value == "" {
		return
	}
	version, err := checkAddresses(value)
	switch {
	case err != nil:
		v.add(key, err.Error())
	case !v.fits(version):
		v.add(key, mixed)
	}
	if strings.HasPrefix(value, "+") {
		v.set(key, value)
		return
	}
	scope, name, isAlias := aliasName(value)
	if !isAlias {
		return
	}
	if v.scope.alias("", name) == nil {
		v.add(key, "no such alias '"+value+"'")
		return
	}
	if !v.fits(v.scope.alias(scope, name)["ipversion"]) {
		v.dies = mixed
	}
}

// fits takes note of an address's version and reports whether all are the same.
func (v *ruleCheck) fits(version string) bool {
	if version == "" {
		return true
	}
	if v.version != "" && v.version != version {
		return false
	}
	v.version = version
	return true
}

func (v *ruleCheck) set(key, value string) {
	m := setNameRE.FindStringSubmatch(value)
	if m == nil {
		v.add(key, "invalid ipset name '"+value+"'")
		return
	}
	own, cluster := v.scope.conf.sets[m[1]], v.scope.cluster
	if own == nil && (cluster == nil || cluster.sets[m[1]] == nil) {
		v.add(key, "no such ipset '"+m[1]+"'")
	}
}

// aliasName takes apart what may be an alias's name.
func aliasName(value string) (scope, name string, ok bool) {
	m := aliasNameRE.FindStringSubmatch(value)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// alias finds an alias: the guest's own before the cluster's, unless the prefix
// says which.
func (s *firewallScope) alias(scope, name string) firewallEntry {
	name = strings.ToLower(name)
	if s.cluster == nil {
		if scope == "guest/" {
			return nil
		}
		return s.conf.aliases[name]
	}
	if own := s.conf.aliases[name]; own != nil && scope != "dc/" {
		return own
	}
	if scope == "guest/" {
		return nil
	}
	return s.cluster.aliases[name]
}
