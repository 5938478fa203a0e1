package container

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// CheckSettings checks what can be known without a call.
func (d *draft) CheckSettings() {
	if d.Creates() && settings.IsNull(d.Config.Values["root_volume"]) && d.Defaults.Storage == "" {
		d.Diags.AddAttributeError(settings.At("root_volume"), "No storage is configured for the root volume",
			"Give root_volume.storage, or the provider's defaults.storage.")
	}
	for slot, mount := range d.Elements("mount_points") {
		d.checkMount(settings.At("mount_points").AtMapKey(slot), slot, mount)
	}
	d.checkSizes()
	for slot, device := range d.Elements("network") {
		here := settings.At("network").AtMapKey(slot)
		d.CheckAddress(here.AtName("ipv4"), device["ipv4"])
		d.CheckAddress(here.AtName("ipv6"), device["ipv6"])
	}
	d.CheckDescription(sourceOf(d.Plan))
	d.checkBackups()
	d.checkOnce()
}

func (d *draft) checkMount(at path.Path, slot string, mount map[string]attr.Value) {
	volume := mount["volume"]
	isNew := settings.IsNull(volume) && (d.Creates() || d.Device(slot) == "")
	switch {
	case isNew && d.Applied.Has(at) && !d.Creates() && !d.Unfinished() && !d.Rebuilds:
		d.Diags.AddAttributeError(at, slot+" is gone from the container",
			"It was there when it was applied, so that no empty volume is made in its place. Attach its volume again in Proxmox VE, "+
				"or take it out of the configuration for one apply to make a new one.")
	case isNew && settings.IsNull(mount["size_gib"]):
		d.Diags.AddAttributeError(at.AtName("size_gib"), slot+" would be a new volume and needs a size", "Give size_gib, or name an existing volume.")
	case isNew && settings.IsNull(mount["storage"]) && d.Defaults.Storage == "":
		d.Diags.AddAttributeError(at.AtName("storage"), slot+" would be a new volume and needs a storage", "Give storage, or the provider's defaults.storage.")
	case settings.IsKnown(volume) && isHostPath(settings.TextOf(volume)) && settings.IsTrue(mount["backup"]):
		d.Diags.AddAttributeError(at.AtName("backup"), slot+" is never in a backup", "It is a folder or a device of the node, which PVE's backups leave out whatever this says.")
	}
	if settings.IsTrue(mount["quota"]) && settings.IsTrue(d.Plan.Values["unprivileged"]) {
		d.Diags.AddAttributeError(at.AtName("quota"), "An unprivileged container has no quotas", "PVE would not start it.")
	}
}

// checkSizes refuses to make a volume smaller than it is.
func (d *draft) checkSizes() {
	if d.Creates() || len(d.Replaces) > 0 {
		return
	}
	for slot, want := range wantedSizes(d.Config) {
		real := proxmox.ParseMount(d.Device(slot))
		rebuilt := d.Rebuilds && !slices.Contains(keptSlots(d.Plan), slot)
		if !settings.IsKnown(want) || real.Size == nil || rebuilt || settings.BytesOf(want) >= *real.Size {
			continue
		}
		here := settings.At("root_volume")
		if slot != rootSlot {
			here = settings.At("mount_points").AtMapKey(slot)
		}
		d.Diags.AddAttributeError(here.AtName("size_gib"), slot+" would shrink",
			fmt.Sprintf("The volume is %s, configured is %s. PVE cannot shrink a volume: configure at least its size.", real.Size, settings.BytesOf(want)))
	}
}

// checkBackups warns of new data volumes that nobody decided about.
func (d *draft) checkBackups() {
	var open []string
	for slot, mount := range d.Elements("mount_points") {
		_, before := settings.Entries(d.State.Values["mount_points"])[slot]
		if !before && settings.IsNull(mount["backup"]) && !isHostPath(settings.TextOf(mount["volume"])) {
			open = append(open, slot)
		}
	}
	if len(open) > 0 {
		d.Diags.AddAttributeWarning(settings.At("mount_points"), "No backup will include "+strings.Join(open, ", "),
			"PVE leaves mount points out of backups unless told otherwise, in contrast to a VM's disks. Set backup = true, or backup = false to say that this is meant.")
	}
}

// checkOnce warns of what takes effect only when a container is made.
func (d *draft) checkOnce() {
	if d.Creates() || d.Rebuilds || len(d.Replaces) > 0 || !d.Differs("ssh_keys") {
		return
	}
	d.Diags.AddAttributeWarning(settings.At("ssh_keys"), "The keys inside the container stay as they are",
		"PVE sets them when a container is made or reinstalled. Change them inside, or change reinstall.trigger.")
}

// checkTemplate checks that the template is there to be unpacked.
func (d *draft) checkTemplate(ctx context.Context, c *guests.Checker) {
	here := settings.At("template")
	template := d.Config.Values["template"]
	if !settings.IsKnown(template) {
		return
	}
	volid := settings.TextOf(template)
	storage, name, err := proxmox.SplitVolID(volid)
	if err != nil || !strings.HasPrefix(name, "vztmpl/") {
		d.Diags.AddAttributeError(here, fmt.Sprintf("%q is no container template", volid),
			"Give a volume of the content vztmpl, such as local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst.")
		return
	}
	storages, err := c.Client.View.Storages(ctx, c.Node)
	if err != nil {
		c.ExplainNode(ctx, err)
		return
	}
	if _, ok := framework.FindStorage(ctx, c.Client, storages, c.Node, storage, "vztmpl", here, d.Diags); !ok {
		return
	}
	_, exists, err := c.Client.Storage.Volume(ctx, c.Node, volid)
	switch {
	case err != nil:
		framework.AddAttributeError(d.Diags, here, "look for the template", err)
	case !exists:
		d.Diags.AddAttributeError(here, "There is no template "+volid, "Node "+c.Node+" does not have it. Download it there, in Proxmox VE or with pveam.")
	}
}
