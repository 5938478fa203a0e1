package connection

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
)

// lab is a lab with an administrator.
type lab struct {
	*pvelab.Lab
	hand *byhand.Hand
}

func newLab(t *testing.T, o pvelab.Options) *lab {
	t.Helper()
	o.Speed = 500
	l, err := pvelab.New(o)
	noError(t, err)
	noError(t, l.Start())
	t.Cleanup(func() { noError(t, l.Close()) })
	id, secret := l.Token("full")
	hand, err := byhand.New(l.URL(), id, secret, l.CAPEM())
	noError(t, err)
	return &lab{Lab: l, hand: hand}
}

func (l *lab) client(t *testing.T, token string) *proxmox.Client {
	t.Helper()
	id, secret := l.Token(token)
	c, err := proxmox.New(proxmox.Options{Endpoint: l.URL(), TokenID: id, TokenSecret: secret, CAPEM: l.CAPEM()})
	noError(t, err)
	return c
}

func (l *lab) call(t *testing.T, method, path string, params byhand.Params) {
	t.Helper()
	noError(t, l.hand.Call(t.Context(), method, path, params, nil))
}

// task makes a call that PVE answers with a task, and waits for it.
func (l *lab) task(t *testing.T, path string, params byhand.Params) {
	t.Helper()
	noError(t, l.hand.Task(t.Context(), http.MethodPost, path, params))
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look makes an assessment of what is declared.
func (l *lab) look(t *testing.T, token, known string, declare func(*assessment)) (*assessment, diag.Diagnostics) {
	t.Helper()
	var diags diag.Diagnostics
	m := &model{
		Capabilities: types.SetNull(types.StringType), Templates: types.SetNull(types.Int64Type),
		StorageClasses: types.MapNull(types.StringType), NetworkClasses: types.MapNull(types.StringType),
	}
	a := newAssessment(t.Context(), l.client(t, token), proxmox.VMIDRange{First: 20000, Last: 20999}, m, &diags)
	if declare != nil {
		declare(a)
	}
	if !a.identify(t.Context(), known) {
		return a, diags
	}
	if a.pool != "" {
		a.makePool(t.Context(), a.pool)
	}
	a.examine(t.Context())
	return a, diags
}

// condition finds the one condition of a type and subject.
func (a *assessment) condition(t *testing.T, kind, subject string) condition {
	t.Helper()
	i := slices.IndexFunc(a.conditions, func(c condition) bool { return c.Type == kind && c.Subject == subject })
	if i < 0 {
		t.Fatalf("no condition %s %s: %v", kind, subject, a.conditions)
	}
	return a.conditions[i]
}

// TestDeclarations: each wrong declaration gives its reason, and each right one
// is met.
func TestDeclarations(t *testing.T) {
	t.Parallel()

	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, pvelab.Options{Version: version})
			if version == "8.4" {
				// VM.Monitor is all of the agent.
				testDeclarations(t, l, met)
				return
			}
			testDeclarations(t, l, unmet, "VM.GuestAgent.Unrestricted on /vms/{vmid}")
		})
	}
}

// testDeclarations is given what the least token's right to run a command in a
// guest is found to be.
func testDeclarations(t *testing.T, l *lab, running string, lacks ...string) {
	t.Helper()

	l.call(t, http.MethodPost, "/storage", byhand.Params{"storage": "off", "type": "dir", "path": "/srv/off", "content": "images", "disable": 1})
	l.call(t, http.MethodPost, "/storage", byhand.Params{"storage": "one", "type": "dir", "path": "/srv/one", "content": "images", "nodes": "pve1"})
	l.call(t, http.MethodPost, "/nodes/pve2/network", byhand.Params{"iface": "vmbr7", "type": "bridge"})
	l.task(t, "/nodes/pve1/lxc", byhand.Params{
		"vmid": 501, "hostname": "ct", "ostemplate": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst", "rootfs": "local-lvm:1",
	})
	noError(t, l.hand.CreateVM(t.Context(), "pve1", 500, byhand.Params{"name": "no-template"}))

	for name, test := range map[string]struct {
		kind, token string
		declare     func(*assessment)
		status      string
		says        []string
	}{
		"a storage":            {"storage", "full", storageOf("shared-nfs", "images", "rootdir"), met, nil},
		"no such storage":      {"storage", "full", storageOf("nope", "images"), unmet, []string{"pve1, pve2, pve3", `no storage "nope"`}},
		"a disabled storage":   {"storage", "full", storageOf("off", "images"), unmet, []string{`pve1, pve2, pve3: storage "off" is disabled`}},
		"on one node alone":    {"storage", "full", storageOf("one", "images"), unmet, []string{`pve2, pve3: storage "one" is limited to other nodes: pve1`}},
		"wrong content":        {"storage", "full", storageOf("seeds", "iso", "images"), unmet, []string{"does not allow images, only iso"}},
		"not to be seen":       {"storage", "nothing", storageOf("seeds", "iso"), unknown, []string{"Datastore.Audit on /storage/seeds"}},
		"a bridge":             {"network", "full", bridgeOf("vmbr1"), met, nil},
		"no such bridge":       {"network", "full", bridgeOf("vmbr9"), unmet, []string{`pve1, pve2, pve3: there is no bridge "vmbr9"`}},
		"a bridge on one":      {"network", "full", bridgeOf("vmbr7"), unmet, []string{`pve1, pve3: there is no bridge "vmbr7"`, `pve2: bridge "vmbr7" is not active`}},
		"a bridge unseen":      {"network", "nothing", bridgeOf("vmbr0"), unknown, []string{"SDN.Use on /sdn/zones/localnetwork/vmbr0"}},
		"a template":           {"template", "full", templateOf(9000), met, nil},
		"not a template":       {"template", "full", templateOf(500), unmet, []string{"no template", "qm template 500"}},
		"a container":          {"template", "full", templateOf(501), unmet, []string{`"ct" is a container`}},
		"no such guest":        {"template", "full", templateOf(9999), unmet, []string{"no such guest"}},
		"in the range":         {"template", "full", templateOf(20001), unmet, []string{"inside the vmid_range 20000-20999"}},
		"a template unseen":    {"template", "nothing", templateOf(9000), unknown, []string{"VM.Audit on /vms/9000"}},
		"a capability":         {"capability", "full", able("vm.create"), met, nil},
		"with least":           {"capability", "least", all(able("vm.create"), templateOf(9000), storageOf("local-lvm", "images"), pooled("terraform")), met, nil},
		"seeds with least":     {"capability", "least", all(able("seed_iso"), storageOf("seeds", "iso"), pooled("terraform")), met, nil},
		"missing":              {"capability", "least", all(able("firewall.cluster"), pooled("terraform")), unmet, []string{"Sys.Modify on /"}},
		"an agent":             {"capability", "least", all(able("vm.addresses"), pooled("terraform")), met, nil},
		"a command in it":      {"capability", "least", all(able("probe.service"), pooled("terraform")), running, lacks},
		"on some guests":       {"capability", "least", able("vm.start"), met, []string{"some objects", "VM.PowerMgmt on /vms/{vmid}"}},
		"of nothing":           {"capability", "nothing", able("vm.create"), unmet, []string{"no privileges at all", "privilege separation"}},
		"a pool":               {"pool", "full", pooled("terraform"), met, nil},
		"a pool to be made":    {"pool", "full", pooled("fresh"), met, nil},
		"a pool not to be":     {"pool", "nothing", pooled("other"), unmet, []string{"Pool.Allocate on /pool/other"}},
		"the cluster":          {"cluster", "full", named("lab"), met, nil},
		"a cluster unseen":     {"cluster", "nothing", named("lab"), unmet, []string{"Sys.Audit on /"}},
		"a cluster undeclared": {"cluster", "nothing", nil, unknown, []string{"Sys.Audit on /"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, diags := l.look(t, test.token, "", test.declare)
			if diags.HasError() {
				t.Fatal(diags)
			}
			i := slices.IndexFunc(a.conditions, func(c condition) bool { return c.Type == test.kind })
			if i < 0 {
				t.Fatalf("no condition %s: %v", test.kind, a.conditions)
			}
			found := a.conditions[i]
			if found.Status != test.status {
				t.Errorf("%+v, want %s", found, test.status)
			}
			for _, text := range test.says {
				if !strings.Contains(found.Reason, text) {
					t.Errorf("%q does not say %q", found.Reason, text)
				}
			}
			if ready := len(a.unmet()) == 0; ready != (test.status != unmet) {
				t.Errorf("ready: %t, %v", ready, a.unmet())
			}
		})
	}
}

func storageOf(storage string, content ...string) func(*assessment) {
	return func(a *assessment) {
		a.storages = map[string]storageClass{"class": {Storage: storage, Content: content}}
	}
}

func bridgeOf(bridge string) func(*assessment) {
	return func(a *assessment) { a.networks = map[string]networkClass{"class": {Bridge: bridge}} }
}

func templateOf(vmid int) func(*assessment) {
	return func(a *assessment) { a.templates = []int{vmid} }
}

func able(capability string) func(*assessment) {
	return func(a *assessment) { a.capabilities = []string{capability} }
}

func pooled(pool string) func(*assessment) { return func(a *assessment) { a.pool = pool } }

func named(cluster string) func(*assessment) { return func(a *assessment) { a.cluster = cluster } }

func all(declare ...func(*assessment)) func(*assessment) {
	return func(a *assessment) {
		for _, each := range declare {
			each(a)
		}
	}
}

// TestInactiveStorage cannot be had of the lab.
func TestInactiveStorage(t *testing.T) {
	t.Parallel()

	a, v := &assessment{}, newVerdict()
	list := []proxmox.NodeStorage{{Storage: "nfs", Enabled: true, Content: []string{"images"}}}
	a.judgeStorage(t.Context(), v, "pve1", list, storageClass{Storage: "nfs", Content: []string{"images"}})
	v.conclude(a, "storage", "class")
	if got := a.condition(t, "storage", "class"); got.Status != unmet || got.Reason != `pve1: storage "nfs" is not active` {
		t.Errorf("%+v", got)
	}
}

// TestScopeOfVNets: which zone a VNet is of is not told, so that no privilege is
// looked for on the nodes' own zone.
func TestScopeOfVNets(t *testing.T) {
	t.Parallel()

	a := &assessment{
		vnets:    map[string]bool{"blue": true},
		networks: map[string]networkClass{"a": {Bridge: "blue"}, "b": {Bridge: "vmbr0"}},
	}
	if got := a.scope()["bridge"]; !slices.Equal(got, []string{"vmbr0"}) {
		t.Errorf("bridges %v", got)
	}
}

// TestNodes: nodes that are away are told and not looked at, and clocks that are
// wrong are told.
func TestNodes(t *testing.T) {
	t.Parallel()

	l := newLab(t, pvelab.Options{})
	noError(t, l.Faults().NodeOffline("pve3"))
	l.Faults().SkewClock(-time.Hour)
	a, diags := l.look(t, "full", "", all(storageOf("shared-nfs", "images"), bridgeOf("vmbr0")))
	if diags.HasError() {
		t.Fatal(diags)
	}
	if !slices.Equal(a.online, []string{"pve1", "pve2"}) || a.answering != "pve1" || a.identity != "lab" {
		t.Errorf("online %v, %s answers, %s", a.online, a.answering, a.identity)
	}
	if got := a.condition(t, "node", "pve3"); got.Status != unknown || !strings.Contains(got.Reason, "offline") {
		t.Errorf("%+v", got)
	}
	if got := a.condition(t, "storage", "class"); got.Status != met {
		t.Errorf("%+v", got)
	}
	if got := a.condition(t, "clock", "pve2"); got.Status != unmet || !strings.Contains(got.Reason, "behind") {
		t.Errorf("%+v", got)
	}
	if skew := a.nodes["pve1"].ClockSkew.ValueInt64(); skew > -3590 || skew < -3610 {
		t.Errorf("skew %d", skew)
	}
}

// TestIdentity: another cluster is an error before anything is made; a node that
// has joined a cluster is the same.
func TestIdentity(t *testing.T) {
	t.Parallel()

	cluster, alone := newLab(t, pvelab.Options{}), newLab(t, pvelab.Options{Standalone: true})
	for name, test := range map[string]struct {
		lab             *lab
		declared, known string
		fails, warns    bool
	}{
		"as declared":             {cluster, "lab", "", false, false},
		"as known":                {cluster, "", "lab", false, false},
		"another than declared":   {cluster, "dc1", "", true, false},
		"another than known":      {cluster, "", "dc1", true, false},
		"a node that joined":      {cluster, "", "standalone:pve2", false, true},
		"declared before it did":  {cluster, "standalone:pve2", "standalone:pve2", false, true},
		"a node of elsewhere":     {cluster, "", "standalone:other", true, false},
		"a node alone":            {alone, "standalone:pve1", "standalone:pve1", false, false},
		"another node":            {alone, "standalone:pve2", "", true, false},
		"a node that was members": {alone, "", "lab", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := test.lab.Counters().Snapshot().Requests["POST /pools"]
			_, diags := test.lab.look(t, "full", test.known, func(a *assessment) { a.cluster = test.declared })
			if diags.HasError() != test.fails || (diags.WarningsCount() > 0) != test.warns {
				t.Errorf("%v", diags)
			}
			if test.lab.Counters().Snapshot().Requests["POST /pools"] != before {
				t.Error("a pool was made")
			}
		})
	}
}
