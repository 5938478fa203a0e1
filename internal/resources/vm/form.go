package vm

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

// form is the type of a setting, and how PVE spells its values.
type form interface {
	attribute(doc string, m mode) schema.Attribute
	typ() attr.Type
	null() attr.Value
	unknown() attr.Value
	// parse reads PVE's text. A text that cannot be read is an error.
	parse(text string) (attr.Value, error)
	// print writes a known value as PVE's text; "" means that nothing is to be
	// set, so that PVE's configuration says nothing.
	print(value attr.Value) string
	// same reports whether two known values mean the same in PVE.
	same(a, b attr.Value) bool
}

// boolean is a flag, written 1 and 0 unless PVE uses words.
type boolean struct{ on, off string }

func (f boolean) attribute(doc string, m mode) schema.Attribute {
	return schema.BoolAttribute{Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc}
}

func (boolean) typ() attr.Type      { return types.BoolType }
func (boolean) null() attr.Value    { return types.BoolNull() }
func (boolean) unknown() attr.Value { return types.BoolUnknown() }

func (f boolean) parse(text string) (attr.Value, error) {
	switch text {
	case f.on, "1", "on", "yes", "true":
		return types.BoolValue(true), nil
	case f.off, "0", "off", "no", "false":
		return types.BoolValue(false), nil
	}
	return nil, fmt.Errorf("%q is neither yes nor no", text)
}

func (f boolean) print(value attr.Value) string {
	flag, ok := value.(types.Bool)
	switch {
	case ok && flag.ValueBool() && f.on != "":
		return f.on
	case ok && flag.ValueBool():
		return "1"
	case f.off != "":
		return f.off
	}
	return "0"
}

func (boolean) same(a, b attr.Value) bool { return a.Equal(b) }

// gib is a size in GiB. PVE writes sizes in the largest unit that holds them
// whole (3584M), so that a template's may be a fraction.
type gib struct{ validators []validator.Float64 }

func (f gib) attribute(doc string, m mode) schema.Attribute {
	return schema.Float64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc, Validators: f.validators,
	}
}

func (gib) typ() attr.Type      { return types.Float64Type }
func (gib) null() attr.Value    { return types.Float64Null() }
func (gib) unknown() attr.Value { return types.Float64Unknown() }

func (gib) parse(text string) (attr.Value, error) {
	size, err := proxmox.ParseSize(text)
	if err != nil {
		return nil, err
	}
	return types.Float64Value(float64(size) / (1 << 30)), nil
}

func (gib) print(value attr.Value) string { return bytesOf(value).String() }

func (gib) same(a, b attr.Value) bool { return bytesOf(a) == bytesOf(b) }

// bytesOf is the size that a value in GiB means.
func bytesOf(value attr.Value) proxmox.Size {
	number, _ := value.(types.Float64)
	return proxmox.Size(number.ValueFloat64() * (1 << 30))
}

// text is a string.
type text struct {
	// fold brings a text into the form in which two are compared; nil when they
	// are compared as they are.
	fold func(string) string
	// words are the only texts there are; nil when any is fine.
	words      []string
	validators []validator.String
}

// choice is one of some words.
func choice(words ...string) text {
	return text{words: words, validators: []validator.String{stringvalidator.OneOf(words...)}}
}

func (f text) attribute(doc string, m mode) schema.Attribute {
	return schema.StringAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, WriteOnly: m.secret, Sensitive: m.secret,
		MarkdownDescription: doc, Validators: f.validators,
	}
}

func (text) typ() attr.Type      { return types.StringType }
func (text) null() attr.Value    { return types.StringNull() }
func (text) unknown() attr.Value { return types.StringUnknown() }

func (text) parse(text string) (attr.Value, error) { return types.StringValue(text), nil }

func (text) print(value attr.Value) string { return textOf(value) }

func (f text) same(a, b attr.Value) bool {
	left, right := textOf(a), textOf(b)
	if f.fold != nil {
		left, right = f.fold(left), f.fold(right)
	}
	return left == right
}

// textOf is a string value's text, "" for none.
func textOf(value attr.Value) string {
	text, _ := value.(types.String)
	return text.ValueString()
}

// textList is an ordered list of strings.
type textList struct {
	spelling   listSpelling
	validators []validator.List
}

// textSet is a set of strings.
type textSet struct {
	spelling listSpelling
	// words are the only items there are; nil when any is fine.
	words      []string
	validators []validator.Set
}

// textSetOf is a set of these texts.
func textSetOf(items ...string) attr.Value {
	return types.SetValueMust(types.StringType, texts(items))
}

// listSpelling is how PVE writes several texts as one.
type listSpelling struct {
	split func(text string) ([]string, error)
	join  func(items []string) string
	// fold brings an item into the form in which two are compared; nil when
	// they are compared as they are.
	fold func(item string) string
}

func (f textList) attribute(doc string, m mode) schema.Attribute {
	return schema.ListAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		ElementType: types.StringType, Validators: f.validators,
	}
}

func (textList) typ() attr.Type      { return types.ListType{ElemType: types.StringType} }
func (textList) null() attr.Value    { return types.ListNull(types.StringType) }
func (textList) unknown() attr.Value { return types.ListUnknown(types.StringType) }

func (f textList) parse(text string) (attr.Value, error) {
	items, err := f.spelling.split(text)
	if err != nil {
		return nil, err
	}
	return types.ListValueMust(types.StringType, texts(items)), nil
}

func (f textList) print(value attr.Value) string { return f.spelling.join(itemsOf(value)) }

func (f textList) same(a, b attr.Value) bool {
	return slices.Equal(f.spelling.folded(a), f.spelling.folded(b))
}

func (f textSet) attribute(doc string, m mode) schema.Attribute {
	if f.words != nil {
		f.validators = append(f.validators, setvalidator.ValueStringsAre(stringvalidator.OneOf(f.words...)))
	}
	return schema.SetAttribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		ElementType: types.StringType, Validators: f.validators,
	}
}

func (textSet) typ() attr.Type      { return types.SetType{ElemType: types.StringType} }
func (textSet) null() attr.Value    { return types.SetNull(types.StringType) }
func (textSet) unknown() attr.Value { return types.SetUnknown(types.StringType) }

func (f textSet) parse(text string) (attr.Value, error) {
	items, err := f.spelling.split(text)
	if err != nil {
		return nil, err
	}
	return types.SetValueMust(types.StringType, texts(items)), nil
}

func (f textSet) print(value attr.Value) string { return f.spelling.join(itemsOf(value)) }

func (f textSet) same(a, b attr.Value) bool {
	left, right := f.spelling.folded(a), f.spelling.folded(b)
	slices.Sort(left)
	slices.Sort(right)
	return slices.Equal(slices.Compact(left), slices.Compact(right))
}

func (s listSpelling) folded(value attr.Value) []string {
	items := itemsOf(value)
	if s.fold == nil {
		return items
	}
	for i := range items {
		items[i] = s.fold(items[i])
	}
	return items
}

// itemsOf are the texts of a list or a set, sorted for a set.
func itemsOf(value attr.Value) []string {
	var items []string
	switch collection := value.(type) {
	case types.List:
		for _, item := range collection.Elements() {
			items = append(items, textOf(item))
		}
	case types.Set:
		for _, item := range collection.Elements() {
			items = append(items, textOf(item))
		}
		slices.Sort(items)
	}
	return items
}

func texts(items []string) []attr.Value {
	values := make([]attr.Value, 0, len(items))
	for _, item := range items {
		values = append(values, types.StringValue(item))
	}
	return values
}
