package framework

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
)

// Inherit returns the plan modifier of optional and computed attributes that
// keep what the guest has when the configuration does not mention them: the
// template's value, or none. One value fits every attribute type.
//
// It differs from UseStateForUnknown inside nested attributes. There a null in
// state is kept when the object around it was in state (the guest has no such
// setting), and stays unknown when that object is new (a slot just added, whose
// settings PVE may fill in).
func Inherit() Inherited {
	return Inherited{}
}

// Inherited is the plan modifier that [Inherit] returns.
type Inherited struct{}

var (
	_ planmodifier.Bool    = Inherited{}
	_ planmodifier.Float64 = Inherited{}
	_ planmodifier.Int64   = Inherited{}
	_ planmodifier.List    = Inherited{}
	_ planmodifier.Map     = Inherited{}
	_ planmodifier.Object  = Inherited{}
	_ planmodifier.Set     = Inherited{}
	_ planmodifier.String  = Inherited{}
)

// Description says what the modifier does.
func (Inherited) Description(context.Context) string {
	return "Keeps the guest's own value when the configuration does not mention it."
}

// MarkdownDescription says what the modifier does.
func (m Inherited) MarkdownDescription(ctx context.Context) string {
	return m.Description(ctx)
}

// PlanModifyBool keeps the value in state.
func (Inherited) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyFloat64 keeps the value in state.
func (Inherited) PlanModifyFloat64(ctx context.Context, req planmodifier.Float64Request, resp *planmodifier.Float64Response) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyInt64 keeps the value in state.
func (Inherited) PlanModifyInt64(ctx context.Context, req planmodifier.Int64Request, resp *planmodifier.Int64Response) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyList keeps the value in state.
func (Inherited) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyMap keeps the value in state.
func (Inherited) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyObject keeps the value in state.
func (Inherited) PlanModifyObject(ctx context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifySet keeps the value in state.
func (Inherited) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyString keeps the value in state.
func (Inherited) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if inherits(ctx, req.State, req.Path, req.ConfigValue, req.PlanValue) {
		resp.PlanValue = req.StateValue
	}
}

// inherits reports whether the planned value of an attribute is the one in
// state: nothing else decided it, and what holds the attribute is not new.
func inherits(ctx context.Context, state tfsdk.State, at path.Path, config, plan attr.Value) bool {
	if !config.IsNull() || !plan.IsUnknown() || state.Raw.IsNull() {
		return false
	}
	parent := at.ParentPath()
	if parent.Equal(path.Empty()) {
		return true
	}
	var holder attr.Value
	if state.GetAttribute(ctx, parent, &holder).HasError() {
		return false
	}
	return holder != nil && !holder.IsNull()
}
