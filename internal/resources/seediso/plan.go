package seediso

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
)

// ModifyPlan decides whether an image is uploaded, and checks that it can be. A
// plan that changes nothing makes no call.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	d := draft{diags: &resp.Diagnostics, creates: req.State.Raw.IsNull()}
	resp.Diagnostics.Append(req.Config.Get(ctx, &d.config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &d.plan)...)
	if !d.creates {
		resp.Diagnostics.Append(req.State.Get(ctx, &d.state)...)
		d.wasGiven, _ = framework.GetPrivate[bool](ctx, req.Private, privateGiven, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	d.planNode(r.Data)
	d.planImage(ctx)
	if d.uploads() && r.Ready() {
		r.check(ctx, &d)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &d.plan)...)
}

// draft is a plan being made.
type draft struct {
	config, state, plan model
	creates             bool
	// wasGiven is set where the instance id in state was configured.
	wasGiven bool
	diags    *diag.Diagnostics
}

func (d *draft) planNode(data *framework.ProviderData) {
	switch {
	case !d.config.Node.IsNull():
		d.plan.Node = d.config.Node
	case !d.creates:
		d.plan.Node = d.state.Node
	case data == nil:
		d.plan.Node = types.StringUnknown()
	default:
		d.plan.Node = types.StringValue(data.RequireNode("", path.Root("node"), d.diags))
	}
}

// planImage keeps the image that is there where it is the one wanted. A new one
// in place of one that was lost or changed gets a new name.
func (d *draft) planImage(ctx context.Context) {
	_, there := d.state.current()
	planned, err := seeds.Draft{
		Config: d.config.Model, State: d.state.Model, There: there, WasGiven: d.wasGiven,
		Moved:   !d.plan.Node.Equal(d.state.Node) || !d.plan.Storage.Equal(d.state.Storage),
		Context: &seeds.Context{}, SameContext: true,
	}.Plan(ctx)
	if err != nil {
		d.diags.AddError("The seed cannot be made", err.Error())
	}
	d.plan.Model, d.plan.UID = planned, d.state.UID
	if !there {
		d.plan.UID = types.StringUnknown()
	}
}

// uploads reports whether applying the plan uploads an image.
func (d *draft) uploads() bool { return d.plan.VolumeID.IsUnknown() }

// check checks that the image can be put where it is to be.
func (r *Resource) check(ctx context.Context, d *draft) {
	client := r.Client(d.diags)
	node, storage := d.plan.Node, d.plan.Storage
	if client == nil || node.IsUnknown() || node.ValueString() == "" {
		return
	}
	if !framework.CheckNode(ctx, client, node.ValueString(), path.Root("node"), d.diags) || storage.IsUnknown() {
		return
	}
	seeds.CheckStorage(ctx, client, node.ValueString(), storage.ValueString(), path.Root("storage"), d.diags)
}
