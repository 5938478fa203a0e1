package guests

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// planPlace plans what is given when the guest is made.
func (d *Draft) planPlace() {
	d.planNode()
	d.PlanFixed("pool", types.StringNull(), d.Defaults.Pool)
	d.PlanReplacing("vmid", types.Int64Unknown())
}

// planNode plans where the guest is. One that has moved to another allowed node
// stays there; elsewhere it is migrated back.
func (d *Draft) planNode() {
	config, state := d.Config.Values["node"], d.State.Values["node"]
	d.Plan.Values["allowed_nodes"] = d.Config.Values["allowed_nodes"]
	allowed := d.Config.List("allowed_nodes")
	if settings.IsKnown(config) && len(allowed) > 0 && !slices.Contains(allowed, settings.TextOf(config)) {
		d.Diags.AddAttributeError(settings.At("node"), "node is not one of allowed_nodes", fmt.Sprintf("Name it there too: the %s is made on it.", d.Kind))
	}
	switch {
	case d.Creates() && !settings.IsNull(config):
		d.Plan.Values["node"] = config
	case d.Creates() && d.Defaults.Node != "" && (len(allowed) == 0 || slices.Contains(allowed, d.Defaults.Node)):
		d.Plan.Values["node"] = types.StringValue(d.Defaults.Node)
	case d.Creates():
		d.Plan.Values["node"] = types.StringUnknown()
	case settings.IsNull(config) && len(allowed) == 0, slices.Contains(allowed, settings.TextOf(state)), d.Config.Values["allowed_nodes"].IsUnknown(), config.IsUnknown():
	case settings.IsNull(config):
		d.Plan.Values["node"] = types.StringValue(slices.Min(allowed))
	default:
		d.Plan.Values["node"] = config
	}
}

// moves reports whether the update migrates the guest.
func (d *Draft) moves() bool { return d.State.Exists() && d.Differs("node") }

// PlanFixed plans an attribute that is not changed after the guest was made. A
// guest that was moved by hand keeps its place, and the plan says so.
func (d *Draft) PlanFixed(name string, none attr.Value, fallback string) {
	config, state := d.Config.Values[name], d.State.Values[name]
	switch {
	case d.Creates() && !settings.IsNull(config):
		d.Plan.Values[name] = config
	case d.Creates() && fallback != "":
		d.Plan.Values[name] = types.StringValue(fallback)
	case d.Creates():
		d.Plan.Values[name] = none
	case settings.IsKnown(config) && settings.IsNull(state):
		d.Diags.AddAttributeError(settings.At(name), fmt.Sprintf("The %s of an existing %s cannot be changed here", name, d.Kind),
			fmt.Sprintf("The %[1]s has none. Change it in Proxmox VE, or leave %[2]s out, or replace the %[1]s.", d.Kind, name))
	case settings.IsKnown(config) && !config.Equal(state):
		d.Diags.AddAttributeWarning(settings.At(name), fmt.Sprintf("The %s stays where it is", d.Kind),
			fmt.Sprintf("Configured is %s %q, but the %s is on %q. It is not moved by this provider: move it in Proxmox VE, or configure %q.",
				name, settings.TextOf(config), d.Kind, settings.TextOf(state), settings.TextOf(state)))
	}
}

// PlanReplacing plans an attribute that makes another guest when it changes; none
// is what a new guest has that does not configure it.
func (d *Draft) PlanReplacing(name string, none attr.Value) {
	config := d.Config.Values[name]
	switch {
	case d.Creates() && settings.IsNull(config):
		d.Plan.Values[name] = none
	case settings.IsNull(config), d.Undecided(config):
	default:
		d.Plan.Values[name] = config
		if d.State.Exists() && !config.Equal(d.State.Values[name]) {
			d.Replaces.Append(settings.At(name))
		}
	}
}

// Undecided reports whether a value that would make another guest is not known
// yet. An existing guest is not planned to be destroyed on a suspicion: it
// stays, and if the value turns out to differ, the apply stops.
func (d *Draft) Undecided(config attr.Value) bool {
	return d.State.Exists() && config.IsUnknown()
}
