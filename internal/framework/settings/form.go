package settings

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

// mode is who may give an attribute its value.
type mode struct{ required, optional, computed, secret bool }

// Form is the type of a setting, and how PVE spells its values.
type Form interface {
	Attribute(doc string, m mode) schema.Attribute
	Typ() attr.Type
	Null() attr.Value
	Unknown() attr.Value
	// Parse reads PVE's text. A text that cannot be read is an error.
	Parse(text string) (attr.Value, error)
	// Print writes a known value as PVE's text; "" means that nothing is to be
	// set, so that PVE's configuration says nothing.
	Print(value attr.Value) string
	// Same reports whether two known values mean the same in PVE.
	Same(a, b attr.Value) bool
}

// Boolean is a flag, written 1 and 0 unless PVE uses words.
type Boolean struct{ On, Off string }

// Attribute is the schema of a setting of the form.
func (f Boolean) Attribute(doc string, m mode) schema.Attribute {
	return schema.BoolAttribute{Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc}
}

// Typ is the type of the form's values.
func (Boolean) Typ() attr.Type { return types.BoolType }

// Null is its absent value.
func (Boolean) Null() attr.Value { return types.BoolNull() }

// Unknown is its value that is known after apply.
func (Boolean) Unknown() attr.Value { return types.BoolUnknown() }

// Parse reads PVE's text.
func (f Boolean) Parse(text string) (attr.Value, error) {
	switch text {
	case f.On, "1", "on", "yes", "true":
		return types.BoolValue(true), nil
	case f.Off, "0", "off", "no", "false":
		return types.BoolValue(false), nil
	}
	return nil, fmt.Errorf("%q is neither yes nor no", text)
}

// Print writes PVE's text.
func (f Boolean) Print(value attr.Value) string {
	flag, ok := value.(types.Bool)
	switch {
	case ok && flag.ValueBool() && f.On != "":
		return f.On
	case ok && flag.ValueBool():
		return "1"
	case f.Off != "":
		return f.Off
	}
	return "0"
}

// Same reports whether two values mean one thing.
func (Boolean) Same(a, b attr.Value) bool { return a.Equal(b) }

// Gib is a size in GiB. PVE writes sizes in the largest unit that holds them
// whole (3584M), so that a template's may be a fraction.
type Gib struct{ Validators []validator.Float64 }

// Attribute is the schema of a setting of the form.
func (f Gib) Attribute(doc string, m mode) schema.Attribute {
	return schema.Float64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc, Validators: f.Validators,
	}
}

// Typ is the type of the form's values.
func (Gib) Typ() attr.Type { return types.Float64Type }

// Null is its absent value.
func (Gib) Null() attr.Value { return types.Float64Null() }

// Unknown is its value that is known after apply.
func (Gib) Unknown() attr.Value { return types.Float64Unknown() }

// Parse reads PVE's text.
func (Gib) Parse(text string) (attr.Value, error) {
	size, err := proxmox.ParseSize(text)
	if err != nil {
		return nil, err
	}
	return types.Float64Value(float64(size) / (1 << 30)), nil
}

// Print writes PVE's text.
func (Gib) Print(value attr.Value) string { return BytesOf(value).String() }

// Same reports whether two values mean one thing.
func (Gib) Same(a, b attr.Value) bool { return BytesOf(a) == BytesOf(b) }

// BytesOf is the size that a value in GiB means.
func BytesOf(value attr.Value) proxmox.Size {
	number, _ := value.(types.Float64)
	return proxmox.Size(number.ValueFloat64() * (1 << 30))
}

// Text is a string.
type Text struct {
	// Fold brings a text into the form in which two are compared; nil when they
	// are compared as they are.
	Fold func(string) string
	// Words are the only texts there are; nil when any is fine.
	Words      []string
	Validators []validator.String
}

// Choice is one of some words.
func Choice(words ...string) Text {
	return Text{Words: words, Validators: []validator.String{stringvalidator.OneOf(words...)}}
}

// Attribute is the schema of a setting of the form.
func (f Text) Attribute(doc string, m mode) schema.Attribute {
	return schema.StringAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, WriteOnly: m.secret, Sensitive: m.secret,
		MarkdownDescription: doc, Validators: f.Validators,
	}
}

// Typ is the type of the form's values.
func (Text) Typ() attr.Type { return types.StringType }

// Null is its absent value.
func (Text) Null() attr.Value { return types.StringNull() }

// Unknown is its value that is known after apply.
func (Text) Unknown() attr.Value { return types.StringUnknown() }

// Parse reads PVE's text.
func (Text) Parse(text string) (attr.Value, error) { return types.StringValue(text), nil }

// Print writes PVE's text.
func (Text) Print(value attr.Value) string { return TextOf(value) }

// Same reports whether two values mean one thing.
func (f Text) Same(a, b attr.Value) bool {
	left, right := TextOf(a), TextOf(b)
	if f.Fold != nil {
		left, right = f.Fold(left), f.Fold(right)
	}
	return left == right
}

// TextOf is a string value's text, "" for none.
func TextOf(value attr.Value) string {
	text, _ := value.(types.String)
	return text.ValueString()
}

// TextList is an ordered list of strings.
type TextList struct {
	Spelling   ListSpelling
	Validators []validator.List
}

// TextSet is a set of strings.
type TextSet struct {
	Spelling ListSpelling
	// Words are the only items there are; nil when any is fine.
	Words      []string
	Validators []validator.Set
}

// TextSetOf is a set of these texts.
func TextSetOf(items ...string) attr.Value {
	return types.SetValueMust(types.StringType, Texts(items))
}

// ListSpelling is how PVE writes several texts as one.
type ListSpelling struct {
	Split func(text string) ([]string, error)
	Join  func(items []string) string
	// Fold brings an item into the form in which two are compared; nil when
	// they are compared as they are.
	Fold func(item string) string
}

// Attribute is the schema of a setting of the form.
func (f TextList) Attribute(doc string, m mode) schema.Attribute {
	return schema.ListAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		ElementType: types.StringType, Validators: f.Validators,
	}
}

// Typ is the type of the form's values.
func (TextList) Typ() attr.Type { return types.ListType{ElemType: types.StringType} }

// Null is its absent value.
func (TextList) Null() attr.Value { return types.ListNull(types.StringType) }

// Unknown is its value that is known after apply.
func (TextList) Unknown() attr.Value { return types.ListUnknown(types.StringType) }

// Parse reads PVE's text.
func (f TextList) Parse(text string) (attr.Value, error) {
	items, err := f.Spelling.Split(text)
	if err != nil {
		return nil, err
	}
	return types.ListValueMust(types.StringType, Texts(items)), nil
}

// Print writes PVE's text.
func (f TextList) Print(value attr.Value) string { return f.Spelling.Join(ItemsOf(value)) }

// Same reports whether two values mean one thing.
func (f TextList) Same(a, b attr.Value) bool {
	return slices.Equal(f.Spelling.folded(a), f.Spelling.folded(b))
}

// Attribute is the schema of a setting of the form.
func (f TextSet) Attribute(doc string, m mode) schema.Attribute {
	if f.Words != nil {
		f.Validators = append(f.Validators, setvalidator.ValueStringsAre(stringvalidator.OneOf(f.Words...)))
	}
	return schema.SetAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		ElementType: types.StringType, Validators: f.Validators,
	}
}

// Typ is the type of the form's values.
func (TextSet) Typ() attr.Type { return types.SetType{ElemType: types.StringType} }

// Null is its absent value.
func (TextSet) Null() attr.Value { return types.SetNull(types.StringType) }

// Unknown is its value that is known after apply.
func (TextSet) Unknown() attr.Value { return types.SetUnknown(types.StringType) }

// Parse reads PVE's text.
func (f TextSet) Parse(text string) (attr.Value, error) {
	items, err := f.Spelling.Split(text)
	if err != nil {
		return nil, err
	}
	return types.SetValueMust(types.StringType, Texts(items)), nil
}

// Print writes PVE's text.
func (f TextSet) Print(value attr.Value) string { return f.Spelling.Join(ItemsOf(value)) }

// Same reports whether two values mean one thing.
func (f TextSet) Same(a, b attr.Value) bool {
	left, right := f.Spelling.folded(a), f.Spelling.folded(b)
	slices.Sort(left)
	slices.Sort(right)
	return slices.Equal(slices.Compact(left), slices.Compact(right))
}

func (s ListSpelling) folded(value attr.Value) []string {
	items := ItemsOf(value)
	if s.Fold == nil {
		return items
	}
	for i := range items {
		items[i] = s.Fold(items[i])
	}
	return items
}

// ItemsOf are the texts of a list or a set, sorted for a set.
func ItemsOf(value attr.Value) []string {
	var items []string
	switch collection := value.(type) {
	case types.List:
		for _, item := range collection.Elements() {
			items = append(items, TextOf(item))
		}
	case types.Set:
		for _, item := range collection.Elements() {
			items = append(items, TextOf(item))
		}
		slices.Sort(items)
	}
	return items
}

// Texts are strings as values.
func Texts(items []string) []attr.Value {
	values := make([]attr.Value, 0, len(items))
	for _, item := range items {
		values = append(values, types.StringValue(item))
	}
	return values
}
