package container

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
	ctx, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	if req.Plan.Raw.IsNull() {
		checkDestruction(settings.Load(ctx, req.State, &resp.Diagnostics), settings.LoadApplied(ctx, req.Private, &resp.Diagnostics), &resp.Diagnostics)
		return
	}
	d := draft{
		config:   settings.Load(ctx, req.Config, &resp.Diagnostics),
		state:    settings.Load(ctx, req.State, &resp.Diagnostics),
		applied:  settings.LoadApplied(ctx, req.Private, &resp.Diagnostics),
		defaults: r.defaults(),
		diags:    &resp.Diagnostics,
	}
	d.imported, _ = framework.GetPrivate[bool](ctx, req.Private, privateImported, &resp.Diagnostics)
	standing, _ := framework.GetPrivate[string](ctx, req.Private, privateStanding, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	d.make()
	resp.RequiresReplace = append(resp.RequiresReplace, d.replace...)
	if len(d.replace) > 0 {
		checkDestruction(d.state, d.applied, d.diags)
	}
	if d.changes() {
		if standing == proxmox.Damaged.String() {
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

// draft is a plan being made.
type draft struct {
	config, state, plan settings.Document
	applied             settings.Applied
	// imported is set from the import on until the first change.
	imported bool
	// reinstalls is set where the plan rebuilds the container.
	reinstalls bool
	defaults   framework.Defaults
	replace    path.Paths
	diags      *diag.Diagnostics
}

// creates reports whether the plan makes a guest. A replacement is planned
// twice: first against the old guest, then without one.
func (d *draft) creates() bool { return !d.state.Exists() }

func (d *draft) changes() bool { return d.creates() || !d.plan.Equal(d.state) }

func (d *draft) unfinished() bool { return d.state.Exists() && !d.state.Provisioned() }

// make fills the plan.
func (d *draft) make() {
	d.plan = d.state.Clone()
	if d.creates() {
		d.plan.Values = d.plan.Unknowns()
		d.plan.Values["reinstallation"] = types.MapNull(types.StringType)
	}
	for name := range neverAttributes() {
		d.plan.Values[name] = d.config.Values[name]
	}
	d.plan.Values["timeouts"] = d.config.Values["timeouts"]
	d.planPlace()
	d.planPower()
	d.planTable(d.imported)
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

// onlyImported reports whether an imported guest is as it is configured, apart
// from what PVE cannot say. That makes no difference; the next real change
// records it.
func (d *draft) onlyImported() bool {
	return d.imported && d.state.Exists() && d.state.Provisioned() && d.plan.Equal(d.state)
}

func (d *draft) planTable(keepLocal bool) {
	p := settings.Planner{Applied: d.applied, KeepLocal: keepLocal, Unfinished: d.unfinished()}
	d.plan.Put(p.Object(table, path.Empty(), d.config.Object(), d.state.Object()))
}

// planPlace plans what is given when the guest is made.
func (d *draft) planPlace() {
	d.planFixed("node", types.StringUnknown(), d.defaults.Node)
	d.planFixed("pool", types.StringNull(), d.defaults.Pool)
	d.planReplacing("vmid", nil)
	d.planReplacing("unprivileged", types.BoolValue(true))
}

// planReplacing plans an attribute that makes another guest when it changes.
func (d *draft) planReplacing(name string, none attr.Value) {
	config := d.config.Values[name]
	switch {
	case settings.IsNull(config) && d.creates() && none != nil:
		d.plan.Values[name] = none
	case settings.IsNull(config), d.state.Exists() && config.IsUnknown():
	default:
		d.plan.Values[name] = config
		if d.state.Exists() && !config.Equal(d.state.Values[name]) {
			d.replace.Append(settings.At(name))
		}
	}
}

// planFixed plans an attribute that is not changed after the guest was made. A
// guest that was moved by hand keeps its place, and the plan says so.
func (d *draft) planFixed(name string, none attr.Value, fallback string) {
	config, state := d.config.Values[name], d.state.Values[name]
	switch {
	case d.creates() && !settings.IsNull(config):
		d.plan.Values[name] = config
	case d.creates() && fallback != "":
		d.plan.Values[name] = types.StringValue(fallback)
	case d.creates():
		d.plan.Values[name] = none
	case settings.IsKnown(config) && settings.IsNull(state):
		d.diags.AddAttributeError(settings.At(name), "The "+name+" of an existing container cannot be changed here",
			fmt.Sprintf("The container has none. Change it in Proxmox VE, or leave %s out, or replace the container.", name))
	case settings.IsKnown(config) && !config.Equal(state):
		d.diags.AddAttributeWarning(settings.At(name), "The container stays where it is",
			fmt.Sprintf("Configured is %s %q, but the container is on %q. It is not moved by this provider: move it in Proxmox VE, or configure %q.",
				name, settings.TextOf(config), settings.TextOf(state), settings.TextOf(state)))
	}
}

// planTemplate plans the template, and what a changed one means.
func (d *draft) planTemplate() {
	config, state := d.config.Values["template"], d.state.Values["template"]
	switch {
	case d.creates() && settings.IsNull(config):
		d.diags.AddAttributeError(settings.At("template"), "No template is configured", "A container is unpacked from a template: give its volume id.")
		return
	case d.creates():
		d.plan.Values["template"] = config
		return
	case settings.IsNull(config), config.IsUnknown():
	default:
		d.plan.Values["template"] = config
	}
	changed := d.state.Text("template") != "" && settings.IsKnown(config) && !config.Equal(state)
	switch {
	case settings.IsNull(d.config.Values["reinstall"]):
		if changed {
			d.replace.Append(settings.At("template"))
		}
	case !d.unfinished() && (changed || d.triggered()):
		d.reinstalls = true
		d.planReinstall()
	}
}

// triggered reports whether the text that asks for a reinstallation has changed;
// the first one that is configured asks for none.
func (d *draft) triggered() bool {
	want := settings.Fields(d.plan.Values["reinstall"])["trigger"]
	had := settings.Fields(d.state.Values["reinstall"])["trigger"]
	return settings.IsKnown(want) && settings.IsKnown(had) && !want.Equal(had)
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
	if d.unfinished() || d.reinstalls {
		d.plan.SetUnknown("provisioned", "status", "reboot_required", "devices", "mac_addresses")
		if d.unfinished() {
			d.plan.SetUnknown("reinstallation")
			d.forgetVolumes()
		}
		d.forgetAddresses()
		return
	}
	if d.differs(restartingAttributes(d.plan, d.state)...) {
		d.plan.SetUnknown("reboot_required")
	}
	if d.differs("root_volume", "mount_points", "network", "passthrough") {
		d.plan.SetUnknown("devices")
	}
	if d.macsChange() {
		d.plan.SetUnknown("mac_addresses")
	}
	if d.differs("power") && settings.IsKnown(d.plan.Values["power"]) {
		d.plan.SetUnknown("status", "reboot_required")
		d.forgetAddresses()
	}
	d.planRestart()
}

func (d *draft) differs(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return !d.plan.Values[name].Equal(d.state.Values[name])
	})
}

// macsChange reports whether a network interface comes, goes or gets another
// address.
func (d *draft) macsChange() bool {
	planned, held := settings.Entries(d.plan.Values["network"]), settings.Entries(d.state.Values["network"])
	return d.differs("network") && !maps.EqualFunc(planned, held, func(a, b attr.Value) bool {
		return isSame(settings.Fields(a)["mac_address"], settings.Fields(b)["mac_address"])
	})
}

func isSame(a, b attr.Value) bool {
	if settings.IsNull(a) || settings.IsNull(b) {
		return settings.IsNull(a) == settings.IsNull(b)
	}
	return a.Equal(b)
}

// restarts reports whether the update may restart the container, which is only
// the case where the plan says so.
func restarts(plan, state settings.Document) bool {
	if plan.Text("reboot") != rebootAuto || state.Text("status") != powerRunning || !state.Provisioned() || plan.Text("power") == powerStopped {
		return false
	}
	return len(state.List("reboot_required")) > 0 || len(restartingAttributes(plan, state)) > 0
}

// restartingAttributes names what changes and may wait for a restart, sorted.
func restartingAttributes(plan, state settings.Document) []string {
	var names []string
	live := liveAttributes()
	for name := range table.ObjectType().AttrTypes {
		if !live[name] && !plan.Values[name].Equal(state.Values[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// liveAttributes take effect in a running container, or are no matter of PVE's.
func liveAttributes() map[string]bool {
	live := map[string]bool{"cpu": true, "memory": true, "startup": true, "network": true, "stop": true, "reinstall": true, "on_destroy": true}
	for _, s := range table.Settings {
		if s.Live == settings.AtOnce || s.Source == settings.Local || s.Source == settings.Secret {
			live[s.Name] = true
		}
	}
	return live
}

func (d *draft) planRestart() {
	if !restarts(d.plan, d.state) {
		return
	}
	d.plan.SetUnknown("reboot_required")
	why := "waiting: " + strings.Join(d.state.List("reboot_required"), ", ")
	if names := restartingAttributes(d.plan, d.state); len(names) > 0 {
		why = "changing: " + strings.Join(names, ", ")
	}
	d.diags.AddAttributeWarning(settings.At("reboot"), fmt.Sprintf("Container %d may be restarted", d.state.Integer("vmid")),
		fmt.Sprintf("The container runs, and reboot is %q: it is restarted if Proxmox VE cannot apply the change to it as it runs (%s).", rebootAuto, why))
}

func refuseDamaged(state settings.Document, diags *diag.Diagnostics) {
	vmid := state.Integer("vmid")
	marker := proxmox.Marker{UID: state.Text("uid"), VMID: vmid}
	diags.AddError(fmt.Sprintf("Container %d has lost its marker and is not changed", vmid),
		"It is the container that was made here by the addresses of its network interfaces, but the line that says so is gone from its notes. "+
			"Put this line back into the notes in Proxmox VE, and apply again:\n\n"+marker.String())
}
