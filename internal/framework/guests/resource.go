package guests

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
)

// Resource is a resource of guests of one kind, but for its schema.
type Resource struct {
	framework.ResourceBase
	Kind *Kind
}

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + strings.ToLower(r.Kind.String())
	// An adopted guest has no uid until the apply that writes its marker.
	resp.ResourceBehavior.MutableIdentity = true
}

// IdentitySchema describes what identifies the guest: never its node or its
// cluster, which may change.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"vmid": identityschema.Int64Attribute{RequiredForImport: true, Description: "The guest's id in its cluster."},
		"uid":  identityschema.StringAttribute{OptionalForImport: true, Description: "The random id that its marker carries."},
	}}
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

	guest := r.Kind.guestOf(ctx, state, req.Private, &resp.Diagnostics)
	look, err := client.Inspect(ctx, guest)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "read "+r.Kind.Describe(state), err)
		return
	}
	f := &Refresh{Kind: r.Kind, Client: client, State: state, Guest: guest, Look: look, Private: resp.Private, Diags: &resp.Diagnostics}
	f.into(ctx, resp)
}

// Create makes the guest.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	j := &Job{
		Kind: r.Kind, Client: client, Defaults: r.defaults(), Diags: &resp.Diagnostics, First: true,
		Config: settings.Load(ctx, req.Config, &resp.Diagnostics), Plan: settings.Load(ctx, req.Plan, &resp.Diagnostics),
	}
	timeout, problems := j.Plan.Timeouts().Create(ctx, r.Data.Timeouts.Create)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	own := r.Kind.Jobs(j)
	provisioned := j.Within(ctx, timeout, fmt.Sprintf("create %s %q", r.Kind, j.Plan.Text(r.Kind.NameAttribute)), own.Create)
	if j.Guest.VMID == 0 {
		return
	}
	j.save(ctx, own, provisioned, &resp.State, resp.Identity, resp.Private)
}

// Update changes the guest in place, and finishes one that an earlier run did not
// finish.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	j := &Job{
		Kind: r.Kind, Client: client, Defaults: r.defaults(), Diags: &resp.Diagnostics,
		Config: settings.Load(ctx, req.Config, &resp.Diagnostics), Plan: settings.Load(ctx, req.Plan, &resp.Diagnostics),
		State: settings.Load(ctx, req.State, &resp.Diagnostics), Applied: settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		Known: loadKnown(ctx, req.Private, &resp.Diagnostics),
	}
	own := r.Kind.Jobs(j)
	own.Load(ctx, req.Private)
	timeout, problems := j.Plan.Timeouts().Update(ctx, r.Data.Timeouts.Update)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	j.Guest = r.Kind.guestOf(ctx, j.State, req.Private, j.Diags)
	j.First = !j.State.Provisioned()
	if j.First {
		j.task = loadTask(ctx, req.Private, j.Diags)
	}
	provisioned := j.Within(ctx, timeout, "update "+r.Kind.Describe(j.State), own.Update)
	if provisioned {
		own.Updated(ctx)
	}
	if resp.Diagnostics.HasError() {
		j.saveFailed(ctx, own, &resp.State, resp.Private)
		return
	}
	j.save(ctx, own, provisioned, &resp.State, resp.Identity, resp.Private)
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

	d := r.destruction(ctx, state, req.Private, &resp.Diagnostics)
	d.Client = client
	d.run(ctx, req.Private)
}

func (r *Resource) defaults() framework.Defaults {
	if r.Data == nil {
		return framework.Defaults{}
	}
	return r.Data.Defaults
}

// Stopping is how the guest is to be stopped.
func Stopping(d settings.Document) (timeout time.Duration, force bool) {
	attributes := settings.Fields(d.Values["stop"])
	// The validator has read it before; an import's default is fine too.
	timeout, err := time.ParseDuration(settings.TextOf(attributes["shutdown_timeout"]))
	if err != nil {
		timeout = time.Minute
	}
	flag, known := attributes["force"].(types.Bool)
	return timeout, !known || flag.IsNull() || flag.ValueBool()
}

func warn(diags *diag.Diagnostics, summary string, warnings []string) {
	if len(warnings) > 0 {
		diags.AddWarning(summary, strings.Join(warnings, "\n"))
	}
}
