package firewall_test

import (
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

type object = protocol.Object

// ruled is a firewall of a VM with one rule, which accepts what comes in.
func ruled(rule object) object {
	all := object{"direction": "in", "action": "ACCEPT"}
	for name, value := range rule {
		all[name] = value
	}
	return object{"rules": []any{all}}
}

// TestInvalid: what PVE would refuse, or keep otherwise than written, is refused
// where it is configured, before anything is asked.
func TestInvalid(t *testing.T) {
	t.Parallel()
	server := protocol.New(t, provider.New("test")())
	vm, cluster, group := object{"vm": 20000}, object{"cluster": true}, object{"security_group": "web"}
	for name, test := range map[string]struct {
		scope, config object
		at, says      string
	}{
		"no scope":                  {object{}, nil, "scope", "names exactly one"},
		"two scopes":                {object{"vm": 20000, "cluster": true}, nil, "scope", "names exactly one"},
		"not the cluster":           {object{"cluster": false}, nil, "scope", "names exactly one"},
		"nobody's":                  {cluster, object{"foreign": false}, "foreign", "must be true"},
		"tagged without a tag":      {vm, object{"ownership": "tagged"}, "tag", "is needed with"},
		"a tag of nothing":          {vm, object{"tag": "mine"}, "tag", "is for ownership"},
		"a guest's comment":         {vm, object{"comment": "x"}, "comment", "is for security groups"},
		"a comment of two lines":    {group, object{"comment": "two\nlines"}, "comment", "is one line"},
		"a blank at its end":        {group, object{"comment": "one "}, "comment", "without blanks"},
		"an option of nodes":        {vm, object{"options": object{"conntrack_max": 40000}}, "options.conntrack_max", "is for nodes"},
		"filtered without filter":   {vm, object{"spoof_protection": object{"net0": []any{"10.0.0.1"}}, "options": object{"mac_filter": false}}, "spoof_protection", "needs the MAC filter"},
		"filters of the cluster":    {cluster, object{"foreign": true, "spoof_protection": object{"net0": []any{"10.0.0.1"}}}, "spoof_protection", "is for guests"},
		"sets of a group":           {group, object{"foreign": true, "ip_sets": object{"a1": []any{}}}, "ip_sets", "are for guests and the cluster"},
		"a set in capitals":         {vm, object{"ip_sets": object{"Big": []any{}}}, "ip_sets.Big", "is not a set's name"},
		"a set that filters":        {vm, object{"ip_sets": object{"ipfilter-net0": []any{}}}, "ip_sets.ipfilter-net0", "is what spoof_protection makes"},
		"a member of nothing":       {vm, object{"ip_sets": object{"a1": []any{"10.0.0.300"}}}, "ip_sets.a1", "neither an address nor a network"},
		"a member of everything":    {vm, object{"ip_sets": object{"a1": []any{"0.0.0.0/0"}}}, "ip_sets.a1", "a network of all addresses"},
		"a filter of no device":     {vm, object{"spoof_protection": object{"eth0": []any{"10.0.0.1"}}}, "spoof_protection.eth0", "is not the slot"},
		"an alias in digits":        {vm, object{"aliases": object{"1a": "10.0.0.1"}}, "aliases.1a", "is not an alias's name"},
		"an alias with its length":  {vm, object{"aliases": object{"a1": "10.0.0.1/32"}}, "aliases.a1", "keeps as 10.0.0.1"},
		"an alias with host bits":   {vm, object{"aliases": object{"a1": "10.0.0.1/8"}}, "aliases.a1", "keeps as 10.0.0.0/8"},
		"a forward of a guest":      {vm, ruled(object{"direction": "forward"}), "rules.0.direction", "a guest's traffic is in or out"},
		"a group in a group":        {group, ruled(object{"direction": "group", "action": "other"}), "rules.0.direction", "cannot hold another"},
		"an interface of a group":   {group, ruled(object{"interface": "net0"}), "rules.0.interface", "is not for rules of a security group"},
		"an interface of the guest": {vm, ruled(object{"interface": "eth0"}), "rules.0.interface", "such as net0"},
		"a group of no name":        {vm, ruled(object{"direction": "group", "action": "!"}), "rules.0.action", "is the name of the security group"},
		"a group with a port":       {vm, ruled(object{"direction": "group", "action": "web", "protocol": "tcp"}), "rules.0.direction", "has its own rules"},
		"a group with a comment":    {vm, ruled(object{"direction": "group", "action": "web", "comment": "a\nb"}), "rules.0.comment", "is one line"},
		"another action":            {vm, ruled(object{"action": "LOG"}), "rules.0.action", "is ACCEPT, DROP or REJECT"},
		"a forward rejected":        {cluster, ruled(object{"direction": "forward", "action": "REJECT"}), "rules.0.action", "cannot be rejected"},
		"a macro of two words":      {vm, ruled(object{"macro": "a b"}), "rules.0.macro", "is not the name of a macro"},
		"a port of no protocol":     {vm, ruled(object{"destination_port": "22"}), "rules.0.destination_port", "needs a protocol that has ports"},
		"a port too high":           {vm, ruled(object{"protocol": "tcp", "destination_port": "70000"}), "rules.0.destination_port", `"70000" is neither a port`},
		"ports backwards":           {vm, ruled(object{"protocol": "tcp", "source_port": "9:1"}), "rules.0.source_port", "backwards"},
		"many ports":                {vm, ruled(object{"protocol": "tcp", "source_port": "1:2,3:4,5:6,7:8,9:10,11:12,13:14,15:16"}), "rules.0.source_port", "more than 15"},
		"a type of no ICMP":         {vm, ruled(object{"protocol": "tcp", "icmp_type": "echo-request"}), "rules.0.icmp_type", "needs protocol icmp"},
		"host bits":                 {vm, ruled(object{"source": "10.0.0.5/8"}), "rules.0.source", "the network is 10.0.0.0/8"},
		"a set's name in capitals":  {vm, ruled(object{"source": "+Admins"}), "rules.0.source", "lower case"},
		"both versions":             {vm, ruled(object{"destination": "10.0.0.1,fd00::1"}), "rules.0.destination", "mixes IPv4 and IPv6"},
		"a range backwards":         {vm, ruled(object{"source": "10.0.0.9-10.0.0.1"}), "rules.0.source", "is no range of addresses"},
		"a range among others":      {vm, ruled(object{"source": "10.0.0.1-10.0.0.2,10.0.0.9"}), "rules.0.source", "or not alone"},
		"no address":                {vm, ruled(object{"source": "10.0.0.0.0"}), "rules.0.source", "neither an address, nor a network"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := object{"scope": test.scope}
			for name, value := range test.config {
				config[name] = value
			}
			plan, diagnostics := server.Manage(t, "proxmox_firewall").Plan(t, config)
			if plan != nil {
				t.Fatal("it is planned")
			}
			for _, each := range diagnostics {
				if protocol.Path(each) == test.at && strings.Contains(each.Summary+each.Detail, test.says) {
					return
				}
			}
			t.Errorf("%s does not say %q", test.at, test.says)
			for _, each := range diagnostics {
				t.Errorf("at %q: %s: %s", protocol.Path(each), each.Summary, each.Detail)
			}
		})
	}
}

// TestValid: every form that PVE keeps as it is written passes, and what is unknown
// is left for later.
func TestValid(t *testing.T) {
	t.Parallel()
	server := protocol.New(t, provider.New("test")())
	for name, config := range map[string]object{
		"a guest": {
			"scope":            object{"vm": 20000},
			"options":          object{"enabled": true, "policy_in": "DROP", "mac_filter": true},
			"ip_sets":          object{"admins": []any{"10.0.9.0/24", "!10.0.9.66", "fd00::1", "monitor"}},
			"aliases":          object{"monitor": "10.0.8.1", "lan6": "fd00::/64"},
			"spoof_protection": object{"net0": []any{"10.0.0.11"}},
			"rules": []any{
				object{"direction": "in", "action": "ACCEPT", "protocol": "tcp", "source_port": "1:1024", "destination_port": "ssh,8000:8080,443"},
				object{"direction": "in", "action": "ACCEPT", "protocol": "icmpv6", "icmp_type": "echo-request", "source": "+guest/admins"},
				object{"direction": "out", "action": "REJECT", "macro": "SMTP", "destination": "10.0.0.1-10.0.0.9", "interface": "net0"},
				object{"direction": "in", "action": "DROP", "source": "10.0.0.1,10.1.0.0/16", "destination": "monitor"},
				object{"direction": "group", "action": "web", "interface": "net0", "enabled": false, "comment": "all of it"},
			},
		},
		"unknown things": {
			"scope": object{"vm": protocol.Unknown}, "aliases": object{"a1": protocol.Unknown},
			"rules": []any{object{"direction": "in", "action": "ACCEPT", "source": protocol.Unknown, "destination_port": "22"}},
		},
		"a scope to come": {"scope": protocol.Unknown, "comment": "whose?"},
		"a node": {
			"scope": object{"node": "pve1"}, "foreign": true, "options": object{"conntrack_max": 40000},
			"rules": []any{object{"direction": "forward", "action": "DROP", "interface": "vmbr0"}},
		},
	} {
		if plan, diagnostics := server.Manage(t, "proxmox_firewall").Plan(t, config); plan == nil || len(diagnostics) != 0 {
			t.Errorf("%s: %s", name, diagnostics)
		}
	}
}
