// Package seediso is proxmox_seed_iso, an image from which cloud-init sets up
// guests.
package seediso

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
	_ resource.ResourceWithIdentity    = (*Resource)(nil)
)

// Resource is proxmox_seed_iso.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_seed_iso"
	// Another content is another image, which takes the place of the old one.
	resp.ResourceBehavior.MutableIdentity = true
}

// Create uploads the image.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var config, plan model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := framework.Bounded(ctx, plan.Timeouts.Create, r.Data.Timeouts.Create, &resp.Diagnostics)
	defer cancel()

	image, name, err := compose(config, &plan)
	if err != nil {
		resp.Diagnostics.AddError("The seed cannot be made", err.Error())
		return
	}
	// The name goes into the state first: whatever becomes of the upload, the
	// next run can delete it.
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	plan.identify(ctx, resp.Identity, &resp.Diagnostics)
	framework.SetPrivate(ctx, resp.Private, privateGiven, !config.InstanceID.IsNull(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if _, err := seeds.Put(ctx, client, plan.Node.ValueString(), name, image); err != nil {
		framework.AddError(&resp.Diagnostics, "upload the seed "+name.String(), err)
		if proxmox.IsStoreRefused(err) {
			resp.State.RemoveResource(ctx)
		}
	}
}

// Read looks whether the image is still there. One that is missing or has
// another size is replaced by a new one at the next apply.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	state.identify(ctx, resp.Identity, &resp.Diagnostics)
	held, there := state.current()
	if !there {
		return
	}
	ctx, cancel := framework.Bounded(ctx, state.Timeouts.Read, r.Data.Timeouts.Read, &resp.Diagnostics)
	defer cancel()

	size, err := seeds.Size(ctx, client, held.Node, held.VolID)
	switch {
	case proxmox.IsUnavailable(err):
		framework.AddWarning(&resp.Diagnostics, "look at the seed "+held.VolID+"; its last known state is kept", err)
	case err != nil:
		framework.AddError(&resp.Diagnostics, "look at the seed "+held.VolID, err)
	case size != state.Size.ValueInt64():
		r.drifted(ctx, state, size, resp)
	}
}

// drifted records that the image is not what was uploaded.
func (r *Resource) drifted(ctx context.Context, state model, size int64, resp *resource.ReadResponse) {
	held, _ := state.current()
	summary, detail := "The seed "+held.VolID+" is gone", "The next apply uploads a new one."
	if size != 0 {
		summary = "The seed " + held.VolID + " was changed by somebody else"
		outdated := append(loadOutdated(ctx, resp.Private, &resp.Diagnostics), held)
		framework.SetPrivate(ctx, resp.Private, privateOutdated, outdated, &resp.Diagnostics)
	}
	resp.Diagnostics.AddWarning(summary, detail)
	state.Lose()
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update uploads another image beside the old one, which VMs use until they
// have changed over. What earlier updates left goes now.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var config, plan, state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	outdated := loadOutdated(ctx, req.Private, &resp.Diagnostics)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := framework.Bounded(ctx, plan.Timeouts.Update, r.Data.Timeouts.Update, &resp.Diagnostics)
	defer cancel()

	k := keeper{client: client, diags: &resp.Diagnostics}
	outdated = k.collect(ctx, outdated)
	if plan.VolumeID.IsUnknown() {
		outdated = k.replace(ctx, config, state, &plan, outdated)
	}
	framework.SetPrivate(ctx, resp.Private, privateOutdated, outdated, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	framework.SetPrivate(ctx, resp.Private, privateGiven, !config.InstanceID.IsNull(), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	plan.identify(ctx, resp.Identity, &resp.Diagnostics)
}

// Delete deletes the image and those that it replaced. What is gone is a
// success.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	images := loadOutdated(ctx, req.Private, &resp.Diagnostics)
	client := r.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := framework.Bounded(ctx, state.Timeouts.Delete, r.Data.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()

	if held, there := state.current(); there {
		images = append(images, held)
	}
	k := keeper{client: client, diags: &resp.Diagnostics}
	for _, each := range append(images, k.strays(ctx, state, images)...) {
		k.remove(ctx, each)
	}
}
