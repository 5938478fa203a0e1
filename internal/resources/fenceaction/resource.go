// Package fenceaction is proxmox_fence_action, which fences a guest or a node and
// proves it.
package fenceaction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
)

// privateBefore is the key of what unfencing brings back.
const privateBefore = "before"

// Resource is proxmox_fence_action.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_fence_action"
}

// ValidateConfig refuses attributes that do not fit the action.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		config.Check(&resp.Diagnostics)
	}
}

// ModifyPlan refuses what the fence scope does not allow, and plans the fence
// again where triggers have changed or a lapsed one is to be performed again.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state model
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if !state.UnfenceOnDestroy.ValueBool() {
			resp.Diagnostics.AddWarning("The fence is only forgotten",
				fmt.Sprintf("Nothing is started and no link is taken up by destroying it: what was fenced stays as it is. "+
					"unfence_on_destroy = true, applied before, brings back what ran. (%s)", state.Action.ValueString()))
		}
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if r.Ready() {
		plan.CheckScope(r.Data.Client.FenceScope(), &resp.Diagnostics)
	}
	if req.State.Raw.IsNull() {
		r.checkPrivileges(ctx, plan, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if again(plan, state) {
		r.checkPrivileges(ctx, plan, &resp.Diagnostics)
		plan.unknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// checkPrivileges refuses a fence that the token certainly may not perform.
func (r *Resource) checkPrivileges(ctx context.Context, plan model, diags *diag.Diagnostics) {
	if r.Ready() && !diags.HasError() {
		plan.CheckPrivileges(ctx, r.Data.Client, diags)
	}
}

// again reports whether an update performs the fence.
func again(plan, state model) bool {
	lapsed := state.State.ValueString() == string(proxmox.FenceLapsed)
	return !plan.Triggers.Equal(state.Triggers) || lapsed && plan.Refence.ValueBool()
}

// Create performs the fence. One that cannot be proven leaves no state, so that
// nothing relies on it and the next apply tries again.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	before, ok := r.perform(ctx, &plan, &resp.Diagnostics)
	if !ok {
		return
	}
	framework.SetPrivate(ctx, resp.Private, privateBefore, before, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// perform fences and takes the proof into the plan.
func (r *Resource) perform(ctx context.Context, plan *model, diags *diag.Diagnostics) (proxmox.FenceBefore, bool) {
	client := r.Client(diags)
	if diags.HasError() {
		return proxmox.FenceBefore{}, false
	}
	fence := plan.Fence(ctx, diags)
	fence.Progress = func(line string) { tflog.Info(ctx, line) }
	ctx, cancel := plan.Within(ctx)
	defer cancel()
	proof, before, err := client.Fence(ctx, fence)
	if err != nil {
		framework.AddError(diags, fences.Doing(fence), err)
		return before, false
	}
	plan.performed(ctx, proof, diags)
	warn(proof, diags)
	return before, !diags.HasError()
}

// warn tells of a fence that is less than proven and lasting.
func warn(proof proxmox.FenceProof, diags *diag.Diagnostics) {
	reasons := strings.Join(proof.Reasons, "\n")
	switch proof.State {
	case proxmox.FenceTransient:
		diags.AddWarning("The fence holds, but would not last", reasons)
	case proxmox.FenceUnknown:
		diags.AddWarning("Whether the fence holds cannot be told", reasons)
	case proxmox.FenceLapsed:
		diags.AddWarning("The fence has lapsed", reasons+"\n\nIt is performed again when triggers change, or with refence = true.")
	case proxmox.Fenced:
	}
}

// Read proves the fence again.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	fence := state.Fence(ctx, &resp.Diagnostics)
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()
	proof, err := client.ProveFence(ctx, fence)
	switch {
	case proxmox.IsUnavailable(err):
		proof = proxmox.FenceProof{State: proxmox.FenceUnknown, Reasons: []string{"nobody answers: " + err.Error()}}
	case err != nil:
		framework.AddError(&resp.Diagnostics, "prove the fence again: "+fences.Doing(fence), err)
		return
	}
	if proof.State != proxmox.FenceState(state.State.ValueString()) {
		warn(proof, &resp.Diagnostics)
	}
	state.found(ctx, proof, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update performs the fence again where that was planned; everything else is
// only noted.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if again(plan, state) {
		earlier, _ := framework.GetPrivate[proxmox.FenceBefore](ctx, req.Private, privateBefore, &resp.Diagnostics)
		before, ok := r.perform(ctx, &plan, &resp.Diagnostics)
		framework.SetPrivate(ctx, resp.Private, privateBefore, joined(earlier, before), &resp.Diagnostics)
		if !ok {
			return
		}
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// joined is all that was taken by a fence that was performed again: what it found
// stopped had run before it was performed first.
func joined(earlier, later proxmox.FenceBefore) proxmox.FenceBefore {
	all := proxmox.FenceBefore{Guests: slices.Clone(earlier.Guests), LinksUp: slices.Clone(earlier.LinksUp)}
	for _, guest := range later.Guests {
		if !slices.ContainsFunc(all.Guests, func(g proxmox.FencedGuest) bool { return g.VMID == guest.VMID && g.Kind == guest.Kind }) {
			all.Guests = append(all.Guests, guest)
		}
	}
	for _, slot := range later.LinksUp {
		if !slices.Contains(all.LinksUp, slot) {
			all.LinksUp = append(all.LinksUp, slot)
		}
	}
	return all
}

// Delete brings back what ran, where that is asked for, and only forgets
// otherwise.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() || !state.UnfenceOnDestroy.ValueBool() {
		return
	}
	before, _ := framework.GetPrivate[proxmox.FenceBefore](ctx, req.Private, privateBefore, &resp.Diagnostics)
	fence := state.Fence(ctx, &resp.Diagnostics)
	fence.Progress = func(line string) { tflog.Info(ctx, line) }
	ctx, cancel := state.Within(ctx)
	defer cancel()
	left, err := client.Unfence(ctx, fence, before)
	if len(left) > 0 {
		resp.Diagnostics.AddWarning("Not everything that ran was brought back", strings.Join(left, "\n"))
	}
	framework.AddError(&resp.Diagnostics, "bring back what the fence took ("+fences.Doing(fence)+")", err)
}
