package vm

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// integer is a whole number.
type integer struct{ validators []validator.Int64 }

func (f integer) attribute(doc string, m mode) schema.Attribute {
	return schema.Int64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc, Validators: f.validators,
	}
}

func (integer) typ() attr.Type      { return types.Int64Type }
func (integer) null() attr.Value    { return types.Int64Null() }
func (integer) unknown() attr.Value { return types.Int64Unknown() }

func (integer) parse(text string) (attr.Value, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no whole number", text)
	}
	return types.Int64Value(number), nil
}

func (integer) print(value attr.Value) string {
	number, _ := value.(types.Int64)
	return strconv.FormatInt(number.ValueInt64(), 10)
}

func (integer) same(a, b attr.Value) bool { return a.Equal(b) }

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
	fold       func(string) string
	validators []validator.String
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
	spelling   listSpelling
	validators []validator.Set
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

// tagList is how PVE writes tags: it also accepts commas and blanks, and sorts.
var tagList = listSpelling{
	split: func(text string) ([]string, error) {
		tags := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) })
		slices.Sort(tags)
		return slices.Compact(tags), nil
	},
	join: func(tags []string) string { return strings.Join(tags, ";") },
	fold: strings.ToLower,
}

// blankList is how PVE writes name servers and search domains.
var blankList = listSpelling{
	split: func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) }), nil
	},
	join: func(items []string) string { return strings.Join(items, " ") },
}

// keyList is how PVE writes SSH keys: one a line, percent-encoded as a whole
// inside the form's own encoding.
var keyList = listSpelling{
	split: func(text string) ([]string, error) {
		decoded, err := url.PathUnescape(text)
		if err != nil {
			return nil, fmt.Errorf("SSH keys: %w", err)
		}
		var keys []string
		for line := range strings.Lines(decoded) {
			if key := strings.TrimSpace(line); key != "" {
				keys = append(keys, key)
			}
		}
		return keys, nil
	},
	join: func(keys []string) string {
		lines := make([]string, 0, len(keys))
		for _, key := range keys {
			lines = append(lines, strings.TrimSpace(key))
		}
		// PVE's format allows only unreserved characters and % here, so that a
		// blank must not become "+".
		return strings.ReplaceAll(url.QueryEscape(strings.Join(lines, "\n")), "+", "%20")
	},
	fold: strings.TrimSpace,
}
