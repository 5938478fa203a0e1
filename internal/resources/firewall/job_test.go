package firewall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
	"terraform-provider-proxmox/internal/resources/firewall/traffic"
)

// bench is a lab with a guest, and a client that tells of each mutation.
type bench struct {
	t      *testing.T
	lab    *pvelab.Lab
	client *proxmox.Client
	// observed is called after each mutation, watched by another client.
	observed func(ctx context.Context)
	watcher  *proxmox.Client
	guest    proxmox.Guest
}

const benchVMID = 20000

func newBench(t *testing.T) *bench {
	t.Helper()
	lab, err := pvelab.New(pvelab.Options{Speed: 1000})
	must(t, err)
	must(t, lab.Start())
	t.Cleanup(func() { must(t, lab.Close()) })
	b := &bench{t: t, lab: lab}
	b.client = b.connect(func(ctx context.Context, _ string, fields map[string]any) {
		if fields["method"] != http.MethodGet && b.observed != nil {
			b.observed(ctx)
		}
	})
	b.watcher = b.connect(nil)
	must(t, b.makeGuest())
	b.guest, err = b.client.Gate.Marked(t.Context(), proxmox.KindVM, benchVMID)
	must(t, err)
	return b
}

func (b *bench) connect(log proxmox.LogFunc) *proxmox.Client {
	b.t.Helper()
	id, secret := b.lab.Token("full")
	client, err := proxmox.New(proxmox.Options{
		Endpoint: b.lab.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.lab.CAPEM(),
		VMIDRange: proxmox.VMIDRange{First: benchVMID, Last: benchVMID + 9}, Log: log,
	})
	must(b.t, err)
	return client
}

// makeGuest clones a VM, the way the provider does.
func (b *bench) makeGuest() error {
	created, err := b.client.CreateClone(b.t.Context(), proxmox.CloneSpec{
		Template: 9000, TemplateNode: "pve1", Node: "pve1", Name: "bench", UID: proxmox.NewUID(), VMID: benchVMID,
	})
	if err == nil && created.Guest.VMID != benchVMID {
		err = fmt.Errorf("the guest is %d", created.Guest.VMID)
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) job(was, want ruleset) *job {
	return &job{
		client: b.client, guest: b.guest, was: was, want: want, diags: &diag.Diagnostics{},
		scope: proxmox.FirewallScope{Kind: proxmox.FirewallVM, VMID: benchVMID, Node: "pve1"},
	}
}

// state is what the guest's firewall does to traffic now.
func (b *bench) state(ctx context.Context) traffic.Firewall {
	b.t.Helper()
	ctx = context.WithoutCancel(ctx)
	scope := proxmox.FirewallScope{Kind: proxmox.FirewallVM, VMID: benchVMID, Node: "pve1"}
	rules, err := b.watcher.Firewall.Rules(ctx, scope)
	must(b.t, err)
	options, err := b.watcher.Firewall.Options(ctx, scope)
	must(b.t, err)
	names, err := b.watcher.Firewall.Sets(ctx, scope)
	must(b.t, err)
	aliases, _, err := b.watcher.Firewall.Aliases(ctx, scope)
	must(b.t, err)
	has := ruleset{rules: rules.Rules, options: options.Values, sets: map[string]members{}, aliases: map[string]string{}}
	for _, alias := range aliases {
		has.aliases[alias.Name] = alias.CIDR
	}
	for _, name := range names {
		list, _, err := b.watcher.Firewall.Members(ctx, scope, name)
		must(b.t, err)
		has.sets[name] = members{}
		for _, member := range list {
			has.sets[name][member.CIDR] = bool(member.NoMatch)
		}
	}
	return has.traffic()
}

// traffic is what a ruleset does.
func (r ruleset) traffic() traffic.Firewall {
	f := traffic.Firewall{
		Off: r.options[keyEnable] != "1", Rules: r.rules, Aliases: r.aliases,
		Policy: map[string]string{"in": "DROP", "out": "ACCEPT"},
		Sets:   map[string]map[string]bool{}, Filters: map[string]map[string]bool{},
	}
	for _, direction := range []string{"in", "out"} {
		if policy := r.options["policy_"+direction]; policy != "" {
			f.Policy[direction] = policy
		}
	}
	for name, set := range r.sets {
		if nic, ok := strings.CutPrefix(name, filterSet); ok {
			f.Filters[nic] = set
			continue
		}
		f.Sets[name] = set
	}
	return f
}

var jobPackets = traffic.Packets("10.0.0.5", "10.0.7.5", "10.9.0.5", "192.168.1.5")

// jobRules are the rules that random firewalls are drawn from. Each name is used
// by rules that allow, or by rules that refuse, and "both" by either.
var jobRules = []string{
	"in ACCEPT from +good", "in ACCEPT tcp 22 from +good", "in DROP from +bad", "in REJECT tcp from +bad", "in ACCEPT tcp 80 from +both",
	"in DROP tcp 22 from +both", "in ACCEPT tcp 443", "in SSH(ACCEPT) from good-alias", "in DROP from bad-alias", "in ACCEPT", "in DROP tcp",
	"in ACCEPT udp 53 from 10.0.0.0/8", "out DROP tcp 80", "out ACCEPT from +good",
}

var jobNetworks = []string{"10.0.0.0/24", "10.0.0.0/16", "10.9.0.0/16", "192.168.1.5", "10.0.7.5"}

func randomRuleset(r *rand.Rand) ruleset {
	w := ruleset{managed: true, options: map[string]string{}, sets: map[string]members{}, aliases: map[string]string{}}
	for _, set := range []string{"good", "bad", "both"} {
		w.sets[set] = randomMembers(r)
	}
	if r.IntN(2) == 0 {
		w.sets[filterSet+"net0"] = randomMembers(r)
	}
	// An alias is one network or another that holds it.
	w.aliases["good-alias"] = []string{"10.0.0.0/24", "10.0.0.0/16"}[r.IntN(2)]
	w.aliases["bad-alias"] = []string{"10.0.0.0/24", "10.0.0.0/8"}[r.IntN(2)]
	for range r.IntN(6) {
		rule := traffic.Rule(jobRules[r.IntN(len(jobRules))])
		rule.Enabled = r.IntN(6) > 0
		w.rules = append(w.rules, rule)
	}
	if r.IntN(5) > 0 {
		w.options[keyEnable] = "1"
	}
	if r.IntN(2) == 0 {
		w.options["policy_in"] = []string{"ACCEPT", "REJECT"}[r.IntN(2)]
	}
	if r.IntN(3) == 0 {
		w.options["policy_out"] = "DROP"
	}
	return w
}

func randomMembers(r *rand.Rand) members {
	set := members{}
	for range r.IntN(3) {
		set[jobNetworks[r.IntN(len(jobNetworks))]] = r.IntN(5) == 0
	}
	return set
}

// neverMoreOpen fails the test when a state allows what neither end does.
func neverMoreOpen(t *testing.T, name string, before, after, now traffic.Firewall) {
	t.Helper()
	for _, p := range jobPackets {
		if now.Allows(p) && !before.Allows(p) && !after.Allows(p) {
			t.Fatalf("%s: %+v is allowed by neither end\nold %+v\nnew %+v\nnow %+v", name, p, before, after, now)
		}
	}
}

// TestJobIsNeverMoreOpen changes random firewalls into others, options, sets and
// aliases included, and looks at what PVE has after each call.
func TestJobIsNeverMoreOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := rand.New(rand.NewPCG(1, 2))
	was := ruleset{}
	before := b.state(t.Context())
	for i := range 50 {
		want := randomRuleset(r)
		after := want.traffic()
		calls := 0
		b.observed = func(ctx context.Context) {
			calls++
			neverMoreOpen(t, fmt.Sprintf("firewall %d, call %d", i, calls), before, after, b.state(ctx))
		}
		must(t, b.job(was, want).run(t.Context()))
		b.observed = nil
		j := b.job(was, want)
		must(t, j.read(t.Context()))
		if !j.found().equal(want) {
			t.Fatalf("firewall %d is %+v, not %+v", i, j.found(), want)
		}
		calls = 0
		b.observed = func(context.Context) { calls++ }
		must(t, b.job(want, want).run(t.Context()))
		if b.observed = nil; calls > 0 {
			t.Fatalf("firewall %d: a second run makes %d calls", i, calls)
		}
		was, before = want, after
	}
}

// TestJobKilled cancels a change after each of its calls, as a kill does, and
// does it anew.
func TestJobKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := rand.New(rand.NewPCG(3, 4))
	was, want := randomRuleset(r), randomRuleset(r)
	for _, w := range []*ruleset{&was, &want} {
		w.options[keyEnable] = "1"
	}
	before, after := was.traffic(), want.traffic()
	for last := 1; ; last++ {
		must(t, b.job(want, was).run(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		b.observed = func(ctx context.Context) {
			calls++
			neverMoreOpen(t, fmt.Sprintf("killed after %d, call %d", last, calls), before, after, b.state(ctx))
			if calls == last {
				cancel()
			}
		}
		err := b.job(was, want).run(ctx)
		cancel()
		b.observed = nil
		if calls < last {
			must(t, err)
			if last < 5 {
				t.Fatalf("the change takes %d calls only: it shows nothing", calls)
			}
			return
		}
		b.observed = func(ctx context.Context) { neverMoreOpen(t, "anew", before, after, b.state(ctx)) }
		must(t, b.job(was, want).run(t.Context()))
		b.observed = nil
		j := b.job(was, want)
		must(t, j.read(t.Context()))
		if !j.found().equal(want) {
			t.Fatalf("killed after %d: the firewall is %+v, not %+v", last, j.found(), want)
		}
	}
}

// TestJobLosesAnswers loses the answer to each call, before and after it was
// done.
func TestJobLosesAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := rand.New(rand.NewPCG(5, 6))
	was, want := randomRuleset(r), randomRuleset(r)
	for _, drop := range []pvelab.Drop{pvelab.DropBefore, pvelab.DropAfter, pvelab.DropBody} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			for skip := 0; ; skip++ {
				must(t, b.job(want, was).run(t.Context()))
				id, err := b.lab.Faults().Add(pvelab.Fault{Method: method, Path: ".*/firewall/.*", Skip: skip, Drop: drop})
				must(t, err)
				must(t, b.job(was, want).run(t.Context()))
				hits := b.lab.Faults().Hits(id)
				b.lab.Faults().Remove(id)
				j := b.job(was, want)
				must(t, j.read(t.Context()))
				if !j.found().equal(want) {
					t.Fatalf("%s %d lost %s: the firewall is %+v, not %+v", method, skip, drop, j.found(), want)
				}
				if hits == 0 {
					break
				}
			}
		}
	}
}

// TestJobWithOthers changes the firewall while somebody else does the same.
func TestJobWithOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := rand.New(rand.NewPCG(7, 8))
	want := randomRuleset(r)
	want.options[keyEnable] = "1"
	for range 20 {
		want.rules = append(want.rules, traffic.Rule(jobRules[r.IntN(len(jobRules))]))
	}
	was := want
	was.rules = slices.Clone(want.rules)
	slices.Reverse(was.rules)
	must(t, b.job(ruleset{}, was).run(t.Context()))

	// Somebody makes a rule, and takes away another, in the middle of it.
	calls := 0
	b.observed = func(ctx context.Context) {
		calls++
		if calls != 3 && calls != 8 {
			return
		}
		p, err := b.watcher.Gate.Own(ctx, b.guest)
		must(t, err)
		scope := proxmox.FirewallScope{Kind: proxmox.FirewallVM, VMID: benchVMID, Node: "pve1"}
		if calls == 3 {
			must(t, b.watcher.Firewall.Insert(ctx, p, scope, traffic.Rule("in ACCEPT # by hand")))
			return
		}
		list, err := b.watcher.Firewall.Rules(ctx, scope)
		must(t, err)
		must(t, b.watcher.Firewall.Remove(ctx, p, scope, 2, list.Digest))
	}
	must(t, b.job(was, want).run(t.Context()))
	b.observed = nil
	j := b.job(was, want)
	must(t, j.read(t.Context()))
	if !j.found().equal(want) {
		t.Errorf("the rules are %+v, not %+v", j.found().rules, want.rules)
	}
	if calls < 8 {
		t.Errorf("only %d calls: nobody was in the way", calls)
	}
}

// TestTwoJobs lets two clients set up the same firewall at once, and then two
// with marked rules of their own.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := rand.New(rand.NewPCG(9, 10))
	for range 5 {
		want := randomRuleset(r)
		b.together(b.job(ruleset{}, want), b.with(b.watcher, b.job(ruleset{}, want)))
		j := b.job(want, want)
		must(t, j.read(t.Context()))
		if !j.found().equal(want) {
			t.Fatalf("the firewall is %+v, not %+v", j.found(), want)
		}
	}
	must(t, b.job(ruleset{}, ruleset{managed: true}).run(t.Context()))

	var jobs []*job
	for _, own := range []marker{"one", "two"} {
		want := ruleset{managed: true}
		for _, text := range []string{"in ACCEPT tcp 80", "in DROP tcp", "in ACCEPT udp"} {
			want.rules = append(want.rules, own.put(traffic.Rule(text)))
		}
		j := b.job(ruleset{}, want)
		j.own = own
		jobs = append(jobs, j)
	}
	b.together(jobs[0], b.with(b.watcher, jobs[1]))
	for _, j := range jobs {
		must(t, j.read(t.Context()))
		if got := j.owned(j.cur.rules.Rules); !slices.Equal(got, j.want.rules) || len(j.cur.rules.Rules) != 6 {
			t.Errorf("the rules of %s are %+v among %d", j.own, got, len(j.cur.rules.Rules))
		}
	}
}

func (b *bench) with(client *proxmox.Client, j *job) *job {
	j.client = client
	return j
}

// together runs jobs at once, as from two machines. PVE takes no digest with a
// new rule, so that the loser of a race may only find out afterwards: both are
// run until nobody is in the way.
func (b *bench) together(jobs ...*job) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, len(jobs))
	for _, j := range jobs {
		go func() { done <- j.run(ctx) }()
	}
	var all error
	for range jobs {
		all = errors.Join(all, <-done)
	}
	must(b.t, all)
}
