package vm

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// document is a whole resource: its configuration, plan or state.
type document struct {
	types map[string]attr.Type
	// nulls and unknowns are these values of each attribute's type.
	nulls, unknowns map[string]attr.Value
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
	d := newDocument(ctx, object.AttributeTypes(ctx))
	if !object.IsNull() && !object.IsUnknown() {
		d.values = object.Attributes()
	}
	return d
}

func newDocument(ctx context.Context, attributes map[string]attr.Type) document {
	d := document{types: attributes, nulls: map[string]attr.Value{}, unknowns: map[string]attr.Value{}}
	for name, typ := range attributes {
		d.nulls[name] = valueOf(ctx, typ, nil)
		d.unknowns[name] = valueOf(ctx, typ, tftypes.UnknownValue)
	}
	return d
}

// valueOf converts a value that every type has. The types of this provider
// never fail at it.
func valueOf(ctx context.Context, typ attr.Type, raw any) attr.Value {
	value, err := typ.ValueFromTerraform(ctx, tftypes.NewValue(typ.TerraformType(ctx), raw))
	if err != nil {
		panic(err)
	}
	return value
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
	d.values = maps.Clone(d.values)
	return d
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

// provisioned reports whether the guest was finished.
func (d document) provisioned() bool { return isTrue(d.values["provisioned"]) }

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
		d.values[name] = d.unknowns[name]
	}
}

// at is the path of a top attribute.
func at(name string) path.Path { return path.Root(name) }
