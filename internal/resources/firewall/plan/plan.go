// Package plan finds the steps that turn one list of firewall rules into
// another, so that at no moment traffic is allowed that neither list allows.
//
// The first rule that matches decides. Seen as positions in one list that holds
// the old and the new rules, each change adds a rule or takes one away. Added
// from the first to the last, then taken away from the last to the first, each
// packet is decided at each moment as the old or as the new list decides it: a
// rule that is added meets all new rules before it, and when one is taken away,
// what comes after it is new. The policy is the rule after the last, so it
// changes between the two.
//
// PVE makes a new rule the first of all, so that one elsewhere is made disabled,
// moved and enabled. Rules that are to be the first of all anyway are made from
// the last to the first, without a move, and are in force at once where all new
// rules before them decide alike.
//
// One call is better than four: a rule that only refuses more, or allows less,
// is changed in place before all that; one that allows more, or refuses less,
// after it. What was allowed then is allowed by the old list, or by the new one.
// Who could lock himself out in between asks for an exact order instead.
package plan

import "terraform-provider-proxmox/internal/proxmox"

// Rule is a firewall rule.
type Rule = proxmox.FirewallRule

// Kind is what a step does.
type Kind int

// The kinds of steps.
const (
	// Insert makes Rule the first of the list, the only place for a new one.
	Insert Kind = iota + 1
	// Move takes the rule At to before the one that is at Before now.
	Move
	// Replace puts Rule in the place of the one At.
	Replace
	// Remove takes away the rule At.
	Remove
	// Turn is the moment for what acts after all rules, such as the policy. It
	// does nothing to the list.
	Turn
)

// Step is one call. Positions are those of the moment when the step comes.
type Step struct {
	Kind       Kind
	At, Before int
	Rule       Rule
}

// Options say what the list is, and how it is to be changed.
type Options struct {
	// Live says that the list is in force all the time. Otherwise the steps are
	// as few as possible, in any order.
	Live bool
	// Exact also refuses nothing that both lists allow, at more calls.
	Exact bool
	// Turn asks for that step, even in a plan without any other.
	Turn bool
	// Owned tells the rules that may be changed; the others keep their places.
	// Nil owns all.
	Owned func(Rule) bool
}

// Apply returns the list after a step.
func (s Step) Apply(list []Rule) []Rule {
	out := make([]Rule, 0, len(list)+1)
	switch s.Kind {
	case Insert:
		return append(append(out, s.Rule), list...)
	case Replace:
		out = append(out, list...)
		out[s.At] = s.Rule
		return out
	case Move, Remove:
	case Turn:
		return list
	}
	for i, rule := range list {
		if s.Kind == Move && i == s.Before {
			out = append(out, list[s.At])
		}
		if i != s.At {
			out = append(out, rule)
		}
	}
	if s.Kind == Move && s.Before >= len(list) {
		out = append(out, list[s.At])
	}
	return out
}

// Rules returns the steps from the current list to one whose owned rules are
// the wanted ones, in their order.
func Rules(current, wanted []Rule, o Options) []Step {
	p := &planner{options: o, slots: merge(current, wanted, o)}
	p.sort()
	if o.Live {
		p.live()
	} else {
		p.idle()
	}
	return p.steps
}
