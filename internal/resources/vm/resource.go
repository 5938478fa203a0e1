// Package vm is proxmox_vm, a virtual machine cloned from a template.
package vm

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure    = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan   = (*Resource)(nil)
	_ resource.ResourceWithImportState  = (*Resource)(nil)
	_ resource.ResourceWithIdentity     = (*Resource)(nil)
	_ resource.ResourceWithUpgradeState = (*Resource)(nil)
)

// Resource is proxmox_vm.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm"
	// An adopted guest has no uid until the apply that writes its marker.
	resp.ResourceBehavior.MutableIdentity = true
}

// Read refreshes the state. What is gone leaves the state; what cannot be read
// right now stays in it.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := settings.Load(ctx, req.State, &resp.Diagnostics)
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	timeout, problems := state.Timeouts().Read(ctx, r.Data.Timeouts.Read)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	guest := guestOf(ctx, state, req.Private, &resp.Diagnostics)
	look, err := client.Inspect(ctx, guest)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "read "+describe(state), err)
		return
	}
	refresh := refresh{client: client, state: state, guest: guest, look: look}
	refresh.into(ctx, resp)
}

// Create makes the guest.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	j := &job{
		config: settings.Load(ctx, req.Config, &resp.Diagnostics), plan: settings.Load(ctx, req.Plan, &resp.Diagnostics),
		client: client, defaults: r.defaults(), diags: &resp.Diagnostics, first: true,
	}
	timeout, problems := j.plan.Timeouts().Create(ctx, r.Data.Timeouts.Create)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	provisioned := j.within(ctx, timeout, fmt.Sprintf("create VM %q", j.plan.Text("name")), j.create)
	if j.guest.VMID == 0 {
		return
	}
	j.save(ctx, provisioned, &resp.State, resp.Identity, resp.Private)
}

// Update changes the guest in place, and finishes one that a create did not
// finish.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	j := &job{
		config: settings.Load(ctx, req.Config, &resp.Diagnostics), plan: settings.Load(ctx, req.Plan, &resp.Diagnostics),
		state: settings.Load(ctx, req.State, &resp.Diagnostics), applied: settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		known:  loadKnown(ctx, req.Private, &resp.Diagnostics),
		client: client, defaults: r.defaults(), diags: &resp.Diagnostics,
		seed: seedWork{note: loadSeedNote(ctx, req.Private, &resp.Diagnostics)},
	}
	timeout, problems := j.plan.Timeouts().Update(ctx, r.Data.Timeouts.Update)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	j.guest = guestOf(ctx, j.state, req.Private, j.diags)
	j.first = !j.state.Provisioned()
	work := j.change
	if j.first {
		j.task = loadTask(ctx, req.Private, j.diags)
		work = j.resume
	}
	provisioned := j.within(ctx, timeout, "update "+describe(j.state), work)
	if provisioned {
		j.dropSeeds(ctx)
	}
	if resp.Diagnostics.HasError() {
		j.saveFailed(ctx, &resp.State, resp.Private)
		return
	}
	j.save(ctx, provisioned, &resp.State, resp.Identity, resp.Private)
}

// Delete destroys the guest. One that is gone is a success.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := settings.Load(ctx, req.State, &resp.Diagnostics)
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	timeout, problems := state.Timeouts().Delete(ctx, r.Data.Timeouts.Delete)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	options := destroyRulesOf(ctx, state, req.Private, &resp.Diagnostics).options(ctx)
	options.Task = loadTask(ctx, req.Private, &resp.Diagnostics)
	destroyed, err := client.Destroy(ctx, guestOf(ctx, state, req.Private, &resp.Diagnostics), options)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "destroy "+describe(state), err)
		return
	}
	if destroyed.Stranger != nil {
		resp.Diagnostics.AddWarning(describe(state)+" was gone already", destroyed.Stranger.Error())
	}
	warn(&resp.Diagnostics, describe(state)+" was destroyed with warnings", destroyed.Warnings)
	deleteSeeds(ctx, client, state, loadSeedNote(ctx, req.Private, &resp.Diagnostics), &resp.Diagnostics)
}

// destroyRules are those for the guest of a state.
func destroyRulesOf(ctx context.Context, state settings.Document, private framework.PrivateReader, diags *diag.Diagnostics) destroyRules {
	return destroyRules{state: state, known: loadKnown(ctx, private, diags)}
}

// guestOf is what state knows of the guest.
func guestOf(ctx context.Context, state settings.Document, private framework.PrivateReader, diags *diag.Diagnostics) proxmox.Guest {
	born, _ := framework.GetPrivate[birth](ctx, private, privateBirth, diags)
	uid := state.Text("uid")
	if uid == "" {
		uid, _ = framework.GetPrivate[string](ctx, private, privateAdopting, diags)
	}
	return proxmox.Guest{
		Kind: proxmox.KindVM, VMID: state.Integer("vmid"), Node: state.Text("node"), UID: uid,
		SMBIOSUUID: born.SMBIOSUUID, CTime: born.CTime,
	}
}

// describe names the guest for a human.
func describe(state settings.Document) string {
	return fmt.Sprintf("VM %d %q", state.Integer("vmid"), state.Text("name"))
}

// stopping is how the guest is to be stopped.
func stopping(d settings.Document) (timeout time.Duration, force bool) {
	attributes := settings.Fields(d.Values["stop"])
	// The validator has read it before; an import's default is fine too.
	timeout, err := time.ParseDuration(settings.TextOf(attributes["shutdown_timeout"]))
	if err != nil {
		timeout = time.Minute
	}
	flag, known := attributes["force"].(types.Bool)
	return timeout, !known || flag.IsNull() || flag.ValueBool()
}

// progress passes the lines of a task's log on to Terraform's log.
func progress(ctx context.Context) func(string) {
	return func(line string) { framework.Log(ctx, line, nil) }
}
