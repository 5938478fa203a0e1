package firewall

import (
	"net/netip"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/resources/firewall/traffic"
)

func TestLockout(t *testing.T) {
	t.Parallel()
	a := approach{
		from: netip.MustParseAddr("10.0.0.5"), port: 22, macro: "SSH", service: "ssh",
		sets: map[string]members{
			"operators": {"10.0.0.0/24": false}, "others": {"10.1.0.0/16": false},
			"except": {"10.0.0.0/8": false, "10.0.0.5": true}, "unsure": {"dc/somewhere": false},
		},
		aliases: map[string]string{"me": "10.0.0.5", "you": "10.0.0.6"},
	}
	for text, want := range map[string]bool{
		"in ACCEPT":                             true,
		"in ACCEPT tcp":                         true,
		"in ACCEPT tcp 20:22":                   true,
		"in ACCEPT tcp 80,ssh":                  true,
		"in ACCEPT tcp 80,http":                 false,
		"in ACCEPT udp 22":                      false,
		"in SSH(ACCEPT)":                        true,
		"in Ceph(ACCEPT)":                       false,
		"in SSH(ACCEPT) from 10.0.0.0/8":        true,
		"in SSH(ACCEPT) from 10.0.0.6":          false,
		"in SSH(ACCEPT) from 10.0.0.1-10.0.0.9": false,
		"in SSH(ACCEPT) from +operators":        true,
		"in SSH(ACCEPT) from +dc/operators":     true,
		"in SSH(ACCEPT) from +others":           false,
		"in SSH(ACCEPT) from +except":           false,
		"in SSH(ACCEPT) from +unsure":           false,
		"in SSH(ACCEPT) from +elsewhere":        false,
		"in SSH(ACCEPT) from me":                true,
		"in SSH(ACCEPT) from you":               false,
		"in SSH(ACCEPT) on vmbr0":               false,
		"in SSH(ACCEPT) to 10.0.0.1":            false,
		"| in ACCEPT":                           false,
		"out ACCEPT":                            false,
		"group web":                             false,
	} {
		if got := a.open([]proxmox.FirewallRule{traffic.Rule(text)}, "DROP"); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for text, want := range map[string]bool{
		"in DROP tcp 80":         true,
		"in DROP from +others":   true,
		"in DROP udp":            true,
		"out DROP":               true,
		"| in DROP":              true,
		"in DROP":                false,
		"in DROP from +unsure":   false,
		"in DROP on vmbr1":       false,
		"in Ceph(DROP)":          false,
		"in DROP tcp 80,unknown": false,
		"group web":              false,
	} {
		for _, policy := range []string{"ACCEPT", "DROP"} {
			rules := []proxmox.FirewallRule{traffic.Rule(text)}
			if policy == "DROP" {
				rules = append(rules, traffic.Rule("in ACCEPT"))
			}
			if got := a.open(rules, policy); got != want {
				t.Errorf("%s, then %s: %t", text, policy, got)
			}
		}
	}
}

// TestLockoutOfTaggedPlans: what counts is the list that the plan makes, among
// rules of others.
func TestLockoutOfTaggedPlans(t *testing.T) {
	t.Parallel()
	const mine, before = " # [terraform:mine]", " # [terraform:before]"
	for _, tc := range []struct {
		name         string
		state        string
		has, want    []string
		open, unruly bool
	}{
		{name: "its 8006 rule goes", has: []string{"in SSH(ACCEPT)", "in ACCEPT tcp 8006" + mine}},
		{name: "its 8006 rule stays", has: []string{"in SSH(ACCEPT)", "in ACCEPT tcp 8006" + mine}, want: []string{"in ACCEPT tcp 8006"}, open: true},
		{name: "no rules are planned", has: []string{"in SSH(ACCEPT)", "in ACCEPT tcp 8006" + mine}, unruly: true, open: true},
		{name: "a DROP lands before what is accepted by hand", has: []string{"in ACCEPT"}, want: []string{"in DROP tcp 8006"}},
		{name: "a DROP of another port", has: []string{"in ACCEPT"}, want: []string{"in DROP tcp 80"}, open: true},
		{name: "an ACCEPT lands before what is dropped by hand", has: []string{"in DROP"}, want: []string{"in ACCEPT"}, open: true},
		{name: "an ACCEPT follows its own rule behind a DROP", has: []string{"in DROP", "in ACCEPT tcp 80" + mine}, want: []string{"in ACCEPT tcp 80", "in ACCEPT"}},
		{name: "the rules of another tag go", state: "before", has: []string{"in ACCEPT" + before}, want: []string{"in ACCEPT tcp 8006"}},
		{name: "the DROP of another tag goes", state: "before", has: []string{"in DROP" + before}, want: []string{"in ACCEPT"}, open: true},
	} {
		c := check{planned: tagged("mine"), want: ruleset{managed: !tc.unruly}}
		if tc.state != "" {
			c.state = tagged(tc.state)
		}
		for _, text := range tc.want {
			c.want.rules = append(c.want.rules, traffic.Rule(text+mine))
		}
		var has []proxmox.FirewallRule
		for _, text := range tc.has {
			has = append(has, traffic.Rule(text))
		}
		open := true
		for _, list := range c.results(has) {
			open = open && c.shut(netip.MustParseAddr("10.0.0.5"), list) == ""
		}
		if open != tc.open {
			t.Errorf("%s: open is %t", tc.name, open)
		}
	}
}

func tagged(tag string) model {
	return model{Ownership: types.StringValue(ownsTagged), Tag: types.StringValue(tag), Rules: types.ListValueMust(ruleType, nil)}
}

// TestLockoutOfManagement: PVE lets members of the set in after all rules.
func TestLockoutOfManagement(t *testing.T) {
	t.Parallel()
	for text, open := range map[string]bool{
		"in DROP":              false,
		"in DROP tcp 22":       false,
		"in DROP from +unsure": false,
		"group web":            false,
		"in DROP tcp 80":       true,
		"in ACCEPT tcp 80":     true,
	} {
		c := check{want: ruleset{sets: map[string]members{managementSet: {"10.0.0.0/24": false}}}}
		rules := []proxmox.FirewallRule{traffic.Rule(text)}
		if why := c.shut(netip.MustParseAddr("10.0.0.5"), rules); (why == "") != open {
			t.Errorf("%s: a member is told %q", text, why)
		}
		if why := c.shut(netip.MustParseAddr("10.0.1.5"), rules); why == "" {
			t.Errorf("%s: who is no member is let in", text)
		}
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]proxmox.FirewallScope{
		"vm/20001":           {Kind: proxmox.FirewallVM, VMID: 20001},
		"container/20002":    {Kind: proxmox.FirewallContainer, VMID: 20002},
		"node/pve1":          {Kind: proxmox.FirewallNode, Node: "pve1"},
		"security_group/web": {Kind: proxmox.FirewallGroup, Group: "web"},
		"cluster":            {Kind: proxmox.FirewallCluster},
	} {
		for _, tag := range []string{"", "mine"} {
			given := id
			if tag != "" {
				given += ":" + tag
			}
			scope, got, err := parseID(given)
			if err != nil || scope != want || got != tag {
				t.Errorf("%s: %+v, tag %q, %v", given, scope, got, err)
			}
			if scope.String() != id {
				t.Errorf("%s reads back as %s", id, scope)
			}
		}
	}
	for _, id := range []string{"", "vm", "vm/", "vm/x", "20001", "cluster/x", "node/", "vm/1:Bad Tag", "group/web"} {
		if scope, _, err := parseID(id); err == nil {
			t.Errorf("%q is %+v", id, scope)
		}
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	own := marker("web")
	for comment, marked := range map[string]string{"": "[terraform:web]", "public": "public [terraform:web]"} {
		rule := proxmox.FirewallRule{Type: "in", Action: "DROP", Comment: comment}
		put := own.put(rule)
		if put.Comment != marked || !own.has(put) || own.has(rule) || own.strip(put) != rule {
			t.Errorf("%q is marked %q, and stripped %q", comment, put.Comment, own.strip(put).Comment)
		}
	}
	if marker("eb").has(own.put(proxmox.FirewallRule{Comment: "w"})) || own.has(marker("web2").put(proxmox.FirewallRule{})) {
		t.Error("a marker is taken for another one")
	}
}

// TestOptionMoments: what allows less is early, what allows more late.
func TestOptionMoments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key, value string
		want       moment
	}{
		{"macfilter", "1", early},
		{"macfilter", "0", late},
		{"macfilter", "", early},
		{"ipfilter", "", late},
		{"dhcp", "0", early},
		{"dhcp", "1", late},
		{"radv", "", early},
		{"policy_in", "DROP", turning},
		{"enable", "1", turning},
		{"log_level_in", "info", turning},
		{"tcpflags", "1", early},
		{"nf_conntrack_allow_invalid", "1", late},
	} {
		if got := optionOf(tc.key).moment(tc.value); got != tc.want {
			t.Errorf("%s = %q is due at %d, not %d", tc.key, tc.value, got, tc.want)
		}
	}
}
