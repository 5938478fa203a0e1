// Package container is proxmox_container, a container unpacked from a template.
package container

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
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
	_ resource.ResourceWithIdentity    = (*Resource)(nil)
)

// Resource is proxmox_container.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_container"
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

// Create makes the container.
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
	provisioned := j.within(ctx, timeout, fmt.Sprintf("create container %q", j.plan.Text("hostname")), j.create)
	if j.guest.VMID == 0 {
		return
	}
	j.save(ctx, provisioned, &resp.State, resp.Identity, resp.Private)
}

// Update changes the container in place, reinstalls it, and finishes what an
// earlier run did not finish.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	j := &job{
		config: settings.Load(ctx, req.Config, &resp.Diagnostics), plan: settings.Load(ctx, req.Plan, &resp.Diagnostics),
		state: settings.Load(ctx, req.State, &resp.Diagnostics), applied: settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		client: client, defaults: r.defaults(), diags: &resp.Diagnostics,
	}
	timeout, problems := j.plan.Timeouts().Update(ctx, r.Data.Timeouts.Update)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	j.guest = guestOf(ctx, j.state, req.Private, j.diags)
	j.first = !j.state.Provisioned()
	j.task = loadTask(ctx, req.Private, j.diags)
	provisioned := j.within(ctx, timeout, "update "+describe(j.state), j.work())
	if resp.Diagnostics.HasError() {
		j.savePrivate(ctx, resp.Private)
		return
	}
	j.save(ctx, provisioned, &resp.State, resp.Identity, resp.Private)
}

// Delete destroys the container, and the one that holds its volumes where a
// reinstallation was not finished. One that is gone is a success.
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

	known := listed(state, settings.LoadApplied(ctx, req.Private, &resp.Diagnostics))
	options := proxmox.DestroyOptions{
		Progress: progress(ctx), Task: loadTask(ctx, req.Private, &resp.Diagnostics), Check: checkUnknown(state, known),
	}
	options.ShutdownTimeout, options.ForceStop = stopping(state)
	guest := guestOf(ctx, state, req.Private, &resp.Diagnostics)
	destroyed, err := client.Destroy(ctx, guest, options)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "destroy "+describe(state), err)
		return
	}
	if destroyed.Stranger != nil {
		resp.Diagnostics.AddWarning(describe(state)+" was gone already", destroyed.Stranger.Error())
	}
	warn(&resp.Diagnostics, describe(state)+" was destroyed with warnings", destroyed.Warnings)
	if !state.Provisioned() {
		framework.AddError(&resp.Diagnostics, "destroy what holds volumes of "+describe(state), destroyHolders(ctx, client, guest))
	}
}

func destroyHolders(ctx context.Context, client *proxmox.Client, guest proxmox.Guest) error {
	holders, err := client.Holders(ctx, guest)
	if err != nil {
		return err
	}
	for _, holder := range holders {
		if _, err := client.Destroy(ctx, holder.Guest, proxmox.DestroyOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long the checks of a plan may take.
func (r *Resource) patience() time.Duration {
	if r.Data == nil {
		return framework.DefaultTimeouts().Read
	}
	return r.Data.Timeouts.Read
}

func (r *Resource) defaults() framework.Defaults {
	if r.Data == nil {
		return framework.Defaults{}
	}
	return r.Data.Defaults
}

// guestOf is what state knows of the container.
func guestOf(ctx context.Context, state settings.Document, private framework.PrivateReader, diags *diag.Diagnostics) proxmox.Guest {
	macs, _ := framework.GetPrivate[string](ctx, private, privateMACs, diags)
	return proxmox.Guest{
		Kind: proxmox.KindContainer, VMID: state.Integer("vmid"), Node: state.Text("node"), UID: state.Text("uid"), MACs: macs,
	}
}

// describe names the container for a human.
func describe(state settings.Document) string {
	return fmt.Sprintf("container %d %q", state.Integer("vmid"), state.Text("hostname"))
}

// stopping is how the container is to be stopped.
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
