package vm

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

// setting is one attribute: its schema, and where and how PVE keeps it. The
// table of settings drives the schema, the plan, the refresh and the update, so
// that a new setting is one more entry.
type setting struct {
	name string
	doc  string
	form form
	// key is PVE's configuration key; empty inside a map of slots, where the
	// slot tells it.
	key string
	// place is where in the key's value the setting is.
	place place
	// absent is what holds when PVE's configuration does not say; nil is null.
	absent attr.Value
	// imported is what a local setting holds after an import; nil is absent.
	imported attr.Value
	// source tells whose the value is.
	source source
	// live tells when a change takes effect in a running VM.
	live live
	// kept settings keep their value when they are no longer configured, since
	// PVE has no default for them.
	kept bool
	// fixed settings cannot be changed once their device was made.
	fixed bool
	// root tells which values, as PVE writes them, PVE takes from root@pam alone,
	// signed in by password; nil is none.
	root func(value string) bool
	// since is the first major version of PVE that knows it; 0 is all.
	since int
	// buses are those whose disks know it; nil is all.
	buses []string
}

// always is for settings of which PVE takes every value from root@pam alone.
func always(string) bool { return true }

// live tells when a change takes effect in a running VM.
type live int

const (
	// atRestart: when the VM starts anew.
	atRestart live = iota
	// atOnce: whatever the hotplug setting.
	atOnce
	// mostlyAtOnce: at once, unless a device comes or goes.
	mostlyAtOnce
	// The others take effect at once where the VM's hotplug setting names the
	// feature and the guest plays along.
	hotplugDisk
	hotplugNetwork
	hotplugUSB
	hotplugCPU
	hotplugMemory
)

// source tells where a setting's value comes from.
type source int

const (
	// configured settings are in PVE's configuration, inherited from the
	// template unless the configuration names them.
	configured source = iota
	// required settings are the same, but must be configured.
	required
	// structural settings are read like configured ones, but changed by other
	// calls than a configuration write: a disk's size and its storage.
	structural
	// local settings are this provider's own; PVE knows nothing of them.
	local
	// reported settings are found out at refresh and cannot be configured.
	reported
	// secret settings are write-only: no plan and no state holds them, and what
	// PVE has cannot be read.
	secret
)

// group is an object of settings or, with slots, a map of such objects.
type group struct {
	name string
	doc  string
	// slots is set for a map keyed by slot.
	slots *slots
	// device is the configuration key of the one device that the group is, which
	// may be there or not.
	device string
	// live tells when a device that comes or goes does so in a running VM.
	live live
	// optional groups are not computed, since a child is write-only: what is
	// not configured is null in state.
	optional bool
	settings []setting
	groups   []*group
	// arrange adapts a planned object whose settings depend on each other.
	arrange func(config, planned map[string]attr.Value)
}

// slots describes the keys of a map of devices.
type slots struct {
	// accepts validates a slot's name.
	accepts validator.String
	// key is the configuration key of a slot.
	key func(slot string) string
	// real tells whether a configuration key holds such a device, and its slot.
	real func(key, value string) (slot string, ok bool)
}

// none is what a setting holds that PVE's configuration does not mention.
func (s *setting) none() attr.Value {
	if s.absent != nil {
		return s.absent
	}
	return s.form.null()
}

// keyIn is the configuration key of the setting in a slot, or outside of any
// with "".
func (s *setting) keyIn(slotKey string) string {
	if s.key != "" {
		return s.key
	}
	return slotKey
}

// attribute is the setting's schema.
func (s *setting) attribute() schema.Attribute {
	return s.form.attribute(s.doc, mode{
		required: s.source == required,
		optional: s.source != required && s.source != reported,
		computed: s.source != required && s.source != secret,
		secret:   s.source == secret,
	})
}

// objectTypes remembers the types of the table's groups, which never change.
var objectTypes sync.Map

// objectType is the type of the group's object, or of one slot's.
func (g *group) objectType() types.ObjectType {
	if known, ok := objectTypes.Load(g); ok {
		return known.(types.ObjectType)
	}
	typ := g.buildType()
	objectTypes.Store(g, typ)
	return typ
}

func (g *group) buildType() types.ObjectType {
	attributes := make(map[string]attr.Type, len(g.settings)+len(g.groups))
	for i := range g.settings {
		attributes[g.settings[i].name] = g.settings[i].form.typ()
	}
	for _, sub := range g.groups {
		attributes[sub.name] = sub.typ()
	}
	return types.ObjectType{AttrTypes: attributes}
}

// typ is the type of the group's attribute.
func (g *group) typ() attr.Type {
	if g.slots != nil {
		return types.MapType{ElemType: g.objectType()}
	}
	return g.objectType()
}

// attributes is the schema of the group's content.
func (g *group) attributes() map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(g.settings)+len(g.groups))
	for i := range g.settings {
		attributes[g.settings[i].name] = g.settings[i].attribute()
	}
	for _, sub := range g.groups {
		attributes[sub.name] = sub.attribute()
	}
	return attributes
}

// attribute is the group's schema.
func (g *group) attribute() schema.Attribute {
	if g.slots == nil {
		return schema.SingleNestedAttribute{
			Optional: true, Computed: !g.optional, MarkdownDescription: g.doc, Attributes: g.attributes(),
		}
	}
	return schema.MapNestedAttribute{
		Optional: true, Computed: !g.optional, MarkdownDescription: g.doc,
		Validators:   []validator.Map{mapvalidator.KeysAre(g.slots.accepts)},
		NestedObject: schema.NestedAttributeObject{Attributes: g.attributes()},
	}
}

// effective is the group as a computed attribute without its write-only
// children: what is in force, configured or not.
func (g *group) effective(name, doc string) *group {
	copied := *g
	copied.name, copied.doc, copied.optional = name, doc, false
	copied.settings = nil
	for _, s := range g.settings {
		if s.source == local || s.source == secret {
			continue
		}
		s.source = reported
		copied.settings = append(copied.settings, s)
	}
	copied.groups = nil
	for _, sub := range g.groups {
		copied.groups = append(copied.groups, sub.effective(sub.name, sub.doc))
	}
	return &copied
}

// computedAttribute is the group's schema where nothing can be configured.
func (g *group) computedAttribute() schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(g.settings)+len(g.groups))
	for i := range g.settings {
		attributes[g.settings[i].name] = g.settings[i].attribute()
	}
	for _, sub := range g.groups {
		attributes[sub.name] = sub.computedAttribute()
	}
	if g.slots == nil {
		return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: g.doc, Attributes: attributes}
	}
	return schema.MapNestedAttribute{
		Computed: true, MarkdownDescription: g.doc, NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

// found lists the slots of this kind in a configuration, sorted.
func (s *slots) found(values map[string]string) []string {
	var found []string
	for key, value := range values {
		if slot, ok := s.real(key, value); ok {
			found = append(found, slot)
		}
	}
	slices.Sort(found)
	return found
}

// allLocal reports whether the group holds nothing but this provider's own
// settings.
func (g *group) allLocal() bool {
	return len(g.groups) == 0 && !slices.ContainsFunc(g.settings, func(s setting) bool { return s.source != local })
}

// null is the absence of the group.
func (g *group) null() attr.Value {
	if g.slots != nil {
		return types.MapNull(g.objectType())
	}
	return types.ObjectNull(g.objectType().AttrTypes)
}

// unknown is the group known after apply.
func (g *group) unknown() attr.Value {
	if g.slots != nil {
		return types.MapUnknown(g.objectType())
	}
	return types.ObjectUnknown(g.objectType().AttrTypes)
}

// object builds a known object of the group.
func (g *group) object(attributes map[string]attr.Value) attr.Value {
	return types.ObjectValueMust(g.objectType().AttrTypes, attributes)
}

// mapping builds a known map of the group's slots.
func (g *group) mapping(elements map[string]attr.Value) attr.Value {
	return types.MapValueMust(g.objectType(), elements)
}

// fields are the attributes of an object, nil for a null or unknown one.
func fields(value attr.Value) map[string]attr.Value {
	object, ok := value.(types.Object)
	if !ok || object.IsNull() || object.IsUnknown() {
		return nil
	}
	return object.Attributes()
}

// entries are the elements of a map, nil for a null or unknown one.
func entries(value attr.Value) map[string]attr.Value {
	mapping, ok := value.(types.Map)
	if !ok || mapping.IsNull() || mapping.IsUnknown() {
		return nil
	}
	return mapping.Elements()
}

// isNull reports whether there is no value: null, or no holder at all.
func isNull(value attr.Value) bool {
	return value == nil || value.IsNull()
}

// isKnown reports whether there is a value that is known and not null.
func isKnown(value attr.Value) bool {
	return !isNull(value) && !value.IsUnknown()
}

// walk visits each setting of the group that a value configures, and each slot.
func (g *group) walk(at path.Path, value attr.Value, visit func(path.Path)) {
	if g.device != "" && !isNull(value) {
		visit(at)
	}
	if g.slots != nil {
		for slot, element := range entries(value) {
			visit(at.AtMapKey(slot))
			g.walkObject(at.AtMapKey(slot), element, visit)
		}
		return
	}
	g.walkObject(at, value, visit)
}

func (g *group) walkObject(at path.Path, value attr.Value, visit func(path.Path)) {
	attributes := fields(value)
	for i := range g.settings {
		if s := &g.settings[i]; s.source != local && !isNull(attributes[s.name]) {
			visit(at.AtName(s.name))
		}
	}
	for _, sub := range g.groups {
		if content, ok := attributes[sub.name]; ok {
			sub.walk(at.AtName(sub.name), content, visit)
		}
	}
}

// unknownObject is one object of the group known after apply.
func unknownObject(g *group) attr.Value {
	return types.ObjectUnknown(g.objectType().AttrTypes)
}
