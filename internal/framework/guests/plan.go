package guests

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Planning is a kind's part in a plan.
type Planning interface {
	// Load reads what it needs of private state.
	Load(ctx context.Context, private framework.PrivateReader)
	// PlanOwn plans what only this kind has, but for the settings of the table and
	// what the guest is made from.
	PlanOwn(ctx context.Context)
	// PlanSource plans what the guest is made from.
	PlanSource()
	// PlanReported makes known after apply what of its own the changes may change.
	PlanReported()
	// CheckSettings checks what can be known without a call.
	CheckSettings()
	// Scope names what the kind's privileges are about.
	Scope() proxmox.Scope
	// Uses are what the plan needs the token for beside making and migrating the
	// guest. They are asked for once what the guest is made from was checked.
	Uses() []framework.Use
	// Storages are those that the plan makes volumes on, with the attribute that
	// names each.
	Storages() map[string]path.Path
	// CheckSource checks what a new guest is made from, and finds the node that it
	// is made on where none is planned.
	CheckSource(ctx context.Context, c *Checker)
	// CheckMove says how the guest gets to the node that is planned, or why it
	// cannot.
	CheckMove(ctx context.Context, c *Checker) (how, refusal string, err error)
	// CheckChange checks the change of a guest that there is.
	CheckChange(ctx context.Context, c *Checker)
	// CheckPlaced checks what depends on the node.
	CheckPlaced(ctx context.Context, c *Checker)
}

// Draft is a plan being made.
type Draft struct {
	Kind                *Kind
	Config, State, Plan settings.Document
	Applied             settings.Applied
	Defaults            framework.Defaults
	// Known are the slots of the volumes that go with the guest.
	Known []string
	Diags *diag.Diagnostics
	// Imported is set from the import on until the first change.
	Imported bool
	// Adopting is the uid for a guest that is to be adopted.
	Adopting string
	// Rebuilds is set where the update makes the guest anew under its id.
	Rebuilds bool
	// Replaces are the attributes for which another guest is made.
	Replaces path.Paths
}

// ModifyPlan decides what the plan holds, and checks everything that can be
// known before anything is changed. A plan that changes nothing makes no call.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Ready() {
		// A cluster that does not answer stops a plan, and does not hold it up.
		bounded, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
		defer cancel()
		ctx = bounded
	}
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, resp)
		return
	}
	d := &Draft{
		Kind:     r.Kind,
		Config:   settings.Load(ctx, req.Config, &resp.Diagnostics),
		State:    settings.Load(ctx, req.State, &resp.Diagnostics),
		Applied:  settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		Known:    loadKnown(ctx, req.Private, &resp.Diagnostics),
		Defaults: r.defaults(),
		Diags:    &resp.Diagnostics,
	}
	d.Adopting, _ = framework.GetPrivate[string](ctx, req.Private, privateAdopting, d.Diags)
	d.Imported, _ = framework.GetPrivate[bool](ctx, req.Private, privateImported, d.Diags)
	standing, _ := framework.GetPrivate[string](ctx, req.Private, privateStanding, d.Diags)
	own := r.Kind.Plans(d)
	own.Load(ctx, req.Private)
	if resp.Diagnostics.HasError() {
		return
	}
	d.Make(ctx, own)
	if d.State.Text("status") == StatusGone {
		d.planGone(ctx, resp)
		return
	}
	resp.RequiresReplace = append(resp.RequiresReplace, d.Replaces...)
	if len(d.Replaces) > 0 {
		r.planDestroy(ctx, req, resp)
	}
	if d.Changes() {
		if standing == proxmox.Damaged.String() && !d.marks() {
			d.refuseDamaged()
			return
		}
		own.CheckSettings()
		if r.Ready() {
			r.check(ctx, d, own)
		}
	}
	d.Plan.Save(ctx, &resp.Plan, &resp.Diagnostics)
}

// planDestroy refuses what would be refused when it is destroyed.
func (r *Resource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	state := settings.Load(ctx, req.State, &resp.Diagnostics)
	d := r.destruction(ctx, state, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !state.Exists() || state.Text("status") == StatusGone {
		return
	}
	if r.Ready() {
		d.Client = r.Client(&resp.Diagnostics)
	}
	d.plan(ctx)
}

// planGone replaces a guest that is gone and left something: that goes with the old
// one. The new one is planned, and checked, on its own.
func (d *Draft) planGone(ctx context.Context, resp *resource.ModifyPlanResponse) {
	d.Plan.SetUnknown("status")
	resp.RequiresReplace = append(resp.RequiresReplace, settings.At("status"))
	d.Plan.Save(ctx, &resp.Plan, d.Diags)
}

// Creates reports whether the plan makes a guest. A replacement is planned
// twice: first against the old guest, then without one.
func (d *Draft) Creates() bool { return !d.State.Exists() }

// Changes reports whether the plan does anything.
func (d *Draft) Changes() bool { return d.Creates() || !d.Plan.Equal(d.State) }

// Unfinished reports whether the guest's creation has not come to its end.
func (d *Draft) Unfinished() bool { return d.State.Exists() && !d.State.Provisioned() }

// Make fills the plan.
func (d *Draft) Make(ctx context.Context, own Planning) {
	d.Plan = d.State.Clone()
	if d.Creates() {
		d.Plan.Values = d.Plan.Unknowns()
	}
	d.Plan.Values["timeouts"] = d.Config.Values["timeouts"]
	d.planPlace()
	d.planPower()
	d.planTable(d.Imported)
	own.PlanOwn(ctx)
	d.planMarker()
	if d.onlyImported() {
		return
	}
	d.planTable(false)
	own.PlanSource()
	if !d.Creates() {
		d.planReported(own)
	}
}

// marks reports whether the update writes the marker into a guest without one.
func (d *Draft) marks() bool {
	lost := d.State.Exists() && !settings.IsNull(d.State.Values["marked"]) && !settings.IsTrue(d.State.Values["marked"])
	return lost && (d.Adopting != "" || settings.IsTrue(d.Plan.Values["restore_marker"]))
}

func (d *Draft) planMarker() {
	if !d.marks() {
		return
	}
	d.Plan.Values["marked"] = types.BoolValue(true)
	if d.Adopting != "" {
		d.Plan.Values["uid"] = types.StringValue(d.Adopting)
	}
}

// onlyImported reports whether an imported guest is as it is configured, apart
// from what PVE cannot say: the template, and this provider's own settings.
// That makes no difference; the next real change records it.
func (d *Draft) onlyImported() bool {
	return d.Imported && d.State.Exists() && d.State.Provisioned() && d.Plan.Equal(d.State)
}

func (d *Draft) planTable(keepLocal bool) {
	p := settings.Planner{Applied: d.Applied, KeepLocal: keepLocal, Unfinished: d.Unfinished()}
	d.Plan.Put(p.Object(d.Kind.Table, path.Empty(), d.Config.Object(), d.State.Object()))
}

func (d *Draft) planPower() {
	switch config := d.Config.Values["power"]; {
	case !settings.IsNull(config):
		d.Plan.Values["power"] = config
	case d.Creates():
		d.Plan.Values["power"] = types.StringNull()
	}
}

// Differs reports whether one of the attributes is planned to change.
func (d *Draft) Differs(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return !d.Plan.Values[name].Equal(d.State.Values[name])
	})
}

// Elements are the configured elements of a map of devices, in order of their
// slots.
func (d *Draft) Elements(name string) func(yield func(string, map[string]attr.Value) bool) {
	devices := settings.Entries(d.Config.Values[name])
	return func(yield func(string, map[string]attr.Value) bool) {
		for _, slot := range slices.Sorted(maps.Keys(devices)) {
			if !yield(slot, settings.Fields(devices[slot])) {
				return
			}
		}
	}
}

// Device is what the guest has at a slot, configured or not, as PVE writes it; ""
// where there is nothing.
func (d *Draft) Device(slot string) string {
	return settings.TextOf(settings.Entries(d.State.Values["devices"])[slot])
}

func (d *Draft) refuseDamaged() {
	vmid := d.State.Integer("vmid")
	marker := proxmox.Marker{UID: d.State.Text("uid"), VMID: vmid}
	d.Diags.AddError(fmt.Sprintf("%s %d has lost its marker and is not changed", d.Kind.title(), vmid),
		fmt.Sprintf("It is the %s that was made here by its %s, but the line that says so is gone from its notes. "+
			"Set restore_marker = true to have it written again, or put this line back into the notes in Proxmox VE, and apply again:\n\n%s",
			d.Kind, d.Kind.Birthmark, marker))
}
