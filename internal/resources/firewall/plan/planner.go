package plan

import "slices"

// planner finds the steps. The phases hold the places of slots whose change is
// due in them, in the order of the list.
type planner struct {
	options Options
	slots   []*slot
	steps   []Step

	first, adds, removes, last []task
}

// task is the change of a slot; from is where a rule comes from that moves.
type task struct {
	slot, from *slot
}

// sort gives each change its phase.
func (p *planner) sort() {
	moved := p.moves()
	for _, s := range p.slots {
		switch {
		case moved[s]:
		case s.old == nil:
			p.adds = append(p.adds, task{slot: s})
		case s.want == nil:
			p.removes = append(p.removes, task{slot: s})
		case *s.old != *s.want:
			p.file(task{slot: s}, change(*s.old, *s.want, p.options))
		}
	}
	byPlace := func(a, b task) int { return slices.Index(p.slots, a.slot) - slices.Index(p.slots, b.slot) }
	slices.SortStableFunc(p.adds, byPlace)
	slices.SortStableFunc(p.removes, byPlace)
}

func (p *planner) file(t task, e effect) {
	switch e {
	case neutral, tighter:
		p.first = append(p.first, t)
	case arrives:
		p.adds = append(p.adds, t)
	case leaves:
		p.removes = append(p.removes, t)
	case looser:
		p.last = append(p.last, t)
	case hard:
		// Only where the list is not in force: pair has split all others.
		p.first = append(p.first, t)
	}
}

// moves pairs rules that go with equal ones that come, where one call can take
// them over. It returns the slots that need nothing else.
func (p *planner) moves() map[*slot]bool {
	done := map[*slot]bool{}
	for to, arriving := range p.slots {
		if arriving.old != nil || arriving.want == nil {
			continue
		}
		for from, leaving := range p.slots {
			if done[leaving] || leaving.old == nil || leaving.want != nil || *leaving.old != *arriving.want {
				continue
			}
			e := shift(*arriving.want, from < to, p.options)
			if e == hard && p.options.Live {
				continue
			}
			p.file(task{slot: arriving, from: leaving}, e)
			done[arriving], done[leaving] = true, true
			break
		}
	}
	return done
}

// live orders the steps for a list that is in force.
func (p *planner) live() {
	final := p.atOnce()
	for _, t := range p.first {
		p.do(t)
	}
	p.addOnTop()
	for _, t := range p.adds {
		p.do(t)
	}
	if p.options.Turn {
		p.steps = append(p.steps, Step{Kind: Turn})
	}
	if final.slot != nil {
		p.do(final)
	}
	for _, t := range slices.Backward(p.removes) {
		p.do(t)
	}
	for _, t := range p.last {
		p.do(t)
	}
}

// atOnce takes out the last rule that comes and the last that goes, where one
// call does both: in place of each other, or as a move. Nothing is to happen
// between the two, so it needs that the policy stays.
func (p *planner) atOnce() task {
	if p.options.Turn || len(p.adds) == 0 || len(p.removes) == 0 {
		return task{}
	}
	comes, goes := p.adds[len(p.adds)-1].slot, p.removes[len(p.removes)-1].slot
	if comes.old != nil || goes.want != nil {
		return task{}
	}
	if *comes.want != *goes.old && !p.adjacent(comes, goes) {
		return task{}
	}
	p.adds, p.removes = p.adds[:len(p.adds)-1], p.removes[:len(p.removes)-1]
	return task{slot: comes, from: goes}
}

// adjacent reports whether no rule that is there when both change lies between
// two slots.
func (p *planner) adjacent(a, b *slot) bool {
	i, j := slices.Index(p.slots, a), slices.Index(p.slots, b)
	for _, s := range p.slots[min(i, j)+1 : max(i, j)] {
		if s.now != nil || s.want != nil {
			return false
		}
	}
	return true
}

// idle makes the fewest steps for a list that is not in force: new rules come
// last and backwards, since each is the first for a moment.
func (p *planner) idle() {
	for _, t := range slices.Concat(p.first, p.last) {
		p.do(t)
	}
	for _, t := range slices.Backward(p.removes) {
		p.do(t)
	}
	for _, t := range slices.Backward(p.adds) {
		p.do(t)
	}
	if p.options.Turn {
		p.steps = append(p.steps, Step{Kind: Turn})
	}
}

// do makes the steps of one change.
func (p *planner) do(t task) {
	s := t.slot
	switch {
	case t.from != nil:
		p.carry(t.from, s)
	case s.now == nil:
		p.add(s)
	case s.want == nil:
		p.steps = append(p.steps, Step{Kind: Remove, At: p.place(s)})
	default:
		p.steps = append(p.steps, Step{Kind: Replace, At: p.place(s), Rule: *s.want})
	}
	s.now = s.want
}

// carry moves a rule to another slot, or replaces it where it is.
func (p *planner) carry(from, to *slot) {
	at, target := p.place(from), p.place(to)
	from.now = nil
	if *from.old != *to.want {
		p.steps = append(p.steps, Step{Kind: Replace, At: at, Rule: *to.want})
		return
	}
	// Before the rule that is there now, itself counted.
	if target != at && target != at+1 {
		p.steps = append(p.steps, Step{Kind: Move, At: at, Before: target})
	}
}

// addOnTop makes the rules that come before all that are there, which needs no
// move: the last of them first. One that decides as all new rules before it do is
// in force at once: until those are there it meets packets of theirs, with the
// same end. The others wait, and are turned on from the first to the last as any
// new rule is.
func (p *planner) addOnTop() {
	var top []*slot
	for _, s := range p.slots {
		if s.now != nil {
			break
		}
		if slices.Contains(p.adds, task{slot: s}) {
			top = append(top, s)
		}
	}
	if len(top) < 2 {
		return
	}
	var waiting []task
	for i, s := range slices.Backward(top) {
		rule := *s.want
		if conflicts(rule, top[:i], p.options) {
			rule.Enabled = false
			waiting = append(waiting, task{slot: s})
		}
		p.steps = append(p.steps, Step{Kind: Insert, Rule: rule})
		s.now = &rule
	}
	slices.Reverse(waiting)
	p.adds = slices.Concat(waiting, slices.DeleteFunc(p.adds, func(t task) bool { return slices.Contains(top, t.slot) }))
}

// conflicts reports whether a new rule may decide what one before it decides
// otherwise.
func conflicts(rule Rule, before []*slot, o Options) bool {
	return rule.Enabled && slices.ContainsFunc(before, func(s *slot) bool {
		first := *s.want
		switch {
		case !first.Enabled:
			return false
		case rule.Type == typeGroup || first.Type == typeGroup:
			return true // What a group decides is not known here.
		case first.Type != rule.Type:
			return false
		case rule.Action == accept:
			return first.Action != accept
		}
		return o.Exact && first.Action == accept
	})
}

// add makes a rule. It is first to begin with, and so it does nothing until it
// is in its place.
func (p *planner) add(s *slot) {
	target, rule := p.place(s), *s.want
	waits := p.options.Live && rule.Enabled && target > 0
	rule.Enabled = rule.Enabled && !waits
	p.steps = append(p.steps, Step{Kind: Insert, Rule: rule})
	if target > 0 {
		p.steps = append(p.steps, Step{Kind: Move, Before: target + 1})
	}
	if waits {
		p.steps = append(p.steps, Step{Kind: Replace, At: target, Rule: *s.want})
	}
}

// place is the position of a slot among the rules that are there.
func (p *planner) place(s *slot) int {
	n := 0
	for _, other := range p.slots {
		if other == s {
			return n
		}
		if other.now != nil {
			n++
		}
	}
	return n
}
