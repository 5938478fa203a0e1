// Package packed spares resources with many attributes the plugin framework's
// walks. For each value in a state, and several times in each plan and refresh, the
// framework looks the value's path up in the schema, and each look-up copies the
// map of all top attributes: of a guest's seventy that is more than all else that a
// plan does, tens of milliseconds of each guest.
//
// A resource's packed variant has one attribute, a text, which holds the whole
// value as it was received. The framework goes around in that, keeps its private
// state and its identity as ever, and hands it to the variant, which unpacks it for
// the resource. [Serve] sends what comes for the resource to its variant; the CLI
// knows of none. The framework's defaults and plan modifiers are not called for
// such a resource: it decides its plan in ModifyPlan.
package packed

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// suffix tells the name of a variant from its resource's.
const suffix = "_packed"

// attribute is the variant's only one.
const attribute = "packed"

// shape is the type of a packed value.
var shape = tftypes.Object{AttributeTypes: map[string]tftypes.Type{attribute: tftypes.String}}

// Resource is what a resource has to be to have a packed variant.
type Resource interface {
	resource.ResourceWithConfigure
	resource.ResourceWithModifyPlan
	resource.ResourceWithIdentity
	// SpareConfig takes out of a configuration that is generated from a state what
	// needs no saying.
	SpareConfig(ctx context.Context, config *tfsdk.State, diags *diag.Diagnostics)
}

// Of is the constructor of a resource's packed variant.
func Of(constructor func() Resource) func() resource.Resource {
	of := new(full)
	return func() resource.Resource { return &variant{constructor(), of} }
}

// full is what the resource really has, found out once.
type full struct {
	once   sync.Once
	schema schema.Schema
	typ    tftypes.Type
}

type variant struct {
	Resource
	of *full
}

// full is what the resource really has.
func (v *variant) full(ctx context.Context) *full {
	v.of.once.Do(func() {
		var resp resource.SchemaResponse
		v.Resource.Schema(ctx, resource.SchemaRequest{}, &resp)
		v.of.schema, v.of.typ = resp.Schema, resp.Schema.Type().TerraformType(ctx)
	})
	return v.of
}

// Metadata names the variant.
func (v *variant) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	v.Resource.Metadata(ctx, req, resp)
	resp.TypeName += suffix
}

// Schema is the packed one.
func (v *variant) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{attribute: schema.StringAttribute{Optional: true}}}
}

// Read unpacks for the resource, and packs what it says.
func (v *variant) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	packed := resp.State
	req.State = v.unpack(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.State = req.State
	v.Resource.Read(ctx, req, resp)
	resp.State = pack(resp.State, packed, &resp.Diagnostics)
}

// ModifyPlan does the same.
func (v *variant) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	packed, diags := resp.Plan, &resp.Diagnostics
	req.Config = tfsdk.Config(v.unpack(ctx, tfsdk.State(req.Config), diags))
	req.State = v.unpack(ctx, req.State, diags)
	req.Plan = tfsdk.Plan(v.unpack(ctx, tfsdk.State(req.Plan), diags))
	if diags.HasError() {
		return
	}
	resp.Plan = req.Plan
	v.Resource.ModifyPlan(ctx, req, resp)
	resp.Plan = tfsdk.Plan(pack(tfsdk.State(resp.Plan), tfsdk.State(packed), diags))
}

// Create does the same.
func (v *variant) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	packed, diags := resp.State, &resp.Diagnostics
	req.Config = tfsdk.Config(v.unpack(ctx, tfsdk.State(req.Config), diags))
	req.Plan = tfsdk.Plan(v.unpack(ctx, tfsdk.State(req.Plan), diags))
	if diags.HasError() {
		return
	}
	resp.State = v.unpack(ctx, packed, diags)
	v.Resource.Create(ctx, req, resp)
	resp.State = pack(resp.State, packed, diags)
}

// Update does the same.
func (v *variant) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	packed, diags := resp.State, &resp.Diagnostics
	req.Config = tfsdk.Config(v.unpack(ctx, tfsdk.State(req.Config), diags))
	req.Plan = tfsdk.Plan(v.unpack(ctx, tfsdk.State(req.Plan), diags))
	req.State = v.unpack(ctx, req.State, diags)
	if diags.HasError() {
		return
	}
	resp.State = req.State
	v.Resource.Update(ctx, req, resp)
	resp.State = pack(resp.State, packed, diags)
}

// Delete does the same.
func (v *variant) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	packed, diags := resp.State, &resp.Diagnostics
	req.State = v.unpack(ctx, req.State, diags)
	if diags.HasError() {
		return
	}
	resp.State = req.State
	v.Resource.Delete(ctx, req, resp)
	resp.State = pack(resp.State, packed, diags)
}

// unpack is a state, plan or configuration as the resource knows it.
func (v *variant) unpack(ctx context.Context, packed tfsdk.State, diags *diag.Diagnostics) tfsdk.State {
	of := v.full(ctx)
	unpacked := tfsdk.State{Schema: of.schema, Raw: tftypes.NewValue(of.typ, nil)}
	if packed.Raw.IsNull() {
		return unpacked
	}
	content, err := contentOf(packed.Raw)
	if err == nil {
		unpacked.Raw, err = content.Unmarshal(of.typ)
	}
	if err != nil {
		diags.AddError("A value cannot be unpacked", "This is a bug in the provider: "+err.Error())
	}
	return unpacked
}

// pack is the reverse; old is what the framework handed over.
func pack(unpacked, old tfsdk.State, diags *diag.Diagnostics) tfsdk.State {
	if unpacked.Raw.IsNull() {
		return tfsdk.State{Schema: old.Schema, Raw: tftypes.NewValue(shape, nil)}
	}
	content, err := tfprotov6.NewDynamicValue(unpacked.Raw.Type(), unpacked.Raw)
	if err != nil {
		diags.AddError("A value cannot be packed", "This is a bug in the provider: "+err.Error())
		return old
	}
	return tfsdk.State{Schema: old.Schema, Raw: holding(content)}
}

// holding is a packed value.
func holding(content tfprotov6.DynamicValue) tftypes.Value {
	text := tftypes.NewValue(tftypes.String, string(content.MsgPack))
	return tftypes.NewValue(shape, map[string]tftypes.Value{attribute: text})
}

// contentOf is what a packed value holds.
func contentOf(packed tftypes.Value) (*tfprotov6.DynamicValue, error) {
	var object map[string]tftypes.Value
	if err := packed.As(&object); err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	var text string
	if err := object[attribute].As(&text); err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return &tfprotov6.DynamicValue{MsgPack: []byte(text)}, nil
}
