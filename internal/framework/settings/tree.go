package settings

import (
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Setting is one attribute: its schema, and where and how PVE keeps it. The
// table of settings drives the schema, the plan, the refresh and the update, so
// that a new setting is one more entry.
type Setting struct {
	Name string
	Doc  string
	Form Form
	// Key is PVE's configuration key; empty inside a map of slots, where the
	// slot tells it.
	Key string
	// Place is where in the key's value the setting is.
	Place place
	// Absent is what holds when PVE's configuration does not say; nil is null.
	Absent attr.Value
	// Imported is what a local setting holds after an import; nil is absent.
	Imported attr.Value
	// Source tells whose the value is.
	Source source
	// Live tells when a change takes effect in a running VM.
	Live Live
	// Kept settings keep their value when they are no longer configured, since
	// PVE has no default for them.
	Kept bool
	// Fixed settings cannot be changed once their device was made.
	Fixed bool
	// Root tells which values, as PVE writes them, PVE takes from root@pam alone,
	// signed in by password; nil is none.
	Root func(value string) bool
	// Since is the first major version of PVE that knows it; 0 is all.
	Since int
	// Buses are those whose disks know it; nil is all.
	Buses []string
}

// Always is for settings of which PVE takes every value from root@pam alone.
func Always(string) bool { return true }

// Live tells when a change takes effect in a running VM.
type Live int

const (
	// AtRestart is when the VM starts anew.
	AtRestart Live = iota
	// AtOnce is at once, whatever the hotplug setting.
	AtOnce
	// Unnoticed is when the VM starts anew, while PVE takes it as done at once:
	// nothing waits there that could be told.
	Unnoticed
	// MostlyAtOnce is at once, unless a device comes or goes.
	MostlyAtOnce
	// HotplugDisk and the others are at once where the VM's hotplug setting names the
	// feature and the guest plays along.
	HotplugDisk
	// HotplugNetwork is like [HotplugDisk], for its own feature.
	HotplugNetwork
	// HotplugUSB is like [HotplugDisk], for its own feature.
	HotplugUSB
	// HotplugCPU is like [HotplugDisk], for its own feature.
	HotplugCPU
	// HotplugMemory is like [HotplugDisk], for its own feature.
	HotplugMemory
)

// source tells where a setting's value comes from.
type source int

const (
	// Configured settings are in PVE's configuration, inherited from the
	// template unless the configuration names them.
	Configured source = iota
	// Required settings are the same, but must be configured.
	Required
	// Structural settings are read like configured ones, but changed by other
	// calls than a configuration write: a disk's size and its storage.
	Structural
	// Local settings are this provider's own; PVE knows nothing of them.
	Local
	// Reported settings are found out at refresh and cannot be configured.
	Reported
	// Secret settings are write-only: no plan and no state holds them, and what
	// PVE has cannot be read.
	Secret
)

// Group is an object of settings or, with slots, a map of such objects.
type Group struct {
	Name string
	Doc  string
	// Slots is set for a map keyed by slot.
	Slots *Slots
	// Device is the configuration key of the one device that the group is, which
	// may be there or not.
	Device string
	// Live tells when a device that comes or goes does so in a running VM.
	Live Live
	// Optional groups are not computed, since a child is write-only: what is
	// not configured is null in state.
	Optional bool
	Settings []Setting
	Groups   []*Group
	// Arrange adapts a planned object whose settings depend on each other.
	Arrange func(config, planned map[string]attr.Value)
}

// Slots describes the keys of a map of devices.
type Slots struct {
	// Accepts validates a slot's name.
	Accepts validator.String
	// Key is the configuration key of a slot.
	Key func(slot string) string
	// Real tells whether a configuration key holds such a device, and its slot.
	Real func(key, value string) (slot string, ok bool)
}

// None is what a setting holds that PVE's configuration does not mention.
func (s *Setting) None() attr.Value {
	if s.Absent != nil {
		return s.Absent
	}
	return s.Form.Null()
}

// keyIn is the configuration key of the setting in a slot, or outside of any
// with "".
func (s *Setting) keyIn(slotKey string) string {
	if s.Key != "" {
		return s.Key
	}
	return slotKey
}

// attribute is the setting's schema.
func (s *Setting) attribute() schema.Attribute {
	return s.Form.Attribute(s.Doc, mode{
		required: s.Source == Required,
		optional: s.Source != Required && s.Source != Reported,
		computed: s.Source != Required && s.Source != Secret,
		secret:   s.Source == Secret,
	})
}

// objectTypes remembers the types of the table's groups, which never change.
var objectTypes sync.Map

// ObjectType is the type of the group's object, or of one slot's.
func (g *Group) ObjectType() types.ObjectType {
	if known, ok := objectTypes.Load(g); ok {
		return known.(types.ObjectType)
	}
	typ := g.buildType()
	objectTypes.Store(g, typ)
	return typ
}

func (g *Group) buildType() types.ObjectType {
	attributes := make(map[string]attr.Type, len(g.Settings)+len(g.Groups))
	for i := range g.Settings {
		attributes[g.Settings[i].Name] = g.Settings[i].Form.Typ()
	}
	for _, sub := range g.Groups {
		attributes[sub.Name] = sub.Typ()
	}
	return types.ObjectType{AttrTypes: attributes}
}

// Typ is the type of the group's attribute.
func (g *Group) Typ() attr.Type {
	if g.Slots != nil {
		return types.MapType{ElemType: g.ObjectType()}
	}
	return g.ObjectType()
}

// Attributes is the schema of the group's content.
func (g *Group) Attributes() map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(g.Settings)+len(g.Groups))
	for i := range g.Settings {
		attributes[g.Settings[i].Name] = g.Settings[i].attribute()
	}
	for _, sub := range g.Groups {
		attributes[sub.Name] = sub.attribute()
	}
	return attributes
}

// attribute is the group's schema.
func (g *Group) attribute() schema.Attribute {
	if g.Slots == nil {
		return schema.SingleNestedAttribute{
			Optional: true, Computed: !g.Optional, MarkdownDescription: g.Doc, Attributes: g.Attributes(),
		}
	}
	return schema.MapNestedAttribute{
		Optional: true, Computed: !g.Optional, MarkdownDescription: g.Doc,
		Validators:   []validator.Map{mapvalidator.KeysAre(g.Slots.Accepts)},
		NestedObject: schema.NestedAttributeObject{Attributes: g.Attributes()},
	}
}

// Effective is the group as a computed attribute without its write-only
// children: what is in force, configured or not.
func (g *Group) Effective(name, doc string) *Group {
	copied := *g
	copied.Name, copied.Doc, copied.Optional = name, doc, false
	copied.Settings = nil
	for _, s := range g.Settings {
		if s.Source == Local || s.Source == Secret {
			continue
		}
		s.Source = Reported
		copied.Settings = append(copied.Settings, s)
	}
	copied.Groups = nil
	for _, sub := range g.Groups {
		copied.Groups = append(copied.Groups, sub.Effective(sub.Name, sub.Doc))
	}
	return &copied
}

// ComputedAttribute is the group's schema where nothing can be configured.
func (g *Group) ComputedAttribute() schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(g.Settings)+len(g.Groups))
	for i := range g.Settings {
		attributes[g.Settings[i].Name] = g.Settings[i].attribute()
	}
	for _, sub := range g.Groups {
		attributes[sub.Name] = sub.ComputedAttribute()
	}
	if g.Slots == nil {
		return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: g.Doc, Attributes: attributes}
	}
	return schema.MapNestedAttribute{
		Computed: true, MarkdownDescription: g.Doc, NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

// Found lists the slots of this kind in a configuration, sorted.
func (s *Slots) Found(values map[string]string) []string {
	var found []string
	for key, value := range values {
		if slot, ok := s.Real(key, value); ok {
			found = append(found, slot)
		}
	}
	slices.Sort(found)
	return found
}

// AllLocal reports whether the group holds nothing but this provider's own
// settings.
func (g *Group) AllLocal() bool {
	return len(g.Groups) == 0 && !slices.ContainsFunc(g.Settings, func(s Setting) bool { return s.Source != Local })
}

// null is the absence of the group.
func (g *Group) null() attr.Value {
	if g.Slots != nil {
		return types.MapNull(g.ObjectType())
	}
	return types.ObjectNull(g.ObjectType().AttrTypes)
}

// unknown is the group known after apply.
func (g *Group) unknown() attr.Value {
	if g.Slots != nil {
		return types.MapUnknown(g.ObjectType())
	}
	return types.ObjectUnknown(g.ObjectType().AttrTypes)
}

// Object builds a known object of the group.
func (g *Group) Object(attributes map[string]attr.Value) attr.Value {
	return types.ObjectValueMust(g.ObjectType().AttrTypes, attributes)
}

// Mapping builds a known map of the group's slots.
func (g *Group) Mapping(elements map[string]attr.Value) attr.Value {
	return types.MapValueMust(g.ObjectType(), elements)
}

// Fields are the attributes of an object, nil for a null or unknown one.
func Fields(value attr.Value) map[string]attr.Value {
	object, ok := value.(types.Object)
	if !ok || object.IsNull() || object.IsUnknown() {
		return nil
	}
	return object.Attributes()
}

// Entries are the elements of a map, nil for a null or unknown one.
func Entries(value attr.Value) map[string]attr.Value {
	mapping, ok := value.(types.Map)
	if !ok || mapping.IsNull() || mapping.IsUnknown() {
		return nil
	}
	return mapping.Elements()
}

// IsNull reports whether there is no value: null, or no holder at all.
func IsNull(value attr.Value) bool {
	return value == nil || value.IsNull()
}

// IsKnown reports whether there is a value that is known and not null.
func IsKnown(value attr.Value) bool {
	return !IsNull(value) && !value.IsUnknown()
}

// Walk visits each setting of the group that a value configures, and each slot.
func (g *Group) Walk(at path.Path, value attr.Value, visit func(path.Path)) {
	if g.Device != "" && !IsNull(value) {
		visit(at)
	}
	if g.Slots != nil {
		for slot, element := range Entries(value) {
			visit(at.AtMapKey(slot))
			g.walkObject(at.AtMapKey(slot), element, visit)
		}
		return
	}
	g.walkObject(at, value, visit)
}

func (g *Group) walkObject(at path.Path, value attr.Value, visit func(path.Path)) {
	attributes := Fields(value)
	for i := range g.Settings {
		if s := &g.Settings[i]; s.Source != Local && !IsNull(attributes[s.Name]) {
			visit(at.AtName(s.Name))
		}
	}
	for _, sub := range g.Groups {
		if content, ok := attributes[sub.Name]; ok {
			sub.Walk(at.AtName(sub.Name), content, visit)
		}
	}
}

// unknownObject is one object of the group known after apply.
func unknownObject(g *Group) attr.Value {
	return types.ObjectUnknown(g.ObjectType().AttrTypes)
}
