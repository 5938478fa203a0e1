package vm

//go:generate go test . -run ^TestGuide$ -update

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// waiting names the attributes of the table that differ between plan and state
// in what may wait for the guest's next start, sorted.
func waiting(plan, state document) []string {
	var names []string
	for i := range table.settings {
		s := &table.settings[i]
		if s.waits(plan.values[s.name], state.values[s.name]) {
			names = append(names, s.name)
		}
	}
	for _, g := range table.groups {
		if g.waits(plan.values[g.name], state.values[g.name]) {
			names = append(names, g.name)
		}
	}
	slices.Sort(names)
	return names
}

// waits reports whether the change of a setting may wait.
func (s *setting) waits(planned, held attr.Value) bool {
	if s.source == local || s.source == reported || s.source == secret || s.live == atOnce {
		return false
	}
	return planned != nil && (held == nil || !planned.Equal(held))
}

// waits reports whether the change of a group may wait.
func (g *group) waits(planned, held attr.Value) bool {
	if planned == nil || held != nil && planned.Equal(held) {
		return false
	}
	if g.slots == nil {
		return g.device != "" && isNull(planned) != isNull(held) || g.objectWaits(planned, held)
	}
	if planned.IsUnknown() {
		return g.live != atOnce
	}
	before, after := entries(held), entries(planned)
	for _, slot := range slices.Collect(maps.Keys(before)) {
		if _, stays := after[slot]; !stays && g.live != atOnce {
			return true
		}
	}
	for slot, element := range after {
		if _, known := before[slot]; !known && g.live != atOnce || g.objectWaits(element, before[slot]) {
			return true
		}
	}
	return false
}

func (g *group) objectWaits(planned, held attr.Value) bool {
	after, before := fields(planned), fields(held)
	for i := range g.settings {
		s := &g.settings[i]
		if s.waits(after[s.name], before[s.name]) {
			return true
		}
	}
	return slices.ContainsFunc(g.groups, func(sub *group) bool { return sub.waits(after[sub.name], before[sub.name]) })
}

// deviceGroups are the attributes whose devices show in "devices".
func deviceGroups() []string {
	names := []string{cloudInitGroup.name} // Its drive.
	for _, g := range table.groups {
		if g.slots != nil && g != numaGroup || g.device != "" {
			names = append(names, g.name)
		}
	}
	return names
}
