package settings

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// Visitor is given each setting that the configuration names: its path, what is
// planned, and what is in state, nil where what would hold it is not there.
type Visitor func(s *Setting, at path.Path, planned, held attr.Value)

// each visits the configured settings of a group, in order of their names.
func (g *Group) each(at path.Path, config, planned, held attr.Value, visit Visitor) {
	if g.Slots == nil {
		g.EachIn(at, config, planned, held, visit)
		return
	}
	configured := Entries(config)
	for _, slot := range slices.Sorted(maps.Keys(configured)) {
		g.EachIn(at.AtMapKey(slot), configured[slot], Entries(planned)[slot], Entries(held)[slot], visit)
	}
}

// EachIn is each in one object of the group.
func (g *Group) EachIn(at path.Path, config, planned, held attr.Value, visit Visitor) {
	given, wanted, had := Fields(config), Fields(planned), Fields(held)
	for i := range g.Settings {
		if s := &g.Settings[i]; !IsNull(given[s.Name]) {
			visit(s, at.AtName(s.Name), wanted[s.Name], had[s.Name])
		}
	}
	for _, sub := range g.Groups {
		sub.each(at.AtName(sub.Name), given[sub.Name], wanted[sub.Name], had[sub.Name], visit)
	}
}
