// Package settings is the table that drives a guest's resource: each setting says
// once where PVE keeps it and how, and schema, plan, refresh and update follow.
package settings

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

// Document is a whole resource: its configuration, plan or state.
type Document struct {
	Types map[string]attr.Type
	// Values is nil for a resource that does not exist.
	Values map[string]attr.Value
}

// source of a document: a request's configuration, plan or state.
type documentReader interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

// documentWriter takes a document: a response's plan or state.
type documentWriter interface {
	Set(ctx context.Context, value any) diag.Diagnostics
}

// Load reads a document from a request.
func Load(ctx context.Context, from documentReader, diags *diag.Diagnostics) Document {
	var object types.Object
	diags.Append(from.Get(ctx, &object)...)
	d := Document{Types: object.AttributeTypes(ctx)}
	if !object.IsNull() && !object.IsUnknown() {
		d.Values = object.Attributes()
	}
	return d
}

// Nulls are nulls of all attributes' types.
func (d Document) Nulls() map[string]attr.Value { return d.all(nil) }

// Unknowns are unknown values of all attributes' types.
func (d Document) Unknowns() map[string]attr.Value { return d.all(tftypes.UnknownValue) }

func (d Document) all(raw any) map[string]attr.Value {
	values := make(map[string]attr.Value, len(d.Types))
	for name, typ := range d.Types {
		values[name] = valueOf(typ, raw)
	}
	return values
}

// valueOf converts a value that every type has. The types of this provider
// never fail at it.
func valueOf(typ attr.Type, raw any) attr.Value {
	ctx := context.Background()
	value, err := typ.ValueFromTerraform(ctx, tftypes.NewValue(typ.TerraformType(ctx), raw))
	if err != nil {
		panic(err)
	}
	return value
}

// Save writes it.
func (d Document) Save(ctx context.Context, to documentWriter, diags *diag.Diagnostics) {
	object, problems := types.ObjectValue(d.Types, d.Values)
	diags.Append(problems...)
	if problems.HasError() {
		return
	}
	diags.Append(to.Set(ctx, object)...)
}

// Exists reports whether there is a resource at all.
func (d Document) Exists() bool { return d.Values != nil }

// Object is the document as an object, for the table's functions.
func (d Document) Object() attr.Value {
	if !d.Exists() {
		return types.ObjectNull(d.Types)
	}
	return types.ObjectValueMust(d.Types, d.Values)
}

// Clone is a document whose values can be changed.
func (d Document) Clone() Document {
	d.Values = maps.Clone(d.Values)
	return d
}

// Equal reports whether both documents hold the same values.
func (d Document) Equal(other Document) bool {
	return maps.EqualFunc(d.Values, other.Values, func(a, b attr.Value) bool { return a.Equal(b) })
}

// Put takes over an object's attributes.
func (d Document) Put(value attr.Value) { maps.Copy(d.Values, Fields(value)) }

// Text is a string attribute's text; "" when it is null or unknown.
func (d Document) Text(name string) string { return TextOf(d.Values[name]) }

// Integer is a number attribute's value; 0 when it is null or unknown.
func (d Document) Integer(name string) int {
	number, _ := d.Values[name].(types.Int64)
	return int(number.ValueInt64())
}

// Provisioned reports whether the guest was finished.
func (d Document) Provisioned() bool { return IsTrue(d.Values["provisioned"]) }

// List are the texts of a set or list attribute.
func (d Document) List(name string) []string { return ItemsOf(d.Values[name]) }

// Timeouts is the attribute of that name.
func (d Document) Timeouts() timeouts.Value {
	value, _ := d.Values["timeouts"].(timeouts.Value)
	return value
}

// SetUnknown makes attributes known after apply.
func (d Document) SetUnknown(names ...string) {
	for _, name := range names {
		d.Values[name] = valueOf(d.Types[name], tftypes.UnknownValue)
	}
}

// SetNull makes null what is still to be known: a state knows all its values.
func (d Document) SetNull() {
	for name, value := range d.Values {
		if value.IsUnknown() {
			d.Values[name] = valueOf(d.Types[name], nil)
		}
	}
}

// At is the path of a top attribute.
func At(name string) path.Path { return path.Root(name) }

// IsTrue reports whether a value is a known true.
func IsTrue(value attr.Value) bool {
	flag, ok := value.(interface{ ValueBool() bool })
	return ok && flag.ValueBool()
}

// IsSame reports whether two values are the same, null and absent ones alike.
func IsSame(a, b attr.Value) bool {
	if IsNull(a) || IsNull(b) {
		return IsNull(a) == IsNull(b)
	}
	return a.Equal(b)
}
