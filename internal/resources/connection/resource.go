// Package connection is proxmox_connection, what a configuration expects of the
// cluster that it works on.
package connection

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
)

// Resource is proxmox_connection.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_connection"
}

// ModifyPlan plans another look at a connection that is not ready.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.warnPool(plan, &resp.Diagnostics)
	if req.State.Raw.IsNull() {
		return
	}
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if plan.RequireReady.ValueBool() && !state.Ready.ValueBool() {
		plan.forget()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// warnPool warns of a pool that nobody uses.
func (r *Resource) warnPool(plan model, diags *diag.Diagnostics) {
	pool := plan.Pool.ValueString()
	if pool == "" || r.Data == nil || r.Data.Client == nil || r.Data.Defaults.Pool == pool {
		return
	}
	diags.AddAttributeWarning(path.Root("pool"), "The pool is not the provider's",
		fmt.Sprintf("Guests are put into the pool of the provider's defaults.pool, and ids are reserved there; it is %q, not %q.", r.Data.Defaults.Pool, pool))
}

// Create looks at the cluster, and makes the pool.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	bounded, cancel := framework.Bounded(ctx, plan.Timeouts.Create, r.timeouts().Create, &resp.Diagnostics)
	defer cancel()
	r.establish(bounded, &plan, "", &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Update looks again.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	bounded, cancel := framework.Bounded(ctx, plan.Timeouts.Update, r.timeouts().Update, &resp.Diagnostics)
	defer cancel()
	r.establish(bounded, &plan, state.Identity.ValueString(), &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// establish makes the pool and fills in what is found. It is an error that
// another cluster answers than the one declared, or the one known until now,
// and, unless it is not required, that something is not as declared.
func (r *Resource) establish(ctx context.Context, plan *model, known string, diags *diag.Diagnostics) {
	client := r.Client(diags)
	if diags.HasError() {
		return
	}
	a := newAssessment(ctx, client, r.Data.VMIDRange, plan, diags)
	if !a.identify(ctx, known) {
		return
	}
	if pool := plan.Pool.ValueString(); pool != "" {
		a.makePool(ctx, pool)
	}
	a.examine(ctx)
	if diags.HasError() {
		return
	}
	a.into(ctx, plan)
	if plan.RequireReady.ValueBool() && !plan.Ready.ValueBool() {
		diags.AddError("The connection is not ready", a.reasons())
	}
}

// Read looks at what there is now.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := framework.Bounded(ctx, state.Timeouts.Read, r.timeouts().Read, &resp.Diagnostics)
	defer cancel()
	a := newAssessment(ctx, client, r.Data.VMIDRange, &state, &resp.Diagnostics)
	if !a.identify(ctx, state.Identity.ValueString()) {
		return
	}
	if pool := state.Pool.ValueString(); pool != "" {
		a.lookForPool(ctx, pool)
	}
	a.examine(ctx)
	if resp.Diagnostics.HasError() {
		return
	}
	a.into(ctx, &state)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets the connection. The pool stays: it remembers which ids were
// given out, and guests may be in it.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState takes the cluster's identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("cluster"), req, resp)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("require_ready"), true)...)
}

func (r *Resource) timeouts() framework.Timeouts {
	if r.Data == nil {
		return framework.DefaultTimeouts()
	}
	return r.Data.Timeouts
}

// clusterOf names a cluster for a human.
func clusterOf(status proxmox.ClusterStatus) string {
	if status.Name == "" {
		return "the node " + status.Identity() + ", which is in no cluster"
	}
	return fmt.Sprintf("the cluster %q", status.Name)
}
