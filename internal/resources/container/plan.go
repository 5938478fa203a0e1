package container

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// draft is a plan being made.
type draft struct{ *guests.Draft }

// Load reads nothing.
func (d *draft) Load(context.Context, framework.PrivateReader) {}

// PlanOwn plans whether the container is privileged, and a node of those that are
// allowed where none is named.
func (d *draft) PlanOwn(context.Context) {
	for name := range neverAttributes() {
		d.Plan.Values[name] = d.Config.Values[name]
	}
	d.PlanReplacing("unprivileged", types.BoolValue(true))
	if !d.Creates() {
		return
	}
	d.Plan.Values["reinstallation"] = types.MapNull(types.StringType)
	if allowed := d.Config.List("allowed_nodes"); d.Plan.Values["node"].IsUnknown() && settings.IsNull(d.Config.Values["node"]) && len(allowed) > 0 {
		d.Plan.Values["node"] = types.StringValue(slices.Min(allowed))
	}
}

// PlanSource plans the template, and what a changed one means.
func (d *draft) PlanSource() {
	config, state := d.Config.Values["template"], d.State.Values["template"]
	switch {
	case d.Creates() && settings.IsNull(config):
		d.Diags.AddAttributeError(settings.At("template"), "No template is configured", "A container is unpacked from a template: give its volume id.")
		return
	case d.Creates():
		d.Plan.Values["template"] = config
		return
	case settings.IsNull(config), d.Undecided(config):
	default:
		d.Plan.Values["template"] = config
	}
	changed := d.State.Text("template") != "" && settings.IsKnown(config) && !config.Equal(state)
	switch {
	case settings.IsNull(d.Config.Values["reinstall"]):
		if changed {
			d.Replaces.Append(settings.At("template"))
		}
	case !d.Unfinished() && (changed || d.triggered()):
		d.Rebuilds = true
		d.planReinstall()
	}
}

// triggered reports whether the text that asks for a reinstallation has changed;
// the first one that is configured asks for none.
func (d *draft) triggered() bool {
	want := settings.Fields(d.Plan.Values["reinstall"])["trigger"]
	had := settings.Fields(d.State.Values["reinstall"])["trigger"]
	return settings.IsKnown(want) && settings.IsKnown(had) && !want.Equal(had)
}

// PlanReported makes known after apply what the end of a reinstallation brings.
func (d *draft) PlanReported() {
	if d.Unfinished() {
		d.Plan.SetUnknown("reinstallation")
		d.forgetVolumes()
	}
}

// Scope names the template's storage.
func (d *draft) Scope() proxmox.Scope {
	storage, _, err := proxmox.SplitVolID(d.Plan.Text("template"))
	if err != nil {
		return proxmox.Scope{}
	}
	return proxmox.Scope{"vztmpl": {storage}}
}

// Storages are the storages that the plan makes volumes on, with the attribute
// that names each.
func (d *draft) Storages() map[string]path.Path {
	wanted := map[string]path.Path{}
	want := func(at path.Path, slot string, volume map[string]attr.Value) {
		exists := d.Device(slot) != "" && !d.Rebuilds
		if exists || settings.IsKnown(volume["volume"]) || volume["storage"] != nil && volume["storage"].IsUnknown() {
			return
		}
		name := settings.TextOf(volume["storage"])
		if name == "" {
			name = d.Defaults.Storage
		}
		if name != "" {
			wanted[name] = at
		}
	}
	want(settings.At("root_volume"), rootSlot, settings.Fields(d.Config.Values["root_volume"]))
	for slot, mount := range d.Elements("mount_points") {
		want(settings.At("mount_points").AtMapKey(slot), slot, mount)
	}
	return wanted
}

// Uses are what a container that is privileged takes besides.
func (d *draft) Uses() []framework.Use {
	unprivileged := d.Plan.Values["unprivileged"]
	if !d.Creates() && !d.Rebuilds || !settings.IsKnown(unprivileged) || settings.IsTrue(unprivileged) {
		return nil
	}
	return []framework.Use{{Capability: "container.privileged", Action: "make a privileged container"}}
}

// CheckSource checks the node and the template.
func (d *draft) CheckSource(ctx context.Context, c *guests.Checker) {
	if c.Node == "" {
		if settings.IsNull(d.Config.Values["node"]) {
			d.Diags.AddAttributeError(settings.At("node"), "No node is configured", "A container is made on a node: set node, or the provider's defaults.node.")
		}
		return
	}
	if !framework.CheckNode(ctx, c.Client, c.Node, settings.At("node"), d.Diags) {
		c.Node = "" // Nothing else can be asked of it.
		return
	}
	d.checkTemplate(ctx, c)
}

// CheckChange checks what a reinstallation stands on. It happens where the container
// is; if that is to move, it does so afterwards.
func (d *draft) CheckChange(ctx context.Context, c *guests.Checker) {
	if !d.Rebuilds {
		return
	}
	c.Node = d.State.Text("node")
	d.checkTemplate(ctx, c)
	d.checkReinstall(ctx, c)
}

// CheckPlaced checks nothing more.
func (d *draft) CheckPlaced(context.Context, *guests.Checker) {}

// CheckMove looks at the storages of the node that the container is to move to:
// only PVE 9 could be asked, and it does not tell of them.
func (d *draft) CheckMove(ctx context.Context, c *guests.Checker) (how, refusal string, err error) {
	target := d.Plan.Text("node")
	storages, err := c.Client.View.Storages(ctx, target)
	if err != nil {
		return "", "", err
	}
	var copied []string
	for slot, mount := range d.volumes() {
		if !mount.IsVolume() {
			return "", fmt.Sprintf("%s is %s of its node", slot, mount.Volume), nil
		}
		i := slices.IndexFunc(storages, func(s proxmox.NodeStorage) bool { return s.Storage == mount.Storage() })
		if i < 0 || !bool(storages[i].Enabled) || !bool(storages[i].Active) || !storages[i].Allows(kind.Content) {
			return "", fmt.Sprintf("that node has no storage %s for container volumes", mount.Storage()), nil
		}
		if !bool(storages[i].Shared) {
			copied = append(copied, mount.Volume)
		}
	}
	how = "It is stopped."
	if d.State.Text("status") == guests.PowerRunning {
		how = "PVE moves no container while it runs: it is shut down, moved, and started there."
	}
	if len(copied) > 0 {
		how += fmt.Sprintf(" Its volumes on storages that are not shared are copied: %s.", strings.Join(copied, ", "))
	}
	return how, "", nil
}
