package settings

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// Planner decides what a plan holds for the settings of the table.
//
//   - What is configured is planned, in state's spelling where both mean one
//     thing.
//   - What is not configured keeps state's value: it is inherited.
//   - What was applied from the configuration and is no longer configured
//     returns to PVE's default.
//   - What is not in state yet is known after apply.
type Planner struct {
	Applied Applied
	// KeepLocal keeps state's value of local settings even where another is
	// configured: an import alone changes nothing.
	KeepLocal bool
	// Unfinished guests were not seen complete yet: what is null in state may
	// be no more than not known.
	Unfinished bool
}

// group plans a group from its configured value and the one in state; both may
// be nil where what would hold them is absent.
func (p Planner) group(g *Group, at path.Path, config, state attr.Value) attr.Value {
	switch {
	case config != nil && config.IsUnknown():
		return g.unknown()
	case IsNull(config) && g.Optional:
		return g.null()
	case IsNull(config) && g.Device != "" && p.Applied.Has(at):
		return g.null()
	case IsNull(config) && IsNull(state) && (!g.AllLocal() || state != nil):
		return p.unseen(g, state)
	case IsNull(config) && g.Device != "":
		return state
	case g.Slots == nil:
		return p.Object(g, at, config, state)
	case !IsNull(config):
		return p.slots(g, at, config, state)
	case p.anySlotApplied(at):
		return g.unknown()
	}
	return state
}

// unseen plans a group that is in neither configuration nor state: of a guest
// that was seen complete there is none.
func (p Planner) unseen(g *Group, state attr.Value) attr.Value {
	if state == nil || p.Unfinished {
		return g.unknown()
	}
	return state
}

func (p Planner) slots(g *Group, at path.Path, config, state attr.Value) attr.Value {
	elements := map[string]attr.Value{}
	for slot, element := range Entries(config) {
		elements[slot] = p.Object(g, at.AtMapKey(slot), element, Entries(state)[slot])
	}
	return g.Mapping(elements)
}

// Object handles one object of a group.
func (p Planner) Object(g *Group, at path.Path, config, state attr.Value) attr.Value {
	if config != nil && config.IsUnknown() {
		return unknownObject(g)
	}
	given, held := Fields(config), Fields(state)
	planned := make(map[string]attr.Value, len(g.Settings)+len(g.Groups))
	for i := range g.Settings {
		s := &g.Settings[i]
		planned[s.Name] = p.setting(s, at.AtName(s.Name), given[s.Name], held[s.Name])
	}
	for _, sub := range g.Groups {
		planned[sub.Name] = p.group(sub, at.AtName(sub.Name), given[sub.Name], held[sub.Name])
	}
	if g.Arrange != nil {
		g.Arrange(given, planned)
	}
	return g.Object(planned)
}

func (p Planner) setting(s *Setting, at path.Path, config, state attr.Value) attr.Value {
	switch {
	case s.Source == Secret:
		return s.Form.Null()
	case s.Source == Local && p.KeepLocal && IsKnown(state):
		return state
	case !IsNull(config) && config.IsUnknown():
		return config
	case !IsNull(config) && IsKnown(state) && s.Form.Same(state, config):
		return state
	case !IsNull(config):
		return config
	case s.Source == Local && state != nil && state.IsNull():
		return state // An earlier release wrote it, which did not know the setting.
	case s.Source == Local:
		return s.None()
	case p.Applied.Has(at) && !s.Kept:
		return s.None()
	case IsNull(state) && (state == nil || p.Unfinished):
		return s.Form.Unknown()
	}
	return state
}

// anySlotApplied reports whether a slot of the map was applied from the
// configuration.
func (p Planner) anySlotApplied(at path.Path) bool {
	return len(p.Applied.Slots(at)) > 0
}

// Slots lists the applied slots of a map, sorted.
func (a Applied) Slots(at path.Path) []string {
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
