package vm

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// planner decides what a plan holds for the settings of the table.
//
//   - What is configured is planned, in state's spelling where both mean one
//     thing.
//   - What is not configured keeps state's value: it is inherited.
//   - What was applied from the configuration and is no longer configured
//     returns to PVE's default.
//   - What is not in state yet is known after apply.
type planner struct {
	applied applied
	// keepLocal keeps state's value of local settings even where another is
	// configured: an import alone changes nothing.
	keepLocal bool
	// unfinished guests were not seen complete yet: what is null in state may
	// be no more than not known.
	unfinished bool
}

// group plans a group from its configured value and the one in state; both may
// be nil where what would hold them is absent.
func (p planner) group(g *group, at path.Path, config, state attr.Value) attr.Value {
	switch {
	case config != nil && config.IsUnknown():
		return g.unknown()
	case isNull(config) && g.optional:
		return g.null()
	case isNull(config) && g.device != "" && p.applied.has(at):
		return g.null()
	case isNull(config) && isNull(state) && !g.allLocal():
		return p.unseen(g, state)
	case isNull(config) && g.device != "":
		return state
	case g.slots == nil:
		return p.object(g, at, config, state)
	case !isNull(config):
		return p.slots(g, at, config, state)
	case p.anySlotApplied(at):
		return g.unknown()
	}
	return state
}

// unseen plans a group that is in neither configuration nor state: of a guest
// that was seen complete there is none.
func (p planner) unseen(g *group, state attr.Value) attr.Value {
	if state == nil || p.unfinished {
		return g.unknown()
	}
	return state
}

func (p planner) slots(g *group, at path.Path, config, state attr.Value) attr.Value {
	elements := map[string]attr.Value{}
	for slot, element := range entries(config) {
		elements[slot] = p.object(g, at.AtMapKey(slot), element, entries(state)[slot])
	}
	return g.mapping(elements)
}

func (p planner) object(g *group, at path.Path, config, state attr.Value) attr.Value {
	if config != nil && config.IsUnknown() {
		return unknownObject(g)
	}
	given, held := fields(config), fields(state)
	planned := make(map[string]attr.Value, len(g.settings)+len(g.groups))
	for i := range g.settings {
		s := &g.settings[i]
		planned[s.name] = p.setting(s, at.AtName(s.name), given[s.name], held[s.name])
	}
	for _, sub := range g.groups {
		planned[sub.name] = p.group(sub, at.AtName(sub.name), given[sub.name], held[sub.name])
	}
	if g.arrange != nil {
		g.arrange(given, planned)
	}
	return g.object(planned)
}

func (p planner) setting(s *setting, at path.Path, config, state attr.Value) attr.Value {
	switch {
	case s.source == secret:
		return s.form.null()
	case s.source == local && p.keepLocal && isKnown(state):
		return state
	case !isNull(config) && config.IsUnknown():
		return config
	case !isNull(config) && isKnown(state) && s.form.same(state, config):
		return state
	case !isNull(config):
		return config
	case s.source == local:
		return s.none()
	case p.applied.has(at) && !s.kept:
		return s.none()
	case isNull(state) && (state == nil || p.unfinished):
		return s.form.unknown()
	}
	return state
}

// anySlotApplied reports whether a slot of the map was applied from the
// configuration.
func (p planner) anySlotApplied(at path.Path) bool {
	return len(p.applied.slots(at)) > 0
}

// slots lists the applied slots of a map, sorted.
func (a applied) slots(at path.Path) []string {
	prefix := at.String() + `["`
	var slots []string
	for each := range a {
		rest, inside := strings.CutPrefix(each, prefix)
		if slot, end := strings.CutSuffix(rest, `"]`); inside && end {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slots
}
