package settings

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Integer is a whole number, not below least and, unless that is 0, not above
// most.
type Integer struct{ Least, Most int64 }

// Attribute is the schema of a setting of the form.
func (f Integer) Attribute(doc string, m mode) schema.Attribute {
	var bounds validator.Int64 = int64validator.AtLeast(f.Least)
	if f.Most != 0 {
		bounds = int64validator.Between(f.Least, f.Most)
	}
	return schema.Int64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		Validators: []validator.Int64{bounds},
	}
}

// Typ is the type of the form's values.
func (Integer) Typ() attr.Type { return types.Int64Type }

// Null is its absent value.
func (Integer) Null() attr.Value { return types.Int64Null() }

// Unknown is its value that is known after apply.
func (Integer) Unknown() attr.Value { return types.Int64Unknown() }

// Parse reads PVE's text.
func (Integer) Parse(text string) (attr.Value, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no whole number", text)
	}
	return types.Int64Value(number), nil
}

// Print writes PVE's text.
func (Integer) Print(value attr.Value) string {
	number, _ := value.(types.Int64)
	return strconv.FormatInt(number.ValueInt64(), 10)
}

// Same reports whether two values mean one thing.
func (Integer) Same(a, b attr.Value) bool { return a.Equal(b) }

// Number is a number with a fraction, not below least and, unless that is 0,
// not above most.
type Number struct{ Least, Most float64 }

// Attribute is the schema of a setting of the form.
func (f Number) Attribute(doc string, m mode) schema.Attribute {
	var bounds validator.Float64 = float64validator.AtLeast(f.Least)
	if f.Most != 0 {
		bounds = float64validator.Between(f.Least, f.Most)
	}
	return schema.Float64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		Validators: []validator.Float64{bounds},
	}
}

// Typ is the type of the form's values.
func (Number) Typ() attr.Type { return types.Float64Type }

// Null is its absent value.
func (Number) Null() attr.Value { return types.Float64Null() }

// Unknown is its value that is known after apply.
func (Number) Unknown() attr.Value { return types.Float64Unknown() }

// Parse reads PVE's text.
func (Number) Parse(text string) (attr.Value, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return types.Float64Value(number), nil
}

// Print writes PVE's text.
func (Number) Print(value attr.Value) string {
	number, _ := value.(types.Float64)
	return strconv.FormatFloat(number.ValueFloat64(), 'f', -1, 64)
}

// Same compares what both mean: a configuration's 0.1 has more digits than one
// that was read from PVE.
func (Number) Same(a, b attr.Value) bool {
	left, _ := a.(types.Float64)
	right, _ := b.(types.Float64)
	return left.ValueFloat64() == right.ValueFloat64()
}
