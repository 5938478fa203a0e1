package vm

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// document is a whole resource: its configuration, plan or state.
type document struct {
	types map[string]attr.Type
	// values is nil for a resource that does not exist.
	values map[string]attr.Value
}

// source of a document: a request's configuration, plan or state.
type documentReader interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

// documentWriter takes a document: a response's plan or state.
type documentWriter interface {
	Set(ctx context.Context, value any) diag.Diagnostics
}

func load(ctx context.Context, from documentReader, diags *diag.Diagnostics) document {
	var object types.Object
	diags.Append(from.Get(ctx, &object)...)
	d := document{types: object.AttributeTypes(ctx)}
	if !object.IsNull() && !object.IsUnknown() {
		d.values = object.Attributes()
	}
	return d
}

func (d document) save(ctx context.Context, to documentWriter, diags *diag.Diagnostics) {
	object, problems := types.ObjectValue(d.types, d.values)
	diags.Append(problems...)
	if problems.HasError() {
		return
	}
	diags.Append(to.Set(ctx, object)...)
}

// exists reports whether there is a resource at all.
func (d document) exists() bool { return d.values != nil }

// object is the document as an object, for the table's functions.
func (d document) object() attr.Value {
	if !d.exists() {
		return types.ObjectNull(d.types)
	}
	return types.ObjectValueMust(d.types, d.values)
}

// clone is a document whose values can be changed.
func (d document) clone() document {
	return document{types: d.types, values: maps.Clone(d.values)}
}

// equal reports whether both documents hold the same values.
func (d document) equal(other document) bool {
	return maps.EqualFunc(d.values, other.values, func(a, b attr.Value) bool { return a.Equal(b) })
}

// put takes over an object's attributes.
func (d document) put(value attr.Value) { maps.Copy(d.values, fields(value)) }

// text is a string attribute's text; "" when it is null or unknown.
func (d document) text(name string) string { return textOf(d.values[name]) }

// integer is a number attribute's value; 0 when it is null or unknown.
func (d document) integer(name string) int {
	number, _ := d.values[name].(types.Int64)
	return int(number.ValueInt64())
}

// flag is a boolean attribute's value; false when it is null or unknown.
func (d document) flag(name string) bool {
	flag, _ := d.values[name].(types.Bool)
	return flag.ValueBool()
}

// list are the texts of a set or list attribute.
func (d document) list(name string) []string { return itemsOf(d.values[name]) }

// timeouts is the attribute of that name.
func (d document) timeouts() timeouts.Value {
	value, _ := d.values["timeouts"].(timeouts.Value)
	return value
}

// setUnknown makes attributes known after apply.
func (d document) setUnknown(names ...string) {
	for _, name := range names {
		d.values[name] = unknownOf(d.types[name])
	}
}

// at is the path of a top attribute.
func at(name string) path.Path { return path.Root(name) }
