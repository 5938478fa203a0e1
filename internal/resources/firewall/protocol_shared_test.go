package firewall_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestNode: of a node's firewall the plan warns where it may lock the provider out.
func TestNode(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	const at = "/nodes/pve2/firewall"
	config := func(conntrack int) object {
		return shares(object{"node": "pve2"}, object{
			"options": object{
				"enabled": true, "conntrack_max": conntrack, "conntrack_tcp_timeout_syn_recv_seconds": 45, "tcp_flags": true, "log_level_in": "warning",
			},
			"rules": []any{port("22,8006", object{"interface": "vmbr0"}), object{"direction": "forward", "action": "DROP", "source": "192.0.2.0/24"}},
		})
	}
	firewall := lab.Manage(t, "proxmox_firewall")
	for _, size := range []int{40000, 50000} {
		apply(t, firewall, config(size))
		wantRules(t, lab.Hand, at, "in ACCEPT tcp 22,8006 vmbr0", "forward DROP 192.0.2.0/24")
		wantOptions(t, lab.Hand, at, map[string]string{
			"enable": "1", "nf_conntrack_max": fmt.Sprint(size), "nf_conntrack_tcp_timeout_syn_recv": "45", "tcpflags": "1", "log_level_in": "warning",
		})
		wantEmpty(t, lab, firewall, config(size))
	}
	shut := object{"rules": []any{object{"direction": "in", "action": "DROP", "protocol": "tcp"}}}
	plan, diagnostics := firewall.Plan(t, shares(object{"node": "pve2"}, shut))
	if plan == nil {
		t.Fatal(diagnostics)
	}
	diagnostics.Warnings().Says(t, "may lock the provider out", "port 8006 to 127.0.0.1")
	shut["accept_lockout_risk"] = true
	if _, diagnostics := firewall.Plan(t, shares(object{"node": "pve2"}, shut)); len(diagnostics) != 0 {
		t.Errorf("an accepted risk is warned of: %s", diagnostics)
	}
	imported, diagnostics := lab.Import(t, "proxmox_firewall", "node/pve2", nil)
	if imported == nil {
		t.Fatal(diagnostics)
	}
	wantEmpty(t, lab, imported, config(50000))
	apply(t, firewall, nil)
	wantRules(t, lab.Hand, at)
	wantOptions(t, lab.Hand, at, map[string]string{})
}

// TestCluster: its firewall is not switched on where that is seen to lock the
// provider out, beside rules made by hand too: what the plan makes of the list
// counts.
func TestCluster(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	const at, lockout = "/cluster/firewall", "The cluster's firewall would lock the provider out"
	cluster := object{"cluster": true}
	on := func(attributes object) object {
		config := shares(cluster, object{"options": object{"enabled": true, "policy_in": "DROP"}})
		maps.Copy(config, attributes)
		return config
	}
	firewall := lab.Manage(t, "proxmox_firewall")
	wantRefused(t, lab, firewall, on(object{"rules": []any{port("22", nil)}}), lockout, "8006 from 127.0.0.1")
	wantRefused(t, lab, firewall, on(nil), lockout)
	mend := lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: at + "/rules", Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
	wantRefused(t, lab, firewall, on(nil), "see whether the cluster's firewall locks the provider out", "no answer")
	mend()
	plan, diagnostics := firewall.Plan(t, on(object{"rules": []any{port("22", object{"source": protocol.Unknown})}}))
	if plan == nil {
		t.Errorf("what is not known yet is refused: %s", diagnostics)
	}

	byHand(t, lab.Hand, http.MethodPost, at+"/rules", byhand.Params{"type": "in", "action": "ACCEPT", "macro": "SSH", "enable": "1"})
	tagged := func(rules ...any) object { return on(object{"ownership": "tagged", "tag": "mine", "rules": rules}) }
	api := port("8006", nil)
	apply(t, firewall, tagged(api))
	wantRules(t, lab.Hand, at, "in ACCEPT tcp 8006 # [terraform:mine]", "in ACCEPT SSH")
	wantEmpty(t, lab, firewall, tagged(api))
	if firewall.State["id"] != "cluster:mine" {
		t.Errorf("its id is %v", firewall.State["id"])
	}
	wantRefused(t, lab, firewall, tagged(), lockout, "8006 from 127.0.0.1")
	wantRefused(t, lab, firewall, tagged(api, object{"direction": "in", "action": "DROP", "protocol": "tcp", "destination_port": "22"}), lockout, "22 from 127.0.0.1")
	imported, diagnostics := lab.Import(t, "proxmox_firewall", "cluster:mine", nil)
	if imported == nil {
		t.Fatal(diagnostics)
	}
	wantEmpty(t, lab, imported, tagged(api))
	apply(t, firewall, nil)
	wantRules(t, lab.Hand, at, "in ACCEPT SSH")
	wantOptions(t, lab.Hand, at, map[string]string{})
}

// TestGroup: a security group goes with the resource that made it, as long as
// nobody else has rules in it; one that is gone is made again.
func TestGroup(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	const at = "/cluster/firewall/groups/web"
	group := object{"security_group": "web"}
	config := func(comment any, ports string) object {
		return shares(group, object{"comment": comment, "ownership": "tagged", "tag": "mine", "rules": []any{port(ports, nil)}})
	}
	firewall := lab.Manage(t, "proxmox_firewall")
	comments := func() string { return fmt.Sprint(namesOf(t, lab.Hand, "/cluster/firewall/groups", "comment")) }
	rules := func() string { return fmt.Sprint(namesOf(t, lab.Hand, at, "comment")) }
	apply(t, firewall, config("one", "80"))
	wantEmpty(t, lab, firewall, config("one", "80"))
	apply(t, firewall, config("two", "81"))
	if comments() != "[two]" || rules() != "[[terraform:mine]]" {
		t.Errorf("the comment is %s, the rules' are %s", comments(), rules())
	}
	wantEmpty(t, lab, firewall, config("two", "81"))
	byHand(t, lab.Hand, http.MethodDelete, at+"/0", nil)
	byHand(t, lab.Hand, http.MethodDelete, at, nil)
	lab.NextRun(t)
	gone := lab.Manage(t, "proxmox_firewall")
	*gone = *firewall
	apply(t, gone, nil) // There is nothing to destroy.
	if diagnostics := firewall.Refresh(t); len(diagnostics) != 0 || firewall.State != nil {
		t.Fatalf("%v: %s", firewall.State, diagnostics)
	}

	apply(t, firewall, config("two", "80"))
	byHand(t, lab.Hand, http.MethodPost, at, byhand.Params{"type": "in", "action": "DROP", "comment": "theirs"})
	firewall.Apply(t, nil).Says(t, "The security group web stays", "rules that are not the resource's own")
	if rules() != "[theirs]" {
		t.Errorf("the rules' comments are %s", rules())
	}
	byHand(t, lab.Hand, http.MethodDelete, at+"/0", nil)

	// One that was there before stays, too, and keeps the comment that nobody configured.
	byHand(t, lab.Hand, http.MethodPost, "/cluster/firewall/groups", byhand.Params{"group": "web", "rename": "web", "comment": "two"})
	apply(t, firewall, config(nil, "80"))
	if comments() != "[two]" {
		t.Errorf("the comment is %s", comments())
	}
	apply(t, firewall, nil)
	if comments() != "[two]" || rules() != "[]" {
		t.Errorf("the comment is %s, the rules' are %s", comments(), rules())
	}
	for id, says := range map[string]string{"security_group/nope": `there is no security group "nope"`, "what/ever": "Cannot import"} {
		if found, diagnostics := lab.Import(t, "proxmox_firewall", id, nil); found != nil || !strings.Contains(diagnostics.String(), says) {
			t.Errorf("%s is imported: %s", id, diagnostics)
		}
	}
	imported, diagnostics := lab.Import(t, "proxmox_firewall", "security_group/web", nil)
	if imported == nil {
		t.Fatal(diagnostics)
	}
	wantEmpty(t, lab, imported, shares(group, object{"comment": "two"}))
}

// TestBrokenGroup: a security group whose rules could not be written is not left
// behind, where nobody would know that it was made here.
func TestBrokenGroup(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	firewall := lab.Manage(t, "proxmox_firewall")
	config := shares(object{"security_group": "web"}, object{"rules": []any{port("80", nil)}})
	lab.Spoil(t, pvelab.Fault{Method: http.MethodPost, Path: "/cluster/firewall/groups/web", Status: http.StatusInternalServerError, Text: "no, and no"})
	firewall.Apply(t, config).Says(t, "set up the firewall of security_group/web", "no, and no")
	if groups := namesOf(t, lab.Hand, "/cluster/firewall/groups", "group"); len(groups) > 0 || firewall.State != nil {
		t.Errorf("left is %v; the state is %v", groups, firewall.State)
	}
	apply(t, firewall, config)
	apply(t, firewall, nil)
	if groups := namesOf(t, lab.Hand, "/cluster/firewall/groups", "group"); len(groups) > 0 {
		t.Errorf("groups are left: %v", groups)
	}
}
