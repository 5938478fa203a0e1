package vm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// draft is a plan being made.
type draft struct {
	*guests.Draft
	seed seedNote
	// leavesSeed is set where the VM moves away from its seed.
	leavesSeed bool
	// template is the one that a new guest is made from; nil where it is not known.
	template *proxmox.GuestConfig
}

// Load reads what the state does not say of the seed.
func (d *draft) Load(ctx context.Context, private framework.PrivateReader) {
	d.seed = loadSeedNote(ctx, private, d.Diags)
}

// PlanOwn plans the storage and the seed.
func (d *draft) PlanOwn(ctx context.Context) {
	d.PlanFixed("storage", types.StringUnknown(), d.Defaults.Storage)
	d.planSeed(ctx)
}

// PlanSource plans the template, which matters only when the guest is made.
func (d *draft) PlanSource() {
	config, state := d.Config.Values["template"], d.State.Values["template"]
	switch {
	case d.Creates() && settings.IsNull(config):
		d.Diags.AddAttributeError(settings.At("template"), "No template is configured", "A VM is made from a template: give the template's vmid.")
	case d.Creates():
		d.Plan.Values["template"] = config
	case settings.IsNull(config) || d.Undecided(config):
	default:
		d.Plan.Values["template"] = config
		if d.State.Integer("template") != 0 && !config.Equal(state) {
			d.Replaces.Append(settings.At("template"))
		}
	}
}

// PlanReported makes known after apply what cloud-init is given.
func (d *draft) PlanReported() {
	if d.Unfinished() || d.Differs(cloudInitGroup.Name) {
		d.Plan.SetUnknown(effectiveGroup.Name, "reboot_required")
	}
}

// deviceGroups are the attributes whose devices show in "devices".
func deviceGroups() []string {
	names := []string{cloudInitGroup.Name} // Its drive.
	for _, g := range table.Groups {
		if g.Slots != nil && g != numaGroup || g.Device != "" {
			names = append(names, g.Name)
		}
	}
	return names
}

// Scope names the template.
func (d *draft) Scope() proxmox.Scope {
	if !settings.IsKnown(d.Plan.Values["template"]) {
		return proxmox.Scope{}
	}
	return proxmox.Scope{"template": {strconv.Itoa(d.Plan.Integer("template"))}}
}

// Storages are the storages that the plan makes volumes on, with the attribute
// that names each.
func (d *draft) Storages() map[string]path.Path {
	wanted := map[string]path.Path{}
	if storage := d.Plan.Values["storage"]; d.Creates() && settings.IsKnown(storage) {
		wanted[settings.TextOf(storage)] = settings.At("storage")
	}
	want := func(slot string, storage attr.Value, at path.Path) {
		if real, exists := d.diskInState(slot); settings.IsKnown(storage) && (!exists || real.Storage() != settings.TextOf(storage)) {
			wanted[settings.TextOf(storage)] = at.AtName("storage")
		}
	}
	for slot, disk := range d.Elements("disks") {
		want(slot, disk["storage"], settings.At("disks").AtMapKey(slot))
	}
	for _, g := range volumeGroups {
		want(g.Device, settings.Fields(d.Config.Values[g.Name])["storage"], settings.At(g.Name))
	}
	return wanted
}

// CheckMove asks PVE whether the VM can move. Its own seed does not keep it where
// it is: that is made anew on the other node.
func (d *draft) CheckMove(ctx context.Context, c *guests.Checker) (how, refusal string, err error) {
	target := d.Plan.Text("node")
	migration, err := c.Client.VMs.CheckMigration(ctx, d.State.Text("node"), d.State.Integer("vmid"), target)
	if err != nil {
		return "", "", err
	}
	how = "It is stopped."
	if migration.Running {
		how = "It goes on running meanwhile."
	}
	if disks := migration.Copied(); len(disks) > 0 {
		how += fmt.Sprintf(" Its volumes on storages that are not shared are copied: %s.", disks)
	}
	images := migration.Images()
	foreign := slices.DeleteFunc(slices.Clone(images), func(volid string) bool {
		name, ok := seeds.ParseName(volid)
		return ok && name.UID == d.State.Text("uid")
	})
	if d.leavesSeed = len(foreign) < len(images); d.leavesSeed {
		how += " Its seed is on a storage that is not shared, and is made anew there."
		d.planSeed(ctx)
	}
	refusal = migration.Refusal(target)
	if refusal == "" && len(foreign) > 0 {
		refusal = fmt.Sprintf("its drives hold images of a storage that is not shared, %s, which have to be taken out first", strings.Join(foreign, ", "))
	}
	return how, refusal, nil
}

// CheckChange refuses to detach the disk that the VM boots from.
func (d *draft) CheckChange(ctx context.Context, c *guests.Checker) { d.checkDiskRemovals(ctx, c) }

// CheckPlaced checks what has to be on the node.
func (d *draft) CheckPlaced(ctx context.Context, c *guests.Checker) {
	d.checkImages(ctx, c)
	d.checkSeed(ctx, c)
}
