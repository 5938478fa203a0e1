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
		config:   load(ctx, req.Config, &resp.Diagnostics),
		state:    load(ctx, req.State, &resp.Diagnostics),
		applied:  loadApplied(ctx, req.Private, &resp.Diagnostics),
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
	d.plan.save(ctx, &resp.Plan, &resp.Diagnostics)
}

// planDestroy refuses what would be refused when it is destroyed.
func (r *Resource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	state := load(ctx, req.State, &resp.Diagnostics)
	rules := destroyRulesOf(ctx, state, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !state.exists() {
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
	config, state, plan document
	applied             applied
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
func (d *draft) creates() bool { return !d.state.exists() }

func (d *draft) changes() bool { return d.creates() || !d.plan.equal(d.state) }

func (d *draft) unfinished() bool { return d.state.exists() && !d.state.provisioned() }

// make fills the plan.
func (d *draft) make(ctx context.Context) {
	d.plan = d.state.clone()
	if d.creates() {
		d.plan.values = maps.Clone(d.plan.unknowns)
	}
	d.plan.values["timeouts"] = d.config.values["timeouts"]
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
	lost := d.state.exists() && !isNull(d.state.values["marked"]) && !isTrue(d.state.values["marked"])
	return lost && (d.adopting != "" || isTrue(d.plan.values["restore_marker"]))
}

func (d *draft) planMarker() {
	if !d.marks() {
		return
	}
	d.plan.values["marked"] = types.BoolValue(true)
	if d.adopting != "" {
		d.plan.values["uid"] = types.StringValue(d.adopting)
	}
}

// onlyImported reports whether an imported guest is as it is configured, apart
// from what PVE cannot say: the template, and this provider's own settings.
// That makes no difference; the next real change records it.
func (d *draft) onlyImported() bool {
	return d.imported && d.state.exists() && d.state.provisioned() && d.plan.equal(d.state)
}

func (d *draft) planTable(keepLocal bool) {
	p := planner{applied: d.applied, keepLocal: keepLocal, unfinished: d.unfinished()}
	d.plan.put(p.object(table, path.Empty(), d.config.object(), d.state.object()))
}

// planPlace plans what is given when the guest is made.
func (d *draft) planPlace() {
	d.planNode()
	d.planFixed("storage", types.StringUnknown(), d.defaults.Storage)
	d.planFixed("pool", types.StringNull(), d.defaults.Pool)

	vmid := d.config.values["vmid"]
	if isNull(vmid) || d.undecided(vmid) {
		return
	}
	d.plan.values["vmid"] = vmid
	if d.state.exists() && !vmid.Equal(d.state.values["vmid"]) {
		d.replace.Append(at("vmid"))
	}
}

// undecided reports whether a value that would make another guest is not known
// yet. An existing guest is not planned to be destroyed on a suspicion: it
// stays, and if the value turns out to differ, the apply stops.
func (d *draft) undecided(config attr.Value) bool {
	return d.state.exists() && config.IsUnknown()
}

// planNode plans where the guest is. One that has moved to another allowed node
// stays there; elsewhere it is migrated back.
func (d *draft) planNode() {
	config, state := d.config.values["node"], d.state.values["node"]
	d.plan.values["allowed_nodes"] = d.config.values["allowed_nodes"]
	allowed := d.config.list("allowed_nodes")
	if isKnown(config) && len(allowed) > 0 && !slices.Contains(allowed, textOf(config)) {
		d.diags.AddAttributeError(at("node"), "node is not one of allowed_nodes", "Name it there too: the VM is made on it.")
	}
	switch {
	case d.creates() && !isNull(config):
		d.plan.values["node"] = config
	case d.creates() && d.defaults.Node != "" && (len(allowed) == 0 || slices.Contains(allowed, d.defaults.Node)):
		d.plan.values["node"] = types.StringValue(d.defaults.Node)
	case d.creates():
		d.plan.values["node"] = types.StringUnknown()
	case isNull(config) && len(allowed) == 0, slices.Contains(allowed, textOf(state)), d.config.values["allowed_nodes"].IsUnknown(), config.IsUnknown():
	case isNull(config):
		d.plan.values["node"] = types.StringValue(slices.Min(allowed))
	default:
		d.plan.values["node"] = config
	}
}

// moves reports whether the update migrates the guest.
func (d *draft) moves() bool { return d.state.exists() && d.differs("node") }

// planFixed plans an attribute that is not changed after the guest was made. A
// guest that was moved by hand keeps its place, and the plan says so.
func (d *draft) planFixed(name string, none attr.Value, fallback string) {
	config := d.config.values[name]
	state := d.state.values[name]
	switch {
	case d.creates() && !isNull(config):
		d.plan.values[name] = config
	case d.creates() && fallback != "":
		d.plan.values[name] = types.StringValue(fallback)
	case d.creates():
		d.plan.values[name] = none
	case isKnown(config) && isNull(state):
		d.diags.AddAttributeError(at(name), "The "+name+" of an existing VM cannot be changed here",
			fmt.Sprintf("The VM has none. Change it in Proxmox VE, or leave %s out, or replace the VM.", name))
	case isKnown(config) && !config.Equal(state):
		d.diags.AddAttributeWarning(at(name), "The VM stays where it is",
			fmt.Sprintf("Configured is %s %q, but the VM is on %q. It is not moved by this provider: move it in Proxmox VE, or configure %q.",
				name, textOf(config), textOf(state), textOf(state)))
	}
}

// planTemplate plans the template, which matters only when the guest is made.
func (d *draft) planTemplate() {
	config, state := d.config.values["template"], d.state.values["template"]
	switch {
	case d.creates() && isNull(config):
		d.diags.AddAttributeError(at("template"), "No template is configured", "A VM is made from a template: give the template's vmid.")
	case d.creates():
		d.plan.values["template"] = config
	case isNull(config) || d.undecided(config):
	default:
		d.plan.values["template"] = config
		if d.state.integer("template") != 0 && !config.Equal(state) {
			d.replace.Append(at("template"))
		}
	}
}

func (d *draft) planPower() {
	switch config := d.config.values["power"]; {
	case !isNull(config):
		d.plan.values["power"] = config
	case d.creates():
		d.plan.values["power"] = types.StringNull()
	}
}

// planReported makes known after apply what the changes may change.
func (d *draft) planReported() {
	guest := d.guestChanged()
	if d.unfinished() {
		d.plan.setUnknown("provisioned", "status", "marked", "reboot_required", "devices", "mac_addresses", effectiveGroup.name)
		d.forgetAddresses()
		return
	}
	if guest {
		d.plan.setUnknown("reboot_required")
	}
	if d.differs(deviceGroups()...) {
		d.plan.setUnknown("devices")
	}
	if d.moves() {
		d.plan.setUnknown("devices", "status")
	}
	if d.macsChange() {
		d.plan.setUnknown("mac_addresses")
	}
	if d.differs("cloud_init") {
		d.plan.setUnknown(effectiveGroup.name)
	}
	if d.powers() {
		d.plan.setUnknown("status", "reboot_required")
		d.forgetAddresses()
	}
	d.planRestart(guest)
}

// guestChanged reports whether anything but this provider's own settings
// differs.
func (d *draft) guestChanged() bool {
	p := planner{applied: d.applied, keepLocal: true}
	planned := fields(p.object(table, path.Empty(), d.config.object(), d.state.object()))
	for name, value := range planned {
		if !value.Equal(d.state.values[name]) {
			return true
		}
	}
	return d.differs("cloud_init")
}

func (d *draft) differs(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return !d.plan.values[name].Equal(d.state.values[name])
	})
}

// macsChange reports whether a network device comes, goes or gets another
// address.
func (d *draft) macsChange() bool {
	planned, held := entries(d.plan.values["network"]), entries(d.state.values["network"])
	return d.differs("network") && !maps.EqualFunc(planned, held, func(a, b attr.Value) bool {
		return isSame(fields(a)["mac_address"], fields(b)["mac_address"])
	})
}

// restarts reports whether the update may restart the guest, which is only the
// case where the plan says so.
func restarts(plan, state document) bool {
	if plan.text("reboot") != rebootAuto || state.text("status") != powerRunning || !state.provisioned() || plan.text("power") == powerStopped {
		return false
	}
	return len(state.list("reboot_required")) > 0 || len(waiting(plan, state)) > 0
}

func (d *draft) planRestart(changed bool) {
	if !restarts(d.plan, d.state) {
		return
	}
	d.plan.setUnknown("reboot_required")
	why := "waiting: " + strings.Join(d.state.list("reboot_required"), ", ")
	if changed {
		why = "changing: " + strings.Join(waiting(d.plan, d.state), ", ")
	}
	d.diags.AddAttributeWarning(at("reboot"), fmt.Sprintf("VM %d may be restarted", d.state.integer("vmid")),
		fmt.Sprintf("The VM runs, and reboot is %q: it is restarted if Proxmox VE cannot apply the change to the running VM (%s).", rebootAuto, why))
}

// forgetAddresses makes the addresses known after apply, where a guest starts
// anew.
func (d *draft) forgetAddresses() {
	d.plan.values["network"] = mapAddresses(d.plan.values["network"], func(string, attr.Value) (attr.Value, attr.Value) {
		return textList{}.unknown(), textList{}.unknown()
	})
	d.plan.setUnknown("addresses_stale")
}

// powers reports whether the update changes the guest's power.
func (d *draft) powers() bool {
	power := d.plan.values["power"]
	enforced := isTrue(d.plan.values["enforce_power"]) && !power.Equal(d.state.values["status"])
	return isKnown(power) && (d.differs("power") || enforced)
}

func refuseDamaged(state document, diags *diag.Diagnostics) {
	vmid := state.integer("vmid")
	marker := proxmox.Marker{UID: state.text("uid"), VMID: vmid}
	diags.AddError(fmt.Sprintf("VM %d has lost its marker and is not changed", vmid),
		"It is the VM that was made here by its SMBIOS uuid and creation time, but the line that says so is gone from its notes. "+
			"Set restore_marker = true to have it written again, or put this line back into the notes in Proxmox VE, and apply again:\n\n"+marker.String())
}
