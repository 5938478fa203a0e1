// Package firewall is proxmox_firewall: options, ordered rules, IP sets and
// aliases of a guest, a node, the cluster or a security group.
package firewall

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
)

// Resource is proxmox_firewall.
type Resource struct{ framework.ResourceBase }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata names the resource's type.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_firewall"
	// Whose guest it is may show only when it is read.
	resp.ResourceBehavior.MutableIdentity = true
}

// takeBackTime bounds the removal of a group that could not be filled.
const takeBackTime = 30 * time.Second

// Keys of private state.
const (
	// privateGuest holds the guest whose firewall it is, and where it was last
	// seen.
	privateGuest = "guest"
	// privateMade marks a security group that was made here.
	privateMade = "made"
	// privateImported marks a resource that was imported and not read since.
	privateImported = "imported"
)

// Create takes the firewall to what is planned.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var planned model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	j := r.job(ctx, planned, &resp.Diagnostics)
	if j == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Create)
	defer cancel()

	j.want = planned.ruleset(ctx, &resp.Diagnostics)
	planned.ID = types.StringValue(planned.identifier(j.scope))
	err := j.identify(ctx)
	if err == nil && !resp.Diagnostics.HasError() {
		err = j.run(ctx)
	}
	if err != nil {
		framework.AddError(&resp.Diagnostics, "set up the firewall of "+j.scope.String(), err)
		j.takeBack(ctx)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
	j.save(ctx, resp.Private)
	j.setIdentity(ctx, planned.ID.ValueString(), resp.Identity)
}

// Update takes the firewall from the state to what is planned.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var planned, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	j := r.job(ctx, planned, &resp.Diagnostics)
	if j == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Update)
	defer cancel()

	j.recall(ctx, req.Private)
	j.want, j.was = planned.ruleset(ctx, &resp.Diagnostics), state.ruleset(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := j.known(ctx); err != nil {
		framework.AddError(&resp.Diagnostics, "change the firewall of "+j.scope.String(), err)
		return
	}
	if err := j.run(ctx); err != nil {
		framework.AddError(&resp.Diagnostics, "change the firewall of "+j.scope.String(), err)
		return
	}
	planned.ID = types.StringValue(planned.identifier(j.scope))
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
	j.save(ctx, resp.Private)
	j.setIdentity(ctx, planned.ID.ValueString(), resp.Identity)
}

// Delete takes the firewall back to PVE's defaults, as far as the resource had a
// hand in it. A guest that is gone has taken its firewall with it.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	j := r.job(ctx, state, &resp.Diagnostics)
	if j == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Delete)
	defer cancel()

	j.recall(ctx, req.Private)
	j.was = state.ruleset(ctx, &resp.Diagnostics)
	j.want = ruleset{managed: j.was.managed}
	err := j.known(ctx)
	if err == nil {
		err = j.clear(ctx)
	}
	if gone, stranger := lost(err); gone {
		if stranger {
			resp.Diagnostics.AddWarning("The firewall of "+j.scope.String()+" was left alone", err.Error())
		}
		return
	}
	framework.AddError(&resp.Diagnostics, "take back the firewall of "+j.scope.String(), err)
}

// job prepares a job for a model's firewall, or nil with the reason in the
// diagnostics.
func (r *Resource) job(ctx context.Context, m model, diags *diag.Diagnostics) *job {
	client := r.Client(diags)
	if client == nil || diags.HasError() {
		return nil
	}
	scope, ok := m.scope(ctx, diags)
	if !ok {
		return nil
	}
	return &job{
		client: client, scope: scope, foreign: m.Foreign.ValueBool(), own: m.marker(), diags: diags,
		guest: proxmox.Guest{Kind: scope.GuestKind(), VMID: scope.VMID},
	}
}

// identify finds whose guest it is.
func (j *job) identify(ctx context.Context) (err error) {
	if !j.scope.OfGuest() {
		return nil
	}
	j.guest, err = j.client.Gate.Marked(ctx, j.scope.GuestKind(), j.scope.VMID)
	j.scope.Node = j.guest.Node
	return err
}

// known identifies the guest of a resource that does not remember it.
func (j *job) known(ctx context.Context) error {
	if j.guest.UID == "" {
		return j.identify(ctx)
	}
	if _, err := j.client.Gate.Own(ctx, j.guest); err != nil {
		return err
	}
	return nil
}

func (j *job) recall(ctx context.Context, from framework.PrivateReader) {
	if guest, ok := framework.GetPrivate[proxmox.Guest](ctx, from, privateGuest, j.diags); ok && j.scope.OfGuest() {
		j.guest, j.scope.Node = guest, guest.Node
	}
	j.made, _ = framework.GetPrivate[bool](ctx, from, privateMade, j.diags)
}

func (j *job) save(ctx context.Context, to framework.PrivateWriter) {
	if j.scope.OfGuest() {
		framework.SetPrivate(ctx, to, privateGuest, j.guest, j.diags)
	}
	framework.SetPrivate(ctx, to, privateMade, j.made, j.diags)
}

// takeBack removes a security group that was made and could not be filled: nothing
// else would remember that it was made here. Time is given to it also where a wait
// ran out or was interrupted.
func (j *job) takeBack(ctx context.Context) {
	if !j.made {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	j.was, j.want = j.want, ruleset{managed: j.want.managed}
	framework.AddWarning(j.diags, "remove "+j.scope.String()+", which was made a moment ago", j.clear(ctx))
}

// clear removes what is the resource's, and the security group if it was made
// here and nobody else has rules in it.
func (j *job) clear(ctx context.Context) error {
	if j.scope.Kind != proxmox.FirewallGroup {
		return j.run(ctx)
	}
	groups, err := j.client.Firewall.Groups(ctx)
	if err != nil {
		return err
	}
	if _, exists := groups[j.scope.Group]; !exists {
		return nil
	}
	if err := j.run(ctx); err != nil || !j.made {
		return err
	}
	left, err := j.client.Firewall.Rules(ctx, j.scope)
	if err != nil {
		return err
	}
	if len(left.Rules) > 0 {
		j.diags.AddWarning(fmt.Sprintf("The security group %s stays", j.scope.Group), "It holds rules that are not the resource's own.")
		return nil
	}
	err = j.change(ctx, func(p proxmox.FirewallPermission) error { return j.client.Firewall.DeleteGroup(ctx, p, j.scope) })
	if proxmox.IsNotFound(err) {
		return nil
	}
	return err
}
