package vm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

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
	d := draft{
		config:   settings.Load(ctx, req.Config, &resp.Diagnostics),
		state:    settings.Load(ctx, req.State, &resp.Diagnostics),
		applied:  settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		defaults: r.defaults(),
		diags:    &resp.Diagnostics,
	}
	d.adopting, _ = framework.GetPrivate[string](ctx, req.Private, privateAdopting, &resp.Diagnostics)
	d.imported, _ = framework.GetPrivate[bool](ctx, req.Private, privateImported, &resp.Diagnostics)
	standing, _ := framework.GetPrivate[string](ctx, req.Private, privateStanding, &resp.Diagnostics)
	d.seed = loadSeedNote(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	d.make(ctx)
	if d.state.Text("status") == statusGone {
		d.planGone(ctx, resp)
		return
	}
	resp.RequiresReplace = append(resp.RequiresReplace, d.replace...)
	if len(d.replace) > 0 {
		r.planDestroy(ctx, req, resp)
	}
	if d.changes() {
		if standing == proxmox.Damaged.String() && !d.marks() {
			refuseDamaged(d.state, &resp.Diagnostics)
			return
		}
		d.checkSettings()
		if r.Ready() {
			r.check(ctx, &d)
		}
	}
	d.plan.Save(ctx, &resp.Plan, &resp.Diagnostics)
}

// planDestroy refuses what would be refused when it is destroyed.
func (r *Resource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	state := settings.Load(ctx, req.State, &resp.Diagnostics)
	rules := destroyRulesOf(ctx, state, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !state.Exists() || state.Text("status") == statusGone {
		return
	}
	var client *proxmox.Client
	if r.Ready() {
		client = r.Client(&resp.Diagnostics)
	}
	rules.plan(ctx, client, &resp.Diagnostics)
}

func (r *Resource) defaults() framework.Defaults {
	if r.Data == nil {
		return framework.Defaults{}
	}
	return r.Data.Defaults
}

// draft is a plan being made.
type draft struct {
	config, state, plan settings.Document
	applied             settings.Applied
	// imported is set from the import on until the first change.
	imported bool
	// adopting is the uid for a guest that is to be adopted.
	adopting string
	defaults framework.Defaults
	replace  path.Paths
	seed     seedNote
	diags    *diag.Diagnostics
}

// creates reports whether the plan makes a guest. A replacement is planned
// twice: first against the old guest, then without one.
func (d *draft) creates() bool { return !d.state.Exists() }

func (d *draft) changes() bool { return d.creates() || !d.plan.Equal(d.state) }

func (d *draft) unfinished() bool { return d.state.Exists() && !d.state.Provisioned() }

// make fills the plan.
func (d *draft) make(ctx context.Context) {
	d.plan = d.state.Clone()
	if d.creates() {
		d.plan.Values = d.plan.Unknowns()
	}
	d.plan.Values["timeouts"] = d.config.Values["timeouts"]
	d.planPlace()
	d.planPower()
	d.planTable(d.imported)
	d.planSeed(ctx)
	d.planMarker()
	if d.onlyImported() {
		return
	}
	d.planTable(false)
	d.planTemplate()
	if d.creates() {
		return
	}
	d.planReported()
}

// marks reports whether the update writes the marker into a guest without one.
func (d *draft) marks() bool {
	lost := d.state.Exists() && !settings.IsNull(d.state.Values["marked"]) && !isTrue(d.state.Values["marked"])
	return lost && (d.adopting != "" || isTrue(d.plan.Values["restore_marker"]))
}

func (d *draft) planMarker() {
	if !d.marks() {
		return
	}
	d.plan.Values["marked"] = types.BoolValue(true)
	if d.adopting != "" {
		d.plan.Values["uid"] = types.StringValue(d.adopting)
	}
}

// onlyImported reports whether an imported guest is as it is configured, apart
// from what PVE cannot say: the template, and this provider's own settings.
// That makes no difference; the next real change records it.
func (d *draft) onlyImported() bool {
	return d.imported && d.state.Exists() && d.state.Provisioned() && d.plan.Equal(d.state)
}

func (d *draft) planTable(keepLocal bool) {
	p := settings.Planner{Applied: d.applied, KeepLocal: keepLocal, Unfinished: d.unfinished()}
	d.plan.Put(p.Object(table, path.Empty(), d.config.Object(), d.state.Object()))
}

// planPlace plans what is given when the guest is made.
func (d *draft) planPlace() {
	d.planNode()
	d.planFixed("storage", types.StringUnknown(), d.defaults.Storage)
	d.planFixed("pool", types.StringNull(), d.defaults.Pool)

	vmid := d.config.Values["vmid"]
	if settings.IsNull(vmid) || d.undecided(vmid) {
		return
	}
	d.plan.Values["vmid"] = vmid
	if d.state.Exists() && !vmid.Equal(d.state.Values["vmid"]) {
		d.replace.Append(settings.At("vmid"))
	}
}

// undecided reports whether a value that would make another guest is not known
// yet. An existing guest is not planned to be destroyed on a suspicion: it
// stays, and if the value turns out to differ, the apply stops.
func (d *draft) undecided(config attr.Value) bool {
	return d.state.Exists() && config.IsUnknown()
}

// planNode plans where the guest is. One that has moved to another allowed node
// stays there; elsewhere it is migrated back.
func (d *draft) planNode() {
	config, state := d.config.Values["node"], d.state.Values["node"]
	d.plan.Values["allowed_nodes"] = d.config.Values["allowed_nodes"]
	allowed := d.config.List("allowed_nodes")
	if settings.IsKnown(config) && len(allowed) > 0 && !slices.Contains(allowed, settings.TextOf(config)) {
		d.diags.AddAttributeError(settings.At("node"), "node is not one of allowed_nodes", "Name it there too: the VM is made on it.")
	}
	switch {
	case d.creates() && !settings.IsNull(config):
		d.plan.Values["node"] = config
	case d.creates() && d.defaults.Node != "" && (len(allowed) == 0 || slices.Contains(allowed, d.defaults.Node)):
		d.plan.Values["node"] = types.StringValue(d.defaults.Node)
	case d.creates():
		d.plan.Values["node"] = types.StringUnknown()
	case settings.IsNull(config) && len(allowed) == 0, slices.Contains(allowed, settings.TextOf(state)), d.config.Values["allowed_nodes"].IsUnknown(), config.IsUnknown():
	case settings.IsNull(config):
		d.plan.Values["node"] = types.StringValue(slices.Min(allowed))
	default:
		d.plan.Values["node"] = config
	}
}

// moves reports whether the update migrates the guest.
func (d *draft) moves() bool { return d.state.Exists() && d.differs("node") }

// planFixed plans an attribute that is not changed after the guest was made. A
// guest that was moved by hand keeps its place, and the plan says so.
func (d *draft) planFixed(name string, none attr.Value, fallback string) {
	config := d.config.Values[name]
	state := d.state.Values[name]
	switch {
	case d.creates() && !settings.IsNull(config):
		d.plan.Values[name] = config
	case d.creates() && fallback != "":
		d.plan.Values[name] = types.StringValue(fallback)
	case d.creates():
		d.plan.Values[name] = none
	case settings.IsKnown(config) && settings.IsNull(state):
		d.diags.AddAttributeError(settings.At(name), "The "+name+" of an existing VM cannot be changed here",
			fmt.Sprintf("The VM has none. Change it in Proxmox VE, or leave %s out, or replace the VM.", name))
	case settings.IsKnown(config) && !config.Equal(state):
		d.diags.AddAttributeWarning(settings.At(name), "The VM stays where it is",
			fmt.Sprintf("Configured is %s %q, but the VM is on %q. It is not moved by this provider: move it in Proxmox VE, or configure %q.",
				name, settings.TextOf(config), settings.TextOf(state), settings.TextOf(state)))
	}
}

// planTemplate plans the template, which matters only when the guest is made.
func (d *draft) planTemplate() {
	config, state := d.config.Values["template"], d.state.Values["template"]
	switch {
	case d.creates() && settings.IsNull(config):
		d.diags.AddAttributeError(settings.At("template"), "No template is configured", "A VM is made from a template: give the template's vmid.")
	case d.creates():
		d.plan.Values["template"] = config
	case settings.IsNull(config) || d.undecided(config):
	default:
		d.plan.Values["template"] = config
		if d.state.Integer("template") != 0 && !config.Equal(state) {
			d.replace.Append(settings.At("template"))
		}
	}
}

func (d *draft) planPower() {
	switch config := d.config.Values["power"]; {
	case !settings.IsNull(config):
		d.plan.Values["power"] = config
	case d.creates():
		d.plan.Values["power"] = types.StringNull()
	}
}

// planReported makes known after apply what the changes may change.
func (d *draft) planReported() {
	guest := d.guestChanged()
	if d.unfinished() {
		d.plan.SetUnknown("provisioned", "status", "marked", "reboot_required", "devices", "mac_addresses", effectiveGroup.Name)
		d.forgetAddresses()
		return
	}
	if guest {
		d.plan.SetUnknown("reboot_required")
	}
	if d.differs(deviceGroups()...) {
		d.plan.SetUnknown("devices")
	}
	if d.moves() {
		d.plan.SetUnknown("devices", "status")
	}
	if d.macsChange() {
		d.plan.SetUnknown("mac_addresses")
	}
	if d.differs("cloud_init") {
		d.plan.SetUnknown(effectiveGroup.Name)
	}
	if d.powers() {
		d.plan.SetUnknown("status", "reboot_required")
		d.forgetAddresses()
	}
	d.planRestart(guest)
}

// guestChanged reports whether anything but this provider's own settings
// differs.
func (d *draft) guestChanged() bool {
	p := settings.Planner{Applied: d.applied, KeepLocal: true}
	planned := settings.Fields(p.Object(table, path.Empty(), d.config.Object(), d.state.Object()))
	for name, value := range planned {
		if !value.Equal(d.state.Values[name]) {
			return true
		}
	}
	return d.differs("cloud_init")
}

func (d *draft) differs(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return !d.plan.Values[name].Equal(d.state.Values[name])
	})
}

// macsChange reports whether a network device comes, goes or gets another
// address.
func (d *draft) macsChange() bool {
	planned, held := settings.Entries(d.plan.Values["network"]), settings.Entries(d.state.Values["network"])
	return d.differs("network") && !maps.EqualFunc(planned, held, func(a, b attr.Value) bool {
		return isSame(settings.Fields(a)["mac_address"], settings.Fields(b)["mac_address"])
	})
}

// restarts reports whether the update may restart the guest, which is only the
// case where the plan says so.
func restarts(plan, state settings.Document) bool {
	if plan.Text("reboot") != rebootAuto || state.Text("status") != powerRunning || !state.Provisioned() || plan.Text("power") == powerStopped {
		return false
	}
	return len(state.List("reboot_required")) > 0 || len(waiting(plan, state)) > 0
}

func (d *draft) planRestart(changed bool) {
	if !restarts(d.plan, d.state) {
		return
	}
	d.plan.SetUnknown("reboot_required")
	why := "waiting: " + strings.Join(d.state.List("reboot_required"), ", ")
	if changed {
		why = "changing: " + strings.Join(waiting(d.plan, d.state), ", ")
	}
	d.diags.AddAttributeWarning(settings.At("reboot"), fmt.Sprintf("VM %d may be restarted", d.state.Integer("vmid")),
		fmt.Sprintf("The VM runs, and reboot is %q: it is restarted if Proxmox VE cannot apply the change to the running VM (%s).", rebootAuto, why))
}

// forgetAddresses makes the addresses known after apply, where a guest starts
// anew.
func (d *draft) forgetAddresses() {
	d.plan.Values["network"] = mapAddresses(d.plan.Values["network"], func(string, attr.Value) (attr.Value, attr.Value) {
		return settings.TextList{}.Unknown(), settings.TextList{}.Unknown()
	})
	d.plan.SetUnknown("addresses_stale")
}

// powers reports whether the update changes the guest's power.
func (d *draft) powers() bool {
	power := d.plan.Values["power"]
	enforced := isTrue(d.plan.Values["enforce_power"]) && !power.Equal(d.state.Values["status"])
	return settings.IsKnown(power) && (d.differs("power") || enforced)
}

func refuseDamaged(state settings.Document, diags *diag.Diagnostics) {
	vmid := state.Integer("vmid")
	marker := proxmox.Marker{UID: state.Text("uid"), VMID: vmid}
	diags.AddError(fmt.Sprintf("VM %d has lost its marker and is not changed", vmid),
		"It is the VM that was made here by its SMBIOS uuid and creation time, but the line that says so is gone from its notes. "+
			"Set restore_marker = true to have it written again, or put this line back into the notes in Proxmox VE, and apply again:\n\n"+marker.String())
}
