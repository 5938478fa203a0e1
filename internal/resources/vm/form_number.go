package vm

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

// integer is a whole number, not below least and, unless that is 0, not above
// most.
type integer struct{ least, most int64 }

func (f integer) attribute(doc string, m mode) schema.Attribute {
	var bounds validator.Int64 = int64validator.AtLeast(f.least)
	if f.most != 0 {
		bounds = int64validator.Between(f.least, f.most)
	}
	return schema.Int64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		Validators: []validator.Int64{bounds},
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

// number is a number with a fraction, not below least and, unless that is 0,
// not above most.
type number struct{ least, most float64 }

func (f number) attribute(doc string, m mode) schema.Attribute {
	var bounds validator.Float64 = float64validator.AtLeast(f.least)
	if f.most != 0 {
		bounds = float64validator.Between(f.least, f.most)
	}
	return schema.Float64Attribute{
		Required: m.required, Optional: m.optional, Computed: m.computed, MarkdownDescription: doc,
		Validators: []validator.Float64{bounds},
	}
}

func (number) typ() attr.Type      { return types.Float64Type }
func (number) null() attr.Value    { return types.Float64Null() }
func (number) unknown() attr.Value { return types.Float64Unknown() }

func (number) parse(text string) (attr.Value, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return types.Float64Value(number), nil
}

func (number) print(value attr.Value) string {
	number, _ := value.(types.Float64)
	return strconv.FormatFloat(number.ValueFloat64(), 'f', -1, 64)
}

// same compares what both mean: a configuration's 0.1 has more digits than one
// that was read from PVE.
func (number) same(a, b attr.Value) bool {
	left, _ := a.(types.Float64)
	right, _ := b.(types.Float64)
	return left.ValueFloat64() == right.ValueFloat64()
}
