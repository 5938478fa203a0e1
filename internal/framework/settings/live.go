package settings

//go:generate go test . -run ^TestGuide$ -update

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// Waits reports whether the change of a setting may wait.
func (s *Setting) Waits(planned, held attr.Value) bool {
	if s.Source == Local || s.Source == Reported || s.Source == Secret || s.Live == AtOnce || s.Live == Unnoticed {
		return false
	}
	return planned != nil && (held == nil || !planned.Equal(held))
}

// Waits reports whether the change of a group may wait.
func (g *Group) Waits(planned, held attr.Value) bool {
	if planned == nil || held != nil && planned.Equal(held) {
		return false
	}
	if g.Slots == nil {
		return g.Device != "" && IsNull(planned) != IsNull(held) || g.objectWaits(planned, held)
	}
	if planned.IsUnknown() {
		return g.Live != AtOnce
	}
	before, after := Entries(held), Entries(planned)
	for _, slot := range slices.Collect(maps.Keys(before)) {
		if _, stays := after[slot]; !stays && g.Live != AtOnce {
			return true
		}
	}
	for slot, element := range after {
		if _, known := before[slot]; !known && g.Live != AtOnce || g.objectWaits(element, before[slot]) {
			return true
		}
	}
	return false
}

func (g *Group) objectWaits(planned, held attr.Value) bool {
	after, before := Fields(planned), Fields(held)
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Waits(after[s.Name], before[s.Name]) {
			return true
		}
	}
	return slices.ContainsFunc(g.Groups, func(sub *Group) bool { return sub.Waits(after[sub.Name], before[sub.Name]) })
}
