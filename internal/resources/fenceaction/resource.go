// Package fenceaction is proxmox_fence_action, which fences a guest or a node and
// proves it.
package fenceaction

import (
	"context"
	"fmt"
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

// privateResumed is the key, in the private state of a plan, that tells the
// deletion of the fence that is replaced which target its successor resumes: one
// of another target is lifted as ever.
const privateResumed = "resumed"

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
		warnForgotten(ctx, state, &resp.Diagnostics)
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
		r.planResumption(ctx, plan, resp)
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

func warnForgotten(ctx context.Context, state model, diags *diag.Diagnostics) {
	if diags.HasError() || state.UnfenceOnDestroy.ValueBool() {
		return
	}
	diags.AddWarning("The fence is only forgotten",
		fmt.Sprintf("Nothing is started and no link is taken up by destroying it: what was fenced stays as it is (%s). "+
			"unfence_on_destroy = true, applied before, brings it back.", list(readTaken(ctx, state.Before, diags))))
}

// list names what a fence took.
func list(before proxmox.FenceBefore) string {
	var all []string
	for _, g := range before.Guests {
		all = append(all, g.String())
	}
	all = append(all, before.LinksUp...)
	if len(all) == 0 {
		return "nothing ran"
	}
	return strings.Join(all, ", ")
}

// planResumption has a new fence go on from one of the same target that it
// replaces, which its refresh has just read: one that failed when it had begun is
// tainted, and the CLI hands the new one nothing of it.
func (r *Resource) planResumption(ctx context.Context, plan model, resp *resource.ModifyPlanResponse) {
	if target := plan.target(); r.Data != nil && !r.Data.Fences.Seen(target).IsEmpty() {
		framework.SetPrivate(ctx, resp.Private, privateResumed, target, &resp.Diagnostics)
	}
}

// again reports whether an update performs the fence.
func again(plan, state model) bool {
	lapsed := state.State.ValueString() == string(proxmox.FenceLapsed)
	return !plan.Triggers.Equal(state.Triggers) || lapsed && plan.Refence.ValueBool()
}

// Create performs the fence. One that fails when it has begun is kept, tainted by
// the CLI, with what it has taken: nothing relies on it, the next apply replaces
// it, and nothing is forgotten. One that is refused leaves no state.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	before := r.perform(ctx, &plan, r.Data.Fences.Seen(plan.target()), &resp.Diagnostics)
	if !resp.Diagnostics.HasError() || !before.IsEmpty() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// perform fences, and takes into the plan the proof, or that it failed, and what
// is to be brought back, of which earlier is known.
func (r *Resource) perform(ctx context.Context, plan *model, earlier proxmox.FenceBefore, diags *diag.Diagnostics) proxmox.FenceBefore {
	client := r.Client(diags)
	if diags.HasError() {
		return proxmox.FenceBefore{}
	}
	fence := plan.Fence(ctx, diags)
	fence.Progress = func(line string) { tflog.Info(ctx, line) }
	bounded, cancel := plan.Within(ctx)
	defer cancel()
	proof, before, err := client.Fence(bounded, fence)
	fences.WarnWanted(before, diags)
	all := earlier.With(before)
	plan.Before = newTaken(ctx, all, diags)
	if err != nil {
		plan.failed(ctx, err, diags)
		framework.AddError(diags, fences.Doing(fence), err)
		return all
	}
	r.Data.Fences.Performed(plan.target())
	plan.performed(ctx, proof, diags)
	warn(proof, diags)
	return all
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
	// A lapse is told each time: it is left alone, and must not be overlooked.
	if proof.State == proxmox.FenceLapsed || proof.State != proxmox.FenceState(state.State.ValueString()) {
		warn(proof, &resp.Diagnostics)
	}
	r.Data.Fences.Saw(state.target(), readTaken(ctx, state.Before, &resp.Diagnostics))
	state.found(ctx, proof, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update performs the fence again where that was planned; everything else is
// only noted. One that fails keeps the triggers that it had, so that the next
// apply performs it again.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if again(plan, state) {
		r.perform(ctx, &plan, readTaken(ctx, state.Before, &resp.Diagnostics), &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		plan.Triggers = state.Triggers
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete brings back what ran, where that is asked for, and only forgets
// otherwise. It lifts no fence that its successor holds.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	before := readTaken(ctx, state.Before, &resp.Diagnostics)
	if resumed, _ := framework.GetPrivate[string](ctx, req.Private, privateResumed, &resp.Diagnostics); resumed == state.target() {
		r.Data.Fences.Saw(state.target(), before)
		resp.Diagnostics.AddWarning("The fence is handed over",
			"The fence that replaces it goes on from here, and brings back what this one took: "+list(before)+". "+
				"If the apply ends before that one is made, nothing does.")
		return
	}
	if !state.UnfenceOnDestroy.ValueBool() {
		return
	}
	if r.Data.Fences.WasPerformed(state.target()) {
		resp.Diagnostics.AddWarning("What the replaced fence took is not brought back",
			"The fence that replaces it was made first, with create_before_destroy, and holds. It brings back what it found running itself, "+
				"and not what this one had found: "+list(before))
		return
	}
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
