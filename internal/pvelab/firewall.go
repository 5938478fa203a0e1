package pvelab

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// firewallState is what the firewall's endpoints keep in the lab. Nothing
// enforces the rules: they are verified and stored, as on a PVE whose firewall
// daemon does not run.
type firewallState struct {
	// firewalls are the configuration files that exist, by their name below
	// /etc/pve: firewall/cluster.fw, firewall/<vmid>.fw, nodes/<node>/host.fw.
	firewalls map[string]*firewallConf
	// firewallLogs are the nodes' logs; a node without a log has no such file.
	firewallLogs map[string][]string
}

func (l *Lab) initFirewall() {
	l.firewalls = map[string]*firewallConf{}
	l.firewallLogs = map[string][]string{}
}

func (l *Lab) routeFirewall() {
	const cluster, node = "/cluster/firewall", "/nodes/{node}/firewall"
	l.handle("GET", cluster, firewallIndex("aliases", "rules", "options", "ipset", "groups", "macros", "refs"))
	l.handle("GET", cluster+"/macros", firewallMacroList)
	l.handle("GET", node, firewallIndex("rules", "options", "log"))
	l.routeFirewallGroups(cluster + "/groups")
	l.routeFirewallOptions(cluster, clusterFirewall)
	l.routeFirewallRules(cluster+"/rules", clusterFirewall)
	l.routeFirewallNames(cluster, clusterFirewall)
	l.routeFirewallOptions(node, nodeFirewall)
	l.routeFirewallRules(node+"/rules", nodeFirewall)
	l.handle("GET", node+"/log", firewallLog)
	for kind, env := range map[string]string{"qemu": "vm", "lxc": "ct"} {
		l.routeGuestFirewall("/nodes/{node}/"+kind+"/{vmid}/firewall", guestFirewall(env))
	}
}

func (l *Lab) routeGuestFirewall(guest string, at firewallAt) {
	l.handle("GET", guest, firewallIndex("rules", "aliases", "ipset", "refs", "options"))
	l.routeFirewallOptions(guest, at)
	l.routeFirewallRules(guest+"/rules", at)
	l.routeFirewallNames(guest, at)
	l.handle("GET", guest+"/log", firewallLog)
}

func firewallIndex(names ...string) handler {
	return func(*call) (any, error) { return subdirs("name", names...), nil }
}

// firewallConf is one configuration file of the firewall.
type firewallConf struct {
	options map[string]string
	rules   []firewallEntry
	// aliases go by their names in lower case.
	aliases map[string]firewallEntry
	sets    map[string]*firewallList
	// groups are the cluster's security groups.
	groups map[string]*firewallList
}

// firewallList is an IP set with its members, or a security group with its
// rules.
type firewallList struct {
	comment string
	entries []firewallEntry
}

// firewallEntry is a rule, an alias or a member of an IP set, by PVE's names.
type firewallEntry map[string]string

func newFirewallConf() *firewallConf {
	return &firewallConf{
		options: map[string]string{}, aliases: map[string]firewallEntry{},
		sets: map[string]*firewallList{}, groups: map[string]*firewallList{},
	}
}

// firewallScope is the configuration that a call is about. Guests and nodes see
// the cluster's aliases and sets beside their own.
type firewallScope struct {
	conf, cluster *firewallConf
	// env is PVE's name of the place, on which the kinds of rules depend.
	env string
}

// firewallAt finds the scope of a call. PVE does not ask whether the guest
// exists: the firewall of one that does not is empty, and can be filled.
type firewallAt func(c *call) *firewallScope

const clusterFirewallFile = "firewall/cluster.fw"

func (l *Lab) firewall(file string) *firewallConf {
	if l.firewalls[file] == nil {
		l.firewalls[file] = newFirewallConf()
	}
	return l.firewalls[file]
}

func clusterFirewall(c *call) *firewallScope {
	return &firewallScope{conf: c.lab.firewall(clusterFirewallFile), env: "cluster"}
}

func nodeFirewall(c *call) *firewallScope {
	conf := c.lab.firewall("nodes/" + c.node + "/host.fw")
	return &firewallScope{conf: conf, cluster: c.lab.firewall(clusterFirewallFile), env: "host"}
}

func guestFirewall(env string) firewallAt {
	return func(c *call) *firewallScope {
		conf := c.lab.firewall(guestFirewallFile(c.params.integer("vmid")))
		return &firewallScope{conf: conf, cluster: c.lab.firewall(clusterFirewallFile), env: env}
	}
}

func guestFirewallFile(vmid int) string { return fmt.Sprintf("firewall/%d.fw", vmid) }

// copyFirewall gives a clone its source's firewall.
func (l *Lab) copyFirewall(source, clone int) {
	delete(l.firewalls, guestFirewallFile(clone))
	if conf := l.firewalls[guestFirewallFile(source)]; conf != nil {
		l.firewalls[guestFirewallFile(clone)] = conf.clone()
	}
}

// removeFirewall forgets the firewall of a guest that was destroyed.
func (l *Lab) removeFirewall(vmid int) { delete(l.firewalls, guestFirewallFile(vmid)) }

func (f *firewallConf) clone() *firewallConf {
	out := newFirewallConf()
	out.options = maps.Clone(f.options)
	out.rules = cloneEntries(f.rules)
	for name, alias := range f.aliases {
		out.aliases[name] = maps.Clone(alias)
	}
	for name, set := range f.sets {
		out.sets[name] = &firewallList{comment: set.comment, entries: cloneEntries(set.entries)}
	}
	return out
}

func cloneEntries(list []firewallEntry) []firewallEntry {
	out := make([]firewallEntry, len(list))
	for i, e := range list {
		out[i] = maps.Clone(e)
	}
	return out
}

// firewallDigest is PVE's digest of a list: of what its entries say, in order.
func firewallDigest(list ...firewallEntry) string {
	sum := sha1.New()
	for _, e := range list {
		for _, k := range sortedKeys(e) {
			_, _ = io.WriteString(sum, k+":"+e[k]+"\n")
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// numericFirewallKeys are shown as numbers.
var numericFirewallKeys = words("enable ipversion nomatch")

func (e firewallEntry) asAPI() map[string]any {
	out := map[string]any{}
	for k, v := range e {
		out[k] = v
		if n, err := strconv.Atoi(v); err == nil && slices.Contains(numericFirewallKeys, k) {
			out[k] = n
		}
	}
	return out
}

// entriesAsAPI shows a list, each entry with the digest of all.
func entriesAsAPI(list []firewallEntry) []map[string]any {
	digest := firewallDigest(list...)
	out := make([]map[string]any, 0, len(list))
	for _, e := range list {
		shown := e.asAPI()
		shown["digest"] = digest
		out = append(out, shown)
	}
	return out
}

// unmodified compares the digest that a call brings, if it does.
func (c *call) unmodified(digest string) error {
	if given := c.params.str("digest"); given != "" && given != digest {
		return fail("detected modified configuration - file changed by other user? Try again.")
	}
	return nil
}
