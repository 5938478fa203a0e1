package firewall_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

func newLab(t *testing.T) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), "full", object{"vmid_range": object{"first": 20000, "last": 20099}})
}

func uidOf(vmid int) string { return fmt.Sprintf("4b0f2c9a-5f5e-4f55-9a9b-%012d", vmid) }

// ours makes a VM on pve2 that carries the provider's marker.
func ours(t *testing.T, lab *protocol.Lab, vmid int, net0 string) {
	t.Helper()
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve2", vmid, byhand.Params{
		"net0": net0, "description": fmt.Sprintf("terraform-proxmox-uid=%s/%d", uidOf(vmid), vmid),
	}))
}

// at is the path of a VM's firewall.
func at(vmid int) string { return fmt.Sprintf("/nodes/pve2/qemu/%d/firewall", vmid) }

func of(vmid int, attributes object) object {
	config := object{"scope": object{"vm": vmid}}
	maps.Copy(config, attributes)
	return config
}

func shares(scope, attributes object) object {
	config := object{"scope": scope, "foreign": true}
	maps.Copy(config, attributes)
	return config
}

// allow is a rule that accepts what comes in.
func allow(attributes object) object {
	rule := object{"direction": "in", "action": "ACCEPT"}
	maps.Copy(rule, attributes)
	return rule
}

// port is a rule that accepts a TCP port, or ports.
func port(ports string, attributes object) object {
	rule := allow(object{"protocol": "tcp", "destination_port": ports})
	maps.Copy(rule, attributes)
	return rule
}

// apply wants nothing to be said.
func apply(t *testing.T, r *protocol.Resource, config object) {
	t.Helper()
	if diagnostics := r.Apply(t, config); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
}

// wantEmpty refreshes in another run, and wants a plan that changes nothing.
func wantEmpty(t *testing.T, lab *protocol.Lab, r *protocol.Resource, config object) {
	t.Helper()
	lab.NextRun(t)
	if diagnostics := r.Refresh(t); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	if plan, diagnostics := r.Plan(t, config); plan == nil || !plan.Empty() {
		t.Errorf("the plan is not empty: %s", diagnostics)
	}
}

// wantRefused wants these words, no change of a firewall, and nothing new in the
// state.
func wantRefused(t *testing.T, lab *protocol.Lab, r *protocol.Resource, config object, words ...string) {
	t.Helper()
	before, state := lab.Counters().Snapshot(), fmt.Sprint(r.State)
	diagnostics := r.Apply(t, config)
	if len(diagnostics.Errors()) == 0 || fmt.Sprint(r.State) != state {
		t.Errorf("it is not refused: %v", r.State)
	}
	diagnostics.Says(t, words...)
	if n := mutations(lab.Counters().Snapshot().Sub(before)); n > 0 {
		t.Errorf("%d calls changed a firewall", n)
	}
}

// TestGuest goes once through everything that a guest's firewall has.
func TestGuest(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	ours(t, lab, 20000, filtered)
	firewall := lab.Manage(t, "proxmox_firewall")
	before := of(20000, object{
		"options":          object{"enabled": true, "policy_in": "DROP", "dhcp": true, "log_level_in": "info"},
		"ip_sets":          object{"admins": []any{"!10.0.9.66", "10.0.9.0/24"}},
		"aliases":          object{"monitor": "10.0.8.1"},
		"spoof_protection": object{"net0": []any{"10.0.0.11"}},
		"rules":            []any{allow(object{"macro": "HTTPS", "comment": "public"}), port("22", object{"source": "+admins"})},
	})
	apply(t, firewall, before)
	wantRules(t, lab.Hand, at(20000), "in ACCEPT HTTPS # public", "in ACCEPT tcp 22 +admins")
	wantOptions(t, lab.Hand, at(20000), map[string]string{"enable": "1", "policy_in": "DROP", "dhcp": "1", "log_level_in": "info"})
	if sets := namesOf(t, lab.Hand, at(20000)+"/ipset", "name"); !slices.Equal(sets, []string{"admins", "ipfilter-net0"}) {
		t.Errorf("the sets are %v", sets)
	}
	wantEmpty(t, lab, firewall, before)
	if identity := firewall.Identity(t); identity["id"] != "vm/20000" || identity["uid"] != uidOf(20000) {
		t.Errorf("the identity is %v", identity)
	}

	after := of(20000, object{
		"options": object{"enabled": true, "policy_in": "REJECT"},
		"ip_sets": object{"admins": []any{"10.0.7.0/24", "10.0.9.0/24", "10.0.9.66"}, "blocked": []any{"192.0.2.0/24"}},
		"aliases": object{"lan": "10.0.0.0/8"},
		"rules":   []any{object{"direction": "in", "action": "DROP", "source": "+blocked"}, port("22", object{"source": "+admins", "enabled": false})},
	})
	apply(t, firewall, after)
	wantRules(t, lab.Hand, at(20000), "in DROP +blocked", "| in ACCEPT tcp 22 +admins")
	wantOptions(t, lab.Hand, at(20000), map[string]string{"enable": "1", "policy_in": "REJECT"})
	if aliases := namesOf(t, lab.Hand, at(20000)+"/aliases", "cidr"); !slices.Equal(aliases, []string{"10.0.0.0/8"}) {
		t.Errorf("the aliases are %v", aliases)
	}
	wantEmpty(t, lab, firewall, after)

	// Another order, another policy and a lost member are drift, and put back.
	byHand(t, lab.Hand, http.MethodPut, at(20000)+"/rules/1", byhand.Params{"moveto": 0})
	byHand(t, lab.Hand, http.MethodPut, at(20000)+"/options", byhand.Params{"policy_in": "ACCEPT"})
	byHand(t, lab.Hand, http.MethodDelete, at(20000)+"/ipset/admins/10.0.9.66", nil)
	lab.NextRun(t)
	if diagnostics := firewall.Refresh(t); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	plan, diagnostics := firewall.Plan(t, after)
	if plan == nil || !slices.Equal(sorted(plan.Changes(t)), []string{"ip_sets", "options", "rules"}) {
		t.Fatalf("%v: %s", plan, diagnostics)
	}
	apply(t, firewall, after)
	wantRules(t, lab.Hand, at(20000), "in DROP +blocked", "| in ACCEPT tcp 22 +admins")
	wantEmpty(t, lab, firewall, after)

	imported, diagnostics := lab.Import(t, "proxmox_firewall", "vm/20000", nil)
	if imported == nil {
		t.Fatal(diagnostics)
	}
	wantEmpty(t, lab, imported, after)
	apply(t, firewall, nil)
	wantRules(t, lab.Hand, at(20000))
	wantOptions(t, lab.Hand, at(20000), map[string]string{})
	if left := append(namesOf(t, lab.Hand, at(20000)+"/ipset", "name"), namesOf(t, lab.Hand, at(20000)+"/aliases", "name")...); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

// TestContainer has its marker in its description, too.
func TestContainer(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": 20005, "ostemplate": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst", "rootfs": "local-lvm:1", "unprivileged": 1,
		"net0": "name=eth0,bridge=vmbr0", "description": "terraform-proxmox-uid=" + uidOf(20005) + "/20005",
	}))
	const at = "/nodes/pve1/lxc/20005/firewall"
	firewall := lab.Manage(t, "proxmox_firewall")
	config := object{
		"scope": object{"container": 20005}, "options": object{"enabled": true},
		"rules": []any{allow(object{"macro": "HTTPS", "interface": "net0"})},
	}
	diagnostics := firewall.Apply(t, config)
	if len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	diagnostics.Warnings().Says(t, "The firewall of container/20005 does not see net0")
	wantRules(t, lab.Hand, at, "in ACCEPT HTTPS net0")
	wantEmpty(t, lab, firewall, config)
	apply(t, firewall, nil)
	wantRules(t, lab.Hand, at)
	wantOptions(t, lab.Hand, at, map[string]string{})
}

// TestStrangers: guests that are not the provider's own are left alone, also where
// one has taken the id of a guest of ours.
func TestStrangers(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve2", 20001, byhand.Params{"name": "somebody"}))
	firewall := lab.Manage(t, "proxmox_firewall")
	empty := object{"rules": []any{}}
	wantRefused(t, lab, firewall, of(20001, empty), "not the provider's own")
	wantRefused(t, lab, firewall, of(20002, empty), "does not exist")
	wantRefused(t, lab, firewall, of(9000, empty), "The guest lies outside vmid_range", "Guest 9000 is not in 20000-20099")
	for id, says := range map[string]string{"vm/20001": "not the provider's own", "vm/20002": "does not exist"} {
		if found, diagnostics := lab.Import(t, "proxmox_firewall", id, nil); found != nil || !strings.Contains(diagnostics.String(), says) {
			t.Errorf("%s is imported: %s", id, diagnostics)
		}
	}

	ours(t, lab, 20000, filtered)
	config := of(20000, object{"options": object{"enabled": true}, "rules": []any{allow(nil)}})
	apply(t, firewall, config)
	lost, diagnostics := lab.Import(t, "proxmox_firewall", "vm/20000", nil)
	if lost == nil {
		t.Fatal(diagnostics)
	}
	if diagnostics := lost.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	protocol.Must(t, lab.Hand.Destroy(t.Context(), 20000))
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve2", 20000, byhand.Params{"name": "somebody-else"}))
	theirs := map[string]string{"enable": "1", "policy_in": "REJECT"}
	byHand(t, lab.Hand, http.MethodPut, at(20000)+"/options", byhand.Params{"enable": 1, "policy_in": "REJECT"})
	lab.NextRun(t)
	wantRefused(t, lab, firewall, of(20000, object{"options": object{"enabled": false}}), "change the firewall of vm/20000", "is not the provider's own")
	lost.Apply(t, nil).Says(t, "The firewall of vm/20000 was left alone")
	if lost.State != nil {
		t.Errorf("it is kept: %v", lost.State)
	}
	firewall.Refresh(t).Says(t, "The firewall of vm/20000 is another guest's now")
	if firewall.State != nil {
		t.Errorf("it is kept: %v", firewall.State)
	}
	wantOptions(t, lab.Hand, at(20000), theirs)
}

// TestGoneGuest has taken its firewall with it: the state follows, and nothing is
// left to destroy.
func TestGoneGuest(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	ours(t, lab, 20000, filtered)
	refreshed, destroyed := lab.Manage(t, "proxmox_firewall"), lab.Manage(t, "proxmox_firewall")
	config := of(20000, object{"options": object{"enabled": true}, "rules": []any{allow(nil)}})
	apply(t, refreshed, config)
	apply(t, destroyed, config)
	protocol.Must(t, lab.Hand.Destroy(t.Context(), 20000))
	lab.NextRun(t)
	apply(t, destroyed, nil)
	if diagnostics := refreshed.Refresh(t); len(diagnostics) != 0 || refreshed.State != nil {
		t.Errorf("%v: %s", refreshed.State, diagnostics)
	}
}

// TestNodeAway: a guest's firewall is the cluster's file, which any node tells of;
// where none does, the state stays.
func TestNodeAway(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	ours(t, lab, 20000, filtered)
	firewall := lab.Manage(t, "proxmox_firewall")
	config := of(20000, object{"options": object{"enabled": true}, "rules": []any{allow(nil)}})
	apply(t, firewall, config)
	protocol.Must(t, lab.Faults().NodeOffline("pve2"))
	wantEmpty(t, lab, firewall, config)
	mend := lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: "/nodes", Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
	lab.NextRun(t)
	firewall.Refresh(t).Errors().Says(t, "read the firewall of vm/20000", "no answer")
	mend()
	protocol.Must(t, lab.Faults().NodeOffline("pve3"))
	lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: "/nodes/pve1/qemu/20000/firewall/.*", Status: 596, Text: "no way", Times: -1})
	lab.NextRun(t)
	firewall.Refresh(t).Errors().Says(t, "read the firewall of vm/20000", "no way")
	if firewall.State == nil {
		t.Error("it is forgotten")
	}
}

// TestPlansTell: what a plan tells beforehand of rules, macros and devices.
func TestPlansTell(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	ours(t, lab, 20000, "virtio,bridge=vmbr0")
	byHand(t, lab.Hand, http.MethodPost, at(20000)+"/rules", byhand.Params{"type": "in", "action": "ACCEPT"})
	enabled := object{"enabled": true}
	plan, diagnostics := lab.Manage(t, "proxmox_firewall").Plan(t, of(20000, object{"options": enabled, "rules": []any{}}))
	if plan == nil {
		t.Fatal(diagnostics)
	}
	diagnostics.Warnings().Says(t, "does not see net0", "1 rules of vm/20000 are removed")
	for _, owned := range []object{
		{"options": enabled, "ownership": "tagged", "tag": "mine", "rules": []any{}},
		{"options": enabled, "rules": []any{allow(object{"enabled": false}), allow(nil)}},
		{"options": enabled},
	} {
		plan, diagnostics := lab.Manage(t, "proxmox_firewall").Plan(t, of(20000, owned))
		if plan == nil || strings.Contains(diagnostics.String(), "are removed") {
			t.Errorf("with %v it tells of rules that stay: %s", owned, diagnostics)
		}
	}
	for macro, says := range map[string]string{"Nope": `knows no macro "Nope"`, "https": `is written "HTTPS"`} {
		plan, diagnostics := lab.Manage(t, "proxmox_firewall").Plan(t, of(20000, object{"rules": []any{allow(nil), allow(object{"macro": macro})}}))
		if plan != nil {
			t.Fatalf("%s is planned", macro)
		}
		diagnostics.Errors().Says(t, says)
		if where := protocol.Path(diagnostics.Errors()[0]); where != "rules.1.macro" {
			t.Errorf("%s is refused at %s", macro, where)
		}
	}
	lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: "/cluster/firewall/macros", Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
	lab.NextRun(t)
	plan, diagnostics = lab.Manage(t, "proxmox_firewall").Plan(t, of(20000, object{"rules": []any{allow(object{"macro": "Nope"})}}))
	if plan == nil {
		t.Error("macros that cannot be read refuse a plan")
	}
	diagnostics.Warnings().Says(t, "check the macros of the rules", "no answer")
}

// TestBrokenFirewall: where a call fails for good, it is told, and the next apply
// goes on from what is there.
func TestBrokenFirewall(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pvelab.Fault{
		"a rule":    {Method: http.MethodPost, Path: "/nodes/pve2/qemu/20000/firewall/rules"},
		"a set":     {Method: http.MethodPost, Path: "/nodes/pve2/qemu/20000/firewall/ipset"},
		"a member":  {Method: http.MethodPost, Path: "/nodes/pve2/qemu/20000/firewall/ipset/admins"},
		"an alias":  {Method: http.MethodPost, Path: "/nodes/pve2/qemu/20000/firewall/aliases"},
		"an option": {Method: http.MethodPut, Path: "/nodes/pve2/qemu/20000/firewall/options"},
		"a look":    {Method: http.MethodGet, Path: "/nodes/pve2/qemu/20000/firewall/options"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newLab(t)
			ours(t, lab, 20000, filtered)
			firewall := lab.Manage(t, "proxmox_firewall")
			config := of(20000, object{
				"options": object{"enabled": true}, "ip_sets": object{"admins": []any{"10.0.9.0/24"}}, "aliases": object{"monitor": "10.0.8.1"},
				"rules": []any{port("22", object{"source": "+admins"}), allow(object{"source": "monitor"})},
			})
			fault.Status, fault.Text = http.StatusInternalServerError, "no, and no"
			lab.Spoil(t, fault)
			firewall.Apply(t, config).Errors().Says(t, "set up the firewall of vm/20000", "no, and no")
			if options := optionsOf(t, lab.Hand, at(20000)); options["enable"] == "1" && name != "a look" {
				t.Error("a firewall without its rules is in force")
			}
			if firewall.State != nil {
				t.Errorf("it is in the state: %v", firewall.State)
			}
			apply(t, firewall, config)
			wantEmpty(t, lab, firewall, config)
		})
	}
}
