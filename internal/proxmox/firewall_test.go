package proxmox

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

const (
	firewallOfGuest = "/nodes/pve1/qemu/10000/firewall"
	firewallDigest  = "d7d32c74718a8d2122ab0e427548e51b7a9beefa"
)

func guestScope() FirewallScope {
	return FirewallScope{Kind: FirewallVM, VMID: 10000, Node: "elsewhere"}
}

func TestFirewallRules(t *testing.T) {
	t.Parallel()
	// As recorded: numbers may be strings, and each rule has the digest of all.
	listed := []map[string]any{
		{"pos": 0, "digest": firewallDigest, "type": "out", "action": "REJECT", "proto": "udp", "dport": "53", "enable": 1, "iface": "net0", "comment": "C"},
		{"pos": "1", "digest": firewallDigest, "type": "in", "action": "ACCEPT", "macro": "SSH", "enable": "0", "ipversion": 4, "dport": 22, "icmp-type": "any"},
	}
	c := script(t, on("GET /nodes/pve2/firewall/rules").data200(listed), on("GET /cluster/firewall/groups/web").data200([]any{}))
	got, err := c.Firewall.Rules(t.Context(), FirewallScope{Kind: FirewallNode, Node: "pve2"})
	want := FirewallRules{Digest: firewallDigest, Rules: []FirewallRule{
		{Type: "out", Action: "REJECT", Protocol: "udp", DestinationPort: "53", Enabled: true, Interface: "net0", Comment: "C"},
		{Type: "in", Action: "ACCEPT", Macro: "SSH", DestinationPort: "22", ICMPType: "any"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = c.Firewall.Rules(t.Context(), FirewallScope{Kind: FirewallGroup, Group: "web"})
	if err != nil || len(got.Rules) != 0 || got.Digest != "" {
		t.Errorf("an empty group is %+v, %v", got, err)
	}
}

func TestFirewallChangesAGuestWithItsPermission(t *testing.T) {
	t.Parallel()
	ours := configOf(Marker{UID: uidA, VMID: 10000})
	c := script(t,
		on(readGuest).data200(ours), on("POST "+firewallOfGuest+"/rules").with("enable", "1").with("dport", "22").with("comment", ""),
		on(readGuest).data200(ours), on("PUT "+firewallOfGuest+"/rules/3").with("digest", firewallDigest).with("enable", "0").
			with("source", "10.0.0.0/8").with("delete", "comment,iface").with("dport", ""),
		on(readGuest).data200(ours), on("PUT "+firewallOfGuest+"/rules/0").with("digest", firewallDigest).with("moveto", "4"),
		on(readGuest).data200(ours), on("DELETE "+firewallOfGuest+"/rules/2?digest="+firewallDigest),
		on(readGuest).data200(ours), on("PUT "+firewallOfGuest+"/options").with("enable", "1").with("delete", "dhcp,radv"),
	)
	firewall, ctx := c.Firewall, t.Context()
	old := FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestinationPort: "22", Interface: "net0", Comment: "c", Enabled: true}
	changed := FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestinationPort: "22", Source: "10.0.0.0/8"}
	for name, call := range []func(p FirewallPermission) error{
		func(p FirewallPermission) error {
			return firewall.Insert(ctx, p, guestScope(), FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestinationPort: "22", Enabled: true})
		},
		func(p FirewallPermission) error {
			return firewall.Replace(ctx, p, guestScope(), 3, old, changed, firewallDigest)
		},
		func(p FirewallPermission) error { return firewall.Move(ctx, p, guestScope(), 0, 4, firewallDigest) },
		func(p FirewallPermission) error { return firewall.Remove(ctx, p, guestScope(), 2, firewallDigest) },
		func(p FirewallPermission) error {
			return firewall.SetOptions(ctx, p, guestScope(), map[string]string{"enable": "1"}, []string{"radv", "dhcp"}, firewallDigest)
		},
	} {
		own, err := c.Gate.Own(ctx, ourGuest())
		if err != nil {
			t.Fatal(err)
		}
		if err := call(own); err != nil {
			t.Errorf("call %d: %v", name, err)
		}
		if err := call(own); !errors.Is(err, ErrPermissionSpent) {
			t.Errorf("call %d is made twice: %v", name, err)
		}
	}
}

func TestFirewallPermissions(t *testing.T) {
	t.Parallel()
	c := script(t, on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000})), on("DELETE /cluster/firewall/groups/web"))
	ctx := t.Context()
	cluster, group := FirewallScope{Kind: FirewallCluster}, FirewallScope{Kind: FirewallGroup, Group: "web"}
	remove := func(p FirewallPermission, scope FirewallScope) error {
		return c.Firewall.Remove(ctx, p, scope, 0, firewallDigest)
	}
	for _, scope := range []FirewallScope{cluster, group, {Kind: FirewallNode, Node: "pve1"}} {
		if p, err := c.Gate.SharedFirewall(scope, false); !errors.Is(err, ErrForeign) || p != nil {
			t.Errorf("%s: %v, %v", scope, p, err)
		}
	}
	if p, err := c.Gate.SharedFirewall(guestScope(), true); !errors.Is(err, ErrForeign) || p != nil {
		t.Errorf("a guest's firewall counts as shared: %v, %v", p, err)
	}
	own, err := c.Gate.Own(ctx, ourGuest())
	if err != nil {
		t.Fatal(err)
	}
	shared, err := c.Gate.SharedFirewall(group, true)
	if err != nil {
		t.Fatal(err)
	}
	other := guestScope()
	other.VMID++
	for name, got := range map[string]error{
		"none":                       remove(nil, cluster),
		"none of a guest":            remove((*Owned)(nil), guestScope()),
		"none that is shared":        remove((*SharedFirewall)(nil), cluster),
		"one that nobody granted":    remove(&SharedFirewall{scope: cluster}, cluster),
		"a guest's, for another":     remove(own, other),
		"a guest's, for the cluster": remove(own, cluster),
		"a group's, for the cluster": remove(shared, cluster),
	} {
		if !errors.Is(got, ErrNoPermission) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := c.Firewall.DeleteGroup(ctx, shared, group); err != nil {
		t.Error(err)
	}
	if err := c.Firewall.DeleteGroup(ctx, shared, group); !errors.Is(err, ErrPermissionSpent) {
		t.Errorf("it is used twice: %v", err)
	}
}

func TestGateMarked(t *testing.T) {
	t.Parallel()
	here := on(listGuests).data200([]map[string]any{vmResource(10000, "pve1", "web")})
	c := script(t, here, on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000})), here,
		on(readGuest).data200(configOf(Marker{UID: uidA, VMID: 10000}, "description", "nobody's")))
	guest, err := c.Gate.Marked(t.Context(), KindVM, 10000)
	if err != nil || guest.UID != uidA || guest.Node != "pve1" || guest.SMBIOSUUID != testUUID {
		t.Errorf("%+v, %v", guest, err)
	}
	for vmid, want := range map[int]Standing{10000: Stranger, 9999: OutOfRange} {
		var refusal *OwnershipError
		if _, err := c.Gate.Marked(t.Context(), KindVM, vmid); !errors.As(err, &refusal) || refusal.Standing != want {
			t.Errorf("guest %d: %v", vmid, err)
		}
	}
}

func TestFirewallLog(t *testing.T) {
	t.Parallel()
	const log = "GET " + firewallOfGuest + "/log?limit=3&start=1"
	c := script(t,
		on(log).data200([]map[string]any{{"n": 2, "t": "110 6 x-IN 01/Jan/2026:00:00:00 +0000 DROP"}}),
		on(log+"&until=7").data200([]map[string]any{{"n": 1, "t": "no content"}}),
		on(log).data200([]map[string]any{{"n": 1, "t": "unable to open file - No such file or directory"}}),
	)
	scope := FirewallScope{Kind: FirewallVM, VMID: 10000, Node: "pve1"}
	lines, _, err := c.Firewall.Log(t.Context(), scope, FirewallLogQuery{Start: 1, Limit: 3})
	if err != nil || len(lines) != 1 || lines[0].Number != 2 {
		t.Errorf("%+v, %v", lines, err)
	}
	for _, until := range []time.Time{time.Unix(7, 0), {}} {
		if lines, total, err := c.Firewall.Log(t.Context(), scope, FirewallLogQuery{Start: 1, Limit: 3, Until: until}); err != nil || len(lines)+total > 0 {
			t.Errorf("nothing is %+v of %d, %v", lines, total, err)
		}
	}
}

func TestUnfilteredNICs(t *testing.T) {
	t.Parallel()
	c := &GuestConfig{Current: map[string]string{
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1", "net2": "virtio=BC:24:11:00:00:02,bridge=vmbr0",
		"net1": "name=eth1,bridge=vmbr0,firewall=0", "scsi0": "local:1",
	}}
	if got := c.UnfilteredNICs(); !reflect.DeepEqual(got, []string{"net1", "net2"}) {
		t.Errorf("%v", got)
	}
}
