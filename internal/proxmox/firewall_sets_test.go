package proxmox

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestFirewallLists reads what else a firewall has. Digests stand in each entry.
func TestFirewallLists(t *testing.T) {
	t.Parallel()
	const cluster = "/cluster/firewall"
	c := script(t,
		on("GET "+cluster+"/ipset").data200([]any{map[string]any{"name": "admins", "digest": "x"}, map[string]any{"name": "blocked"}}),
		on("GET "+cluster+"/ipset/admins").data200([]any{map[string]any{"cidr": "10.0.0.0/8", "digest": "m"}, map[string]any{"cidr": "10.1.0.0/16", "nomatch": 1, "comment": "not these", "digest": "m"}}),
		on("GET "+cluster+"/aliases").data200([]any{map[string]any{"name": "office", "cidr": "192.0.2.1", "comment": "c", "ipversion": 4, "digest": "a"}}),
		on("GET "+cluster+"/groups").data200([]any{map[string]any{"group": "web", "comment": "the web"}, map[string]any{"group": "db"}}),
		on("GET "+cluster+"/macros").data200([]any{map[string]any{"macro": "SSH"}, map[string]any{"macro": "DNS"}, map[string]any{"macro": "SSH"}}),
		on("GET /nodes/pve1/lxc/110/firewall/options").data200(map[string]any{"enable": 1, "policy_in": "DROP", "digest": "o"}),
	)
	ctx, scope := t.Context(), FirewallScope{Kind: FirewallCluster}
	if sets, err := c.Firewall.Sets(ctx, scope); err != nil || !reflect.DeepEqual(sets, []string{"admins", "blocked"}) {
		t.Errorf("sets %v, %v", sets, err)
	}
	members, digest, err := c.Firewall.Members(ctx, scope, "admins")
	if want := []FirewallMember{{CIDR: "10.0.0.0/8"}, {CIDR: "10.1.0.0/16", NoMatch: true, Comment: "not these"}}; err != nil || digest != "m" || !reflect.DeepEqual(members, want) {
		t.Errorf("members %+v, %s, %v", members, digest, err)
	}
	aliases, digest, err := c.Firewall.Aliases(ctx, scope)
	if err != nil || digest != "a" || !reflect.DeepEqual(aliases, []FirewallAlias{{"office", "192.0.2.1", "c"}}) {
		t.Errorf("aliases %+v, %s, %v", aliases, digest, err)
	}
	if groups, err := c.Firewall.Groups(ctx); err != nil || !reflect.DeepEqual(groups, map[string]string{"web": "the web", "db": ""}) {
		t.Errorf("groups %v, %v", groups, err)
	}
	for range 2 { // They are read once.
		if macros, err := c.View.FirewallMacros(ctx); err != nil || !reflect.DeepEqual(macros, []string{"DNS", "SSH"}) {
			t.Errorf("macros %v, %v", macros, err)
		}
	}
	options, err := c.Firewall.Options(ctx, FirewallScope{Kind: FirewallContainer, Node: "pve1", VMID: 110})
	if err != nil || options.Digest != "o" || !reflect.DeepEqual(options.Values, map[string]string{"enable": "1", "policy_in": "DROP"}) {
		t.Errorf("options %+v, %v", options, err)
	}
}

// TestFirewallListsFail: what cannot be read is an error, and never an empty
// list, which would be made true by removing everything.
func TestFirewallListsFail(t *testing.T) {
	t.Parallel()
	scope := FirewallScope{Kind: FirewallCluster}
	reads := map[string]func(context.Context, *Client) error{
		"/cluster/firewall/rules":   func(ctx context.Context, c *Client) error { _, err := c.Firewall.Rules(ctx, scope); return err },
		"/cluster/firewall/options": func(ctx context.Context, c *Client) error { _, err := c.Firewall.Options(ctx, scope); return err },
		"/cluster/firewall/ipset":   func(ctx context.Context, c *Client) error { _, err := c.Firewall.Sets(ctx, scope); return err },
		"/cluster/firewall/ipset/admins": func(ctx context.Context, c *Client) error {
			_, _, err := c.Firewall.Members(ctx, scope, "admins")
			return err
		},
		"/cluster/firewall/aliases": func(ctx context.Context, c *Client) error { _, _, err := c.Firewall.Aliases(ctx, scope); return err },
		"/cluster/firewall/groups":  func(ctx context.Context, c *Client) error { _, err := c.Firewall.Groups(ctx); return err },
		"/cluster/firewall/macros":  func(ctx context.Context, c *Client) error { _, err := c.View.FirewallMacros(ctx); return err },
	}
	for path, read := range reads {
		call := on("GET " + path)
		if err := read(t.Context(), script(t, call.fail(403, "Permission check failed (/, Sys.Audit)"))); !IsPermission(err) {
			t.Errorf("%s, refused: %v", path, err)
		}
		if err := read(t.Context(), script(t, call.data200("no list"))); err == nil || !strings.Contains(err.Error(), "not one of PVE's API") {
			t.Errorf("%s, something else: %v", path, err)
		}
	}
	for _, rule := range []map[string]any{{"comment": []int{1}}, {"enable": "perhaps"}} {
		c := script(t, on("GET /cluster/firewall/rules").data200([]any{rule}))
		if rules, err := c.Firewall.Rules(t.Context(), scope); err == nil {
			t.Errorf("a rule with %v reads as %+v", rule, rules)
		}
	}
}

// TestFirewallHold: one at a time changes a firewall, and others go on meanwhile.
func TestFirewallHold(t *testing.T) {
	t.Parallel()
	firewall, scope := script(t).Firewall, guestScope()
	release, err := firewall.Hold(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := scope
	elsewhere.Node = "another" // A guest's firewall is the same on each node.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := firewall.Hold(ended, elsewhere); !errors.Is(err, context.Canceled) {
		t.Errorf("it is held twice: %v", err)
	}
	for _, other := range []FirewallScope{
		{Kind: FirewallContainer, VMID: scope.VMID},
		{Kind: FirewallNode, Node: "pve1"},
		{Kind: FirewallNode, Node: "pve2"},
		{Kind: FirewallCluster},
		{Kind: FirewallGroup, Group: "web"},
		{Kind: FirewallGroup, Group: "db"},
	} {
		if _, err := firewall.Hold(t.Context(), other); err != nil {
			t.Errorf("%s waits: %v", other, err)
		}
	}
	release()
	if _, err := firewall.Hold(t.Context(), elsewhere); err != nil {
		t.Errorf("it was not released: %v", err)
	}
}

// TestFirewallSetsChange changes IP sets, aliases and groups, each with a
// permission that is good for one call.
func TestFirewallSetsChange(t *testing.T) {
	t.Parallel()
	const set, aliases, groups = "/cluster/firewall/ipset", "/cluster/firewall/aliases", "/cluster/firewall/groups"
	c := script(t,
		on("POST "+set).with("name", "admins"),
		on("DELETE "+set+"/admins?force=1"),
		on("POST "+set+"/admins").with("cidr", "10.0.0.0/8").with("nomatch", "").with("comment", ""),
		on("POST "+set+"/admins").with("cidr", "10.1.0.0/16").with("nomatch", "1"),
		on("PUT "+set+"/admins/10.1.0.0/16").with("nomatch", "0").with("comment", "c").with("digest", "m"),
		on("DELETE "+set+"/admins/10.1.0.0/16?digest=m"),
		on("POST "+aliases).with("name", "office").with("cidr", "192.0.2.1").with("comment", "c"),
		on("PUT "+aliases+"/office").with("name", "").with("cidr", "192.0.2.2").with("comment", "").with("digest", "a"),
		on("DELETE "+aliases+"/office?digest=a"),
		on("POST "+groups).with("group", "web").with("comment", "c").with("rename", ""),
		on("POST "+groups).with("group", "web").with("rename", "web").with("comment", ""),
	)
	ctx, f := t.Context(), c.Firewall
	cluster, group := FirewallScope{Kind: FirewallCluster}, FirewallScope{Kind: FirewallGroup, Group: "web"}
	office := FirewallAlias{Name: "office", CIDR: "192.0.2.1", Comment: "c"}
	for i, change := range []struct {
		scope FirewallScope
		call  func(FirewallPermission) error
	}{
		{cluster, func(p FirewallPermission) error { return f.CreateSet(ctx, p, cluster, "admins") }},
		{cluster, func(p FirewallPermission) error { return f.DeleteSet(ctx, p, cluster, "admins") }},
		{cluster, func(p FirewallPermission) error {
			return f.AddMember(ctx, p, cluster, "admins", FirewallMember{CIDR: "10.0.0.0/8"})
		}},
		{cluster, func(p FirewallPermission) error {
			return f.AddMember(ctx, p, cluster, "admins", FirewallMember{CIDR: "10.1.0.0/16", NoMatch: true})
		}},
		{cluster, func(p FirewallPermission) error {
			return f.UpdateMember(ctx, p, cluster, "admins", FirewallMember{CIDR: "10.1.0.0/16", Comment: "c"}, "m")
		}},
		{cluster, func(p FirewallPermission) error { return f.RemoveMember(ctx, p, cluster, "admins", "10.1.0.0/16", "m") }},
		{cluster, func(p FirewallPermission) error { return f.CreateAlias(ctx, p, cluster, office) }},
		{cluster, func(p FirewallPermission) error {
			return f.UpdateAlias(ctx, p, cluster, FirewallAlias{Name: "office", CIDR: "192.0.2.2"}, "a")
		}},
		{cluster, func(p FirewallPermission) error { return f.DeleteAlias(ctx, p, cluster, "office", "a") }},
		{group, func(p FirewallPermission) error { return f.CreateGroup(ctx, p, group, "c") }},
		{group, func(p FirewallPermission) error { return f.CommentGroup(ctx, p, group, "") }},
	} {
		if err := change.call(nil); !errors.Is(err, ErrNoPermission) {
			t.Errorf("change %d without a permission: %v", i, err)
		}
		shared, err := c.Gate.SharedFirewall(change.scope, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := change.call(shared); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
		if err := change.call(shared); !errors.Is(err, ErrPermissionSpent) {
			t.Errorf("change %d is made twice: %v", i, err)
		}
	}
}

func TestFirewallLogSince(t *testing.T) {
	t.Parallel()
	const log = "GET /nodes/pve1/firewall/log?limit=0&since=5&start=0"
	scope := FirewallScope{Kind: FirewallNode, Node: "pve1"}
	query := FirewallLogQuery{Since: time.Unix(5, 0)}
	c := script(t, on(log).data200([]any{map[string]any{"n": "1", "t": "a"}}), on(log).data200(map[string]any{}),
		on(log).data200([]any{map[string]any{"n": []int{}}}), on(log).fail(403, "Permission check failed (/nodes/pve1, Sys.Syslog)"))
	if lines, _, err := c.Firewall.Log(t.Context(), scope, query); err != nil || !reflect.DeepEqual(lines, []FirewallLogLine{{1, "a"}}) {
		t.Errorf("%+v, %v", lines, err)
	}
	if lines, _, err := c.Firewall.Log(t.Context(), scope, query); err != nil || len(lines) > 0 {
		t.Errorf("without a log: %+v, %v", lines, err)
	}
	if _, _, err := c.Firewall.Log(t.Context(), scope, query); err == nil || !strings.Contains(err.Error(), "not one of PVE's API") {
		t.Errorf("something else: %v", err)
	}
	if _, _, err := c.Firewall.Log(t.Context(), scope, query); !IsPermission(err) {
		t.Errorf("refused: %v", err)
	}
}

// TestLocalAddress: the way to an endpoint on this machine begins here.
func TestLocalAddress(t *testing.T) {
	t.Parallel()
	c := script(t)
	if got, err := c.LocalAddress(t.Context()); err != nil || got != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%v, %v", got, err)
	}
	c.host = "pve.invalid:8006"
	if got, err := c.LocalAddress(t.Context()); err == nil || !strings.Contains(err.Error(), "pve.invalid") {
		t.Errorf("a name that nobody has: %v, %v", got, err)
	}
}
