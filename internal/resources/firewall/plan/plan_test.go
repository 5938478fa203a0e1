package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/resources/firewall/plan"
	"terraform-provider-proxmox/internal/resources/firewall/traffic"
)

// groups are the security groups of the tests.
var groups = map[string][]plan.Rule{
	"web":   {traffic.Rule("in ACCEPT tcp 80"), traffic.Rule("in DROP tcp 443")},
	"admin": {traffic.Rule("in DROP from 10.0.0.0/24"), traffic.Rule("in ACCEPT from 10.0.0.0/8"), traffic.Rule("out DROP")},
	"empty": {},
}

// packets are all that the rules of the tests can tell apart.
var packets = traffic.Packets("10.0.0.5", "10.0.7.5", "10.9.0.5", "192.168.1.5", "8.8.8.8")

// allows judges a packet by a list and a policy.
func allows(list []plan.Rule, p traffic.Packet, policy string) bool {
	f := traffic.Firewall{Rules: list, Groups: groups, Policy: map[string]string{"in": policy, "out": policy}}
	return f.Allows(p)
}

// pool holds the rules that random lists are drawn from: few enough that old and
// new lists have much in common.
var pool = []string{
	"in ACCEPT", "in DROP", "out ACCEPT", "out REJECT", "in ACCEPT tcp", "in DROP tcp",
	"in ACCEPT tcp 22", "in ACCEPT tcp 22,80", "in ACCEPT tcp 80:443", "in ACCEPT tcp 443", "in DROP tcp 80", "in REJECT tcp 22",
	"in ACCEPT udp 53", "in SSH(ACCEPT)", "in SSH(DROP)", "in DNS(ACCEPT) from 10.0.0.0/8", "in SSH(ACCEPT) from 10.0.0.0/16",
	"in ACCEPT from 10.0.0.0/8", "in ACCEPT from 10.0.0.0/16", "in ACCEPT from 10.0.0.0/24,192.168.1.5", "in DROP from 10.0.0.0/16",
	"in DROP from 10.0.7.5", "in ACCEPT from 10.9.0.0/16", "in ACCEPT tcp 22 from 192.168.1.0/24", "in DROP tcp 22 from 192.168.1.5",
	"in ACCEPT on net0", "in DROP on net1", "in ACCEPT tcp 80 on net1", "group web", "group admin", "group admin on net0", "group empty",
	"out DROP udp 53", "out ACCEPT udp",
}

// sample is a random list; some rules are off, some have comments.
func sample(random *rand.Rand, most int) []plan.Rule {
	list := make([]plan.Rule, 0, most)
	for range random.IntN(most + 1) {
		r := traffic.Rule(pool[random.IntN(len(pool))])
		r.Enabled = random.IntN(6) > 0
		if random.IntN(4) == 0 {
			r.Comment = string(rune('a' + random.IntN(3)))
		}
		list = append(list, r)
	}
	return list
}

// edited is a list that has much of another one.
func edited(random *rand.Rand, list []plan.Rule, most int) []plan.Rule {
	out := slices.Clone(list)
	for range random.IntN(5) {
		switch i := random.IntN(len(out) + 1); {
		case i == len(out):
			out = append(out, sample(random, most)...)
		case random.IntN(3) == 0:
			out = slices.Delete(out, i, i+1)
		case random.IntN(2) == 0:
			moved := out[i]
			out = slices.Delete(out, i, i+1)
			out = slices.Insert(out, random.IntN(len(out)+1), moved)
		default:
			out[i] = traffic.Rule(pool[random.IntN(len(pool))])
		}
	}
	return out
}

// world is a plan's old and new side, and the policies of both.
type world struct {
	before, after     []plan.Rule
	policy, newPolicy string
	options           plan.Options
}

func random(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 7))
	w := world{before: sample(r, 8), policy: "DROP", newPolicy: "DROP", options: plan.Options{Live: true}}
	w.after = sample(r, 8)
	switch r.IntN(6) {
	case 0, 1:
	case 2:
		// Many at the top, and often of nothing.
		w.before = w.before[:min(len(w.before), r.IntN(3))]
		w.after = slices.Concat(sample(r, 12), edited(r, w.before, 1))
	default:
		w.after = edited(r, w.before, 3)
	}
	if r.IntN(3) == 0 {
		w.policy = []string{"ACCEPT", "DROP"}[r.IntN(2)]
		w.newPolicy = []string{"ACCEPT", "REJECT"}[r.IntN(2)]
		w.options.Turn = true
	}
	return w
}

// walk follows a plan and judges each list on the way.
func (w world) walk(t *testing.T, name string) {
	t.Helper()
	list, policy := w.before, w.policy
	steps := plan.Rules(w.before, w.after, w.options)
	for i, step := range steps {
		list = step.Apply(list)
		if step.Kind == plan.Turn {
			policy = w.newPolicy
		}
		if wrong := w.wrong(list, policy); wrong != "" {
			t.Fatalf("%s: after step %d of %d: %s\nold %s\nnew %s\nnow %s\nsteps %+v", name, i+1, len(steps), wrong,
				show(w.before), show(w.after), show(list), steps)
		}
	}
	if !slices.Equal(list, w.after) {
		t.Fatalf("%s: the plan ends with %s, not with %s", name, show(list), show(w.after))
	}
	if w.options.Turn && policy != w.newPolicy {
		t.Fatalf("%s: the plan has no turn", name)
	}
}

// wrong tells which packet a list on the way decides as it must not.
func (w world) wrong(list []plan.Rule, policy string) string {
	for _, p := range packets {
		now := allows(list, p, policy)
		old, late := allows(w.before, p, w.policy), allows(w.after, p, w.newPolicy)
		if now && !old && !late {
			return fmt.Sprintf("%+v is allowed, by neither list", p)
		}
		if w.options.Exact && !now && old && late {
			return fmt.Sprintf("%+v is refused, by neither list", p)
		}
	}
	return ""
}

func show(list []plan.Rule) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "\n  %s %s%s %s %s %s from %q on %q # %s", onOff(r), r.Type, r.Macro, r.Action, r.Protocol, r.DestinationPort, r.Source, r.Interface, r.Comment)
	}
	return b.String()
}

func onOff(r plan.Rule) string {
	if r.Enabled {
		return "+"
	}
	return "-"
}

// number is how many random pairs of lists each property is tried on.
const number = 1000

// TestNeverMoreOpen is the promise: no list on the way allows what neither the
// old nor the new one allows.
func TestNeverMoreOpen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(number) {
		random(seed).walk(t, fmt.Sprintf("seed %d", seed))
	}
}

// TestExact also refuses nothing that both lists allow.
func TestExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(number) {
		w := random(seed)
		w.options.Exact = true
		w.walk(t, fmt.Sprintf("seed %d", seed))
	}
}

// TestIdle needs no order, and fewer calls: hardly ever one more.
func TestIdle(t *testing.T) {
	t.Parallel()
	var all, allLive, longer int
	for seed := range uint64(number) {
		w := random(seed)
		live := len(plan.Rules(w.before, w.after, w.options))
		w.options.Live = false
		steps := plan.Rules(w.before, w.after, w.options)
		list := w.before
		for _, step := range steps {
			list = step.Apply(list)
		}
		if !slices.Equal(list, w.after) {
			t.Fatalf("seed %d: ends with %s, not with %s", seed, show(list), show(w.after))
		}
		if len(steps) > live+1 {
			longer++
		}
		all, allLive = all+len(steps), allLive+live
	}
	if all*5 > allLive*4 || longer > number/100 {
		t.Errorf("%d steps in all, %d where the order matters, which %d times were fewer by more than one", all, allLive, longer)
	}
}

// TestInterrupted begins again from any list on the way, as after a crash.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(number / 4) {
		w := random(seed)
		list, policy := w.before, w.policy
		for i, step := range plan.Rules(w.before, w.after, w.options) {
			list = step.Apply(list)
			if step.Kind == plan.Turn {
				policy = w.newPolicy
			}
			late := list
			for _, again := range plan.Rules(list, w.after, plan.Options{Live: true, Turn: policy != w.newPolicy}) {
				late = again.Apply(late)
				now := policy
				if again.Kind == plan.Turn {
					policy = w.newPolicy
				}
				if wrong := w.wrong(late, policy); wrong != "" {
					t.Fatalf("seed %d, interrupted after step %d: %s", seed, i+1, wrong)
				}
				policy = now
				if again.Kind == plan.Turn {
					break
				}
			}
		}
	}
}

// TestOwned leaves the rules of others alone, and in their order.
func TestOwned(t *testing.T) {
	t.Parallel()
	owned := func(r plan.Rule) bool { return strings.HasSuffix(r.Comment, "!") }
	mark := func(list []plan.Rule) []plan.Rule {
		for i := range list {
			list[i].Comment += "!"
		}
		return list
	}
	for seed := range uint64(number / 4) {
		r := rand.New(rand.NewPCG(seed, 9))
		before, after := mark(sample(r, 6)), mark(sample(r, 6))
		if r.IntN(2) == 0 {
			after = mark(edited(r, slices.Clone(before), 2))
			for i := range after {
				after[i].Comment = strings.TrimRight(after[i].Comment, "!") + "!"
			}
		}
		mixed := slices.Clone(before)
		for _, foreign := range sample(r, 6) {
			mixed = slices.Insert(mixed, r.IntN(len(mixed)+1), foreign)
		}
		final := mixed
		options := plan.Options{Live: true, Owned: owned}
		steps := plan.Rules(mixed, after, options)
		for _, step := range steps {
			final = step.Apply(final)
		}
		w := world{before: mixed, after: final, policy: "DROP", newPolicy: "DROP", options: options}
		list := mixed
		for i, step := range steps {
			list = step.Apply(list)
			if wrong := w.wrong(list, "DROP"); wrong != "" {
				t.Fatalf("seed %d, step %d: %s", seed, i+1, wrong)
			}
		}
		if got := filter(final, owned); !slices.Equal(got, after) {
			t.Fatalf("seed %d: our rules are %s, not %s", seed, show(got), show(after))
		}
		others := func(r plan.Rule) bool { return !owned(r) }
		if !slices.Equal(filter(final, others), filter(mixed, others)) {
			t.Fatalf("seed %d: the rules of others became %s", seed, show(filter(final, others)))
		}
	}
}

func filter(list []plan.Rule, keep func(plan.Rule) bool) []plan.Rule {
	var out []plan.Rule
	for _, r := range list {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// TestCalls counts the steps of common changes.
func TestCalls(t *testing.T) {
	t.Parallel()
	many := make([]plan.Rule, 200)
	for i := range many {
		many[i] = traffic.Rule(fmt.Sprintf("in ACCEPT tcp %d # rule %d", 1000+i, i))
	}
	with := func(i int, text string) []plan.Rule { return slices.Insert(slices.Clone(many), i, traffic.Rule(text)) }
	set := func(i int, text string) []plan.Rule {
		list := slices.Clone(many)
		list[i] = traffic.Rule(text)
		return list
	}
	swapped := slices.Clone(many)
	swapped[10], swapped[150] = swapped[150], swapped[10]
	for name, tc := range map[string]struct {
		before, after []plan.Rule
		options       plan.Options
		want          int
	}{
		"nothing":                       {many, many, plan.Options{Live: true}, 0},
		"all at once":                   {nil, many, plan.Options{}, 200},
		"all at once, in force":         {nil, many, plan.Options{Live: true, Exact: true}, 200},
		"before all, in force":          {many[100:], many, plan.Options{Live: true, Exact: true}, 100},
		"behind one that refuses":       {nil, with(0, "in DROP tcp 22"), plan.Options{Live: true}, 401},
		"behind one that goes out":      {nil, with(0, "out DROP tcp 22"), plan.Options{Live: true}, 201},
		"one that refuses as the last":  {nil, with(200, "in DROP tcp"), plan.Options{Live: true}, 201},
		"the same, exactly":             {nil, with(200, "in DROP tcp"), plan.Options{Live: true, Exact: true}, 202},
		"behind a group":                {nil, with(0, "group web"), plan.Options{Live: true}, 401},
		"one in the middle":             {many, with(100, "in DROP tcp 22"), plan.Options{Live: true}, 3},
		"one in the middle, exactly":    {many, with(100, "in DROP tcp 22"), plan.Options{Live: true, Exact: true}, 3},
		"one at the top":                {many, with(0, "in DROP tcp 22"), plan.Options{Live: true}, 1},
		"one less":                      {with(7, "in DROP"), many, plan.Options{Live: true}, 1},
		"one that becomes another":      {many, set(7, "in ACCEPT udp 9"), plan.Options{Live: true, Exact: true}, 1},
		"a comment":                     {many, set(7, "in ACCEPT tcp 1007 # new"), plan.Options{Live: true, Exact: true}, 1},
		"one turned off":                {many, set(7, "| in ACCEPT tcp 1007 # rule 7"), plan.Options{Live: true, Exact: true}, 1},
		"two change places":             {many, swapped, plan.Options{Live: true}, 2},
		"all go, in force":              {many, nil, plan.Options{Live: true}, 200},
		"a policy, and one that leaves": {many, many[1:], plan.Options{Live: true, Turn: true}, 2},
	} {
		if got := plan.Rules(tc.before, tc.after, tc.options); len(got) != tc.want {
			t.Errorf("%s: %d steps, not %d: %+v", name, len(got), tc.want, got)
		}
	}
}
