package pvelab

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const fw110 = "/nodes/pve1/qemu/110/firewall"

// firewallComments are the comments of a scope's rules, in their order.
func firewallComments(t *testing.T, c *client, scope string) []string {
	t.Helper()
	return namesIn(c.must("GET", scope+"/rules"), "comment")
}

func firewallRulesDigest(t *testing.T, c *client, scope string) string {
	t.Helper()
	return namesIn(c.must("GET", scope+"/rules"), "digest")[0]
}

func TestFirewallRulesMove(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	for _, name := range words("d c b a") {
		c.must("POST", fw110+"/rules", "type=in", "action=ACCEPT", "enable=1", "pos=9", "comment="+name)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"0", "2", "b a c d"},
		{"0", "4", "a c d b"},
		{"3", "0", "b a c d"},
		{"1", "2", "b a c d"},
		{"3", "1", "b d a c"},
		{"2", "2", "b d a c"},
		{"0", "99", "d a c b"},
	} {
		c.must("PUT", fw110+"/rules/"+tc.from, "moveto="+tc.to, "digest="+firewallRulesDigest(t, c, fw110))
		if got := strings.Join(firewallComments(t, c, fw110), " "); got != tc.want {
			t.Errorf("%s before %s: %s, not %s", tc.from, tc.to, got, tc.want)
		}
	}
}

func TestFirewallDigestIsOfTheContent(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	c.must("POST", fw110+"/rules", "type=in", "action=DROP", "comment=x")
	first := firewallRulesDigest(t, c, fw110)
	c.must("POST", fw110+"/rules", "type=in", "action=ACCEPT", "digest=0000")
	if got := firewallRulesDigest(t, c, fw110); got == first {
		t.Error("a new rule does not change the digest")
	}
	stale := "detected modified configuration - file changed by other user? Try again."
	if _, reason := c.fails("DELETE", fw110+"/rules/0", "digest="+first); reason != stale {
		t.Errorf("a stale digest says %q", reason)
	}
	c.must("PUT", fw110+"/options", "enable=1")
	c.must("DELETE", fw110+"/rules/0")
	if got := firewallRulesDigest(t, c, fw110); got != first {
		t.Error("the same rules have another digest")
	}
}

func TestFirewallFollowsTheGuest(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{Standalone: true, Speed: 1000})
	c.must("POST", "/nodes/pve1/qemu", "vmid=110", "memory=64")
	c.must("PUT", fw110+"/options", "enable=1", "policy_in=DROP")
	c.must("POST", fw110+"/aliases", "name=gw", "cidr=10.0.0.1/32")
	c.must("POST", fw110+"/rules", "type=in", "action=ACCEPT", "source=guest/gw", "comment=copied")
	c.must("POST", "/nodes/pve1/qemu/110/clone", "newid=111")
	fw111 := strings.Replace(fw110, "110", "111", 1)
	if got := firewallComments(t, c, fw111); !slices.Equal(got, words("copied")) {
		t.Errorf("the clone's rules are %v", got)
	}
	c.must("DELETE", fw110+"/rules/0")
	c.must("DELETE", "/nodes/pve1/qemu/110")
	if options, _ := c.must("GET", fw110+"/options").(map[string]any); len(options) != 1 {
		t.Errorf("the firewall of a destroyed guest has options: %v", options)
	}
	if got := firewallComments(t, c, fw111); !slices.Equal(got, words("copied")) {
		t.Errorf("the clone's rules became %v", got)
	}
}

func TestFirewallRefusals(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	c.must("POST", fw110+"/ipset", "name=Admins")
	c.must("POST", "/cluster/firewall/aliases", "name=six", "cidr=fd00::1")
	for _, tc := range []struct{ query, field, want string }{
		{"type=in&action=ACCEPT&source=%2BAdmins", "source", "no such ipset 'Admins'"},
		{"type=in&action=ACCEPT&macro=ssh&proto=udp", "proto", "parameter 'proto' already define in macro (value = 'tcp')"},
		{"type=in&action=ACCEPT&proto=icmp&icmp-type=no-route", "icmp-type", "invalid icmp-type 'no-route' for proto 'icmp'"},
		{"type=in&action=ACCEPT&proto=gre&sport=1", "sport", "protocol 'gre' does not support ports"},
		{"type=in&action=ACCEPT&proto=tcp&dport=9:1", "dport", "invalid format - backwards range '9:1' not allowed, did you mean '1:9'?\n"},
		{"type=in&action=ACCEPT&source=10.0.0.1-10.0.0.9,10.1.1.1", "source", "invalid format - you can't use a range in a list\n"},
		{"type=in&action=ACCEPT&source=10.0.0.5/8", "source", "invalid format - invalid IP address: Invalid prefix 10.0.0.5/8\n"},
	} {
		pairs := strings.Split(strings.ReplaceAll(tc.query, "%2B", "+"), "&")
		if a := c.call("POST", fw110+"/rules", form(pairs...)); a.errors[tc.field] != tc.want {
			t.Errorf("%s: %d %v", tc.query, a.status, a.errors)
		}
	}
	c.must("POST", fw110+"/rules", "type=in", "action=ACCEPT", "source=+admins")
	if status, reason := c.fails("POST", fw110+"/rules", "type=in", "action=ACCEPT", "source=six", "dest=10.0.0.1"); status != 400 {
		t.Errorf("mixed versions: %d %s", status, reason)
	}
	c.must("DELETE", fw110+"/ipset/admins", "force=1")
	rules, _ := c.must("GET", fw110+"/rules").([]any)
	if rule, _ := rules[0].(map[string]any); rule["errors"] == nil {
		t.Errorf("a rule whose set is gone shows no error: %v", rule)
	}
}

func TestFirewallTrial(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	enabled := func() any {
		options, _ := c.must("GET", "/cluster/firewall/options").(map[string]any)
		return options["enable"]
	}
	c.must("PUT", "/cluster/firewall/options", "enable=2")
	if got, _ := enabled().(float64); got < 1e9 {
		t.Errorf("a trial is written as %v", got)
	}
	l.clock.setSkew(2 * trialPeriod)
	if got := enabled(); got != 0.0 {
		t.Errorf("after a trial the firewall is %v", got)
	}
}

func TestFirewallLog(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	for i, vmid := range []int{110, 0, 110, 111, 110} {
		if err := l.FirewallLog("pve1", vmid, "tap-IN", "DROP "+string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(path string, pairs ...string) []string {
		return namesIn(c.must("GET", path+"/log", pairs...), "t")
	}
	if got := lines(fw110); len(got) != 3 || !strings.HasSuffix(got[2], " DROP e") {
		t.Errorf("the guest's lines are %q", got)
	}
	if got := lines("/nodes/pve1/firewall", "start=1", "limit=2"); len(got) != 2 || !strings.HasSuffix(got[0], " DROP b") {
		t.Errorf("two lines from the second are %q", got)
	}
	later := l.clock.Now().Add(time.Hour).Unix()
	if got := lines(fw110, "since="+strconv.FormatInt(later, 10)); !slices.Equal(got, []string{"no content"}) {
		t.Errorf("lines of the future are %q", got)
	}
}
