package plan

// slot is a position in the list that holds the old and the new rules. One that
// is nil is not there, before or after.
type slot struct {
	old, now, want *Rule
}

// The costs of an alignment, in calls times a scale; what is left of the scale
// prefers pairs of rules that are alike.
const (
	scale      = 32
	costChange = scale
	costRemove = scale
	costAdd    = 3 * scale
	// costTop is of a rule before all that are there, which needs no move.
	costTop = scale + 1
	// costHard is a little below what adding and removing cost.
	costHard = costAdd + costRemove - 1
	// never is more than any alignment costs.
	never = 1 << 30
)

// merge aligns the wanted rules with the current ones at the least cost. New
// rules go right behind the owned rule that they follow.
func merge(current, wanted []Rule, o Options) []*slot {
	var owned []int
	for i := range current {
		if o.Owned == nil || o.Owned(current[i]) {
			owned = append(owned, i)
		}
	}
	partner := align(current, owned, wanted, o)

	var slots []*slot
	next := 0
	keepUntil := func(end int) {
		for ; next < end; next++ {
			slots = append(slots, currentSlot(current, next, o))
		}
	}
	for j := range wanted {
		i := partner[j]
		if i < 0 && j == 0 && o.Owned != nil {
			keepUntil(beginning(partner, owned))
		}
		if i < 0 {
			slots = append(slots, &slot{want: &wanted[j]})
			continue
		}
		keepUntil(i)
		slots = append(slots, pair(&current[i], &wanted[j], o)...)
		next = i + 1
	}
	keepUntil(len(current))
	return slots
}

// beginning is where the owned rules among others begin: at the first that
// stays, at the first that goes, or else at the top.
func beginning(partner, owned []int) int {
	for _, i := range partner {
		if i >= 0 {
			return i
		}
	}
	if len(owned) > 0 {
		return owned[0]
	}
	return 0
}

func currentSlot(current []Rule, i int, o Options) *slot {
	s := &slot{old: &current[i], now: &current[i]}
	if o.Owned != nil && !o.Owned(current[i]) {
		s.want = s.old
	}
	return s
}

// pair is the slot of a rule that stays or is changed in place, or, where the
// change is neither more nor less, the slots of the new and of the old rule.
func pair(old, want *Rule, o Options) []*slot {
	if o.Live && change(*old, *want, o) == hard {
		return []*slot{{want: want}, {old: old, now: old}}
	}
	return []*slot{{old: old, now: old, want: want}}
}

// align finds for each wanted rule the current one that it comes from, or -1.
func align(current []Rule, owned []int, wanted []Rule, o Options) []int {
	n, m := len(owned), len(wanted)
	cost := make([][]int, n+1)
	for i := range cost {
		cost[i] = make([]int, m+1)
	}
	pairs := newPairing(current, owned, wanted, o)
	add := func(i int) int {
		if i == 0 && !o.Live {
			return costTop
		}
		return costAdd
	}
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			switch {
			case i == n && j == m:
			case i == n:
				cost[i][j] = cost[i][j+1] + add(i)
			case j == m:
				cost[i][j] = cost[i+1][j] + costRemove
			default:
				cost[i][j] = min(cost[i+1][j+1]+pairs.cost(i, j), cost[i+1][j]+costRemove, cost[i][j+1]+add(i))
			}
		}
	}
	partner := make([]int, m)
	i, j := 0, 0
	for j < m {
		switch {
		case i < n && cost[i][j] == cost[i+1][j+1]+pairs.cost(i, j):
			partner[j] = owned[i]
			i, j = i+1, j+1
		case i < n && cost[i][j] == cost[i+1][j]+costRemove:
			i++
		default:
			partner[j] = -1
			j++
		}
	}
	return partner
}

// pairing knows what it costs to make a wanted rule of a current one.
type pairing struct {
	current, wanted []Rule
	owned           []int
	options         Options
	// surplus is how many more of a rule there are than are wanted.
	surplus map[Rule]int
}

func newPairing(current []Rule, owned []int, wanted []Rule, o Options) *pairing {
	p := &pairing{current: current, wanted: wanted, owned: owned, options: o, surplus: map[Rule]int{}}
	for _, i := range owned {
		p.surplus[current[i]]++
	}
	for _, rule := range wanted {
		p.surplus[rule]--
	}
	return p
}

func (p *pairing) cost(i, j int) int {
	old, want := p.current[p.owned[i]], p.wanted[j]
	switch {
	case old == want:
		return 0
	case p.surplus[old] <= 0 || p.surplus[want] >= 0:
		// One of them is elsewhere in the other list: it moves.
		return never
	case p.options.Live && change(old, want, p.options) == hard:
		return costHard
	default:
		return costChange + differences(old, want)
	}
}

// differences counts the fields that differ.
func differences(a, b Rule) int {
	n := 0
	for _, same := range []bool{
		a.Type == b.Type, a.Action == b.Action, a.Enabled == b.Enabled, a.Macro == b.Macro, a.Protocol == b.Protocol,
		a.SourcePort == b.SourcePort, a.DestinationPort == b.DestinationPort, a.ICMPType == b.ICMPType, a.Source == b.Source,
		a.Destination == b.Destination, a.Interface == b.Interface, a.LogLevel == b.LogLevel, a.Comment == b.Comment,
	} {
		if !same {
			n++
		}
	}
	return n
}
