package settings

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Spare is what of a group's value needs saying in a configuration: neither what
// holds where PVE's configuration says nothing, nor this provider's own defaults,
// nor objects of which nothing is left.
func (g *Group) Spare(ctx context.Context, value attr.Value) attr.Value {
	if !IsKnown(value) {
		return value
	}
	if g.Slots == nil {
		return g.spareObject(ctx, value, g.Device != "" || g.Optional)
	}
	elements := map[string]attr.Value{}
	for slot, element := range Entries(value) {
		elements[slot] = g.spareObject(ctx, element, true)
	}
	if len(elements) == 0 && !g.Optional {
		return g.null()
	}
	return g.Mapping(elements)
}

// spareObject spares one object. One that is kept says something by being there.
func (g *Group) spareObject(ctx context.Context, value attr.Value, kept bool) attr.Value {
	object, ok := value.(types.Object)
	if !ok || !IsKnown(value) {
		return value
	}
	fields := maps.Clone(object.Attributes())
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Source != Required && s.isDefault(fields[s.Name]) {
			fields[s.Name] = s.Form.Null()
		}
		kept = kept || !IsNull(fields[s.Name])
	}
	for _, sub := range g.Groups {
		fields[sub.Name] = sub.Spare(ctx, fields[sub.Name])
		kept = kept || !IsNull(fields[sub.Name])
	}
	if !kept {
		return g.null()
	}
	return types.ObjectValueMust(object.AttributeTypes(ctx), fields)
}

// isDefault reports whether a value is what holds where none is configured.
func (s *Setting) isDefault(value attr.Value) bool {
	if !IsKnown(value) {
		return false
	}
	imported := s.Source == Local && s.Imported != nil && s.Form.Same(value, s.Imported)
	return imported || !IsNull(s.Absent) && s.Form.Same(value, s.Absent)
}
