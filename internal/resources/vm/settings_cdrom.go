package vm

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// emptyDrive is a CD-ROM drive without a medium.
const emptyDrive = "none,media=cdrom"

// noMedium is the volume of an empty drive.
const noMedium = "none"

var imageForm = regexp.MustCompile(`^(none|[A-Za-z][A-Za-z0-9._-]*:iso/[^/,]+\.(?i:iso|img))$`)

// cdromGroup holds configured drives only: a seed's and the template's own are
// not in it.
var cdromGroup = &settings.Group{
	Name: "cdrom", Slots: cdromSlots, Optional: true,
	Doc: "CD-ROM drives with a medium, by slot (`ide2`, `sata0`, `scsi2` …). The medium is changed while the VM runs; a drive comes and goes with a restart. " +
		"A drive that PVE made for cloud-init gives way to one configured in its slot, unless `cloud_init` is configured.",
	Settings: []settings.Setting{{
		Name: "volume_id", Source: settings.Required, Place: medium{}, Live: settings.AtOnce,
		Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(imageForm, "is the volume id of an ISO image, such as local:iso/debian.iso, or none")}},
		Doc:  "The image, such as `local:iso/debian.iso` or the `volume_id` of a `proxmox_seed_iso`; `none` leaves the drive empty.",
	}},
}

// cdromSlots are the drives that are not PVE's own for cloud-init.
var cdromSlots = &settings.Slots{
	Accepts: framework.DiskSlot(),
	Key:     func(slot string) string { return slot },
	Real: func(key, value string) (string, bool) {
		if !diskSlot.MatchString(key) {
			return "", false
		}
		drive, err := proxmox.ParseDisk(value)
		return key, err == nil && drive.IsCDROM() && !drive.IsCloudInit()
	},
}

// medium is the volume in a CD-ROM drive.
type medium struct{}

func (medium) Get(value string) (string, bool) {
	drive, err := proxmox.ParseDisk(value)
	return drive.Volume, err == nil && drive.Volume != ""
}

// put forgets the size, which is the old medium's.
func (medium) Put(_, text string) (string, error) { return text + ",media=cdrom", nil }

func (medium) Drop(string) (string, error) { return emptyDrive, nil }

// checkDrives refuses drives in slots that are something else.
func (d *draft) checkDrives() {
	if slot := settings.TextOf(settings.Fields(d.Config.Values["seed"])["slot"]); !settings.IsNull(settings.Entries(d.Config.Values["cdrom"])[slot]) {
		d.Diags.AddAttributeError(settings.At("seed").AtName("slot"), slot+" is both a drive and the seed's", "Take it out of cdrom, or give the seed another slot.")
	}
	for _, slot := range d.drives() {
		if _, isDisk := settings.Entries(d.Config.Values["disks"])[slot]; isDisk {
			d.Diags.AddAttributeError(d.driveAt(slot), slot+" is a disk", "The slot is configured in disks, too. A drive needs another slot.")
			continue
		}
		device, exists := d.diskInState(slot)
		switch {
		case !exists || len(d.Replaces) > 0:
		case device.IsCloudInit():
			d.keepCloudInitDrive(slot)
		case !device.IsCDROM():
			d.Diags.AddAttributeError(d.driveAt(slot), slot+" is a disk", "The VM has "+slot+"="+device.String()+". A drive needs another slot.")
		}
	}
}

// keepCloudInitDrive refuses a drive in the place of the one that brings what is
// configured in cloud_init.
func (d *draft) keepCloudInitDrive(slot string) {
	if settings.IsNull(d.Config.Values["cloud_init"]) {
		return
	}
	d.Diags.AddAttributeError(d.driveAt(slot), slot+" is the cloud-init drive and cannot be removed",
		"PVE passes what is configured in cloud_init through it. Give the image another slot, or use seed instead of cloud_init.")
}

// drives are the slots of configured drives, the seed's included, sorted.
func (d *draft) drives() []string {
	slots := slices.Collect(maps.Keys(settings.Entries(d.Config.Values["cdrom"])))
	if slot := settings.TextOf(settings.Fields(d.Config.Values["seed"])["slot"]); slot != "" {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	return slots
}

func (d *draft) driveAt(slot string) path.Path {
	if _, isDrive := settings.Entries(d.Config.Values["cdrom"])[slot]; isDrive {
		return settings.At("cdrom").AtMapKey(slot)
	}
	return settings.At("seed").AtName("slot")
}

// checkTemplateDrives refuses drives in slots that are disks of the template.
func (d *draft) checkTemplateDrives(template *proxmox.GuestConfig) {
	disks, drives := template.Disks(), template.CDROMs()
	for _, slot := range d.drives() {
		if drives[slot].IsCloudInit() {
			d.keepCloudInitDrive(slot)
		}
		if _, isDisk := disks[slot]; isDisk {
			d.Diags.AddAttributeError(d.driveAt(slot), slot+" is a disk",
				fmt.Sprintf("Template %d has %s=%s. A drive needs another slot.", template.VMID, slot, template.Get(slot)))
		}
	}
}

// checkImages checks that images which come into a drive are on the VM's node.
func (d *draft) checkImages(ctx context.Context, c *guests.Checker) {
	for slot, drive := range d.Elements("cdrom") {
		volume := drive["volume_id"]
		held := settings.Fields(settings.Entries(d.State.Values["cdrom"])[slot])["volume_id"]
		if !settings.IsKnown(volume) || settings.TextOf(volume) == noMedium || volume.Equal(held) {
			continue
		}
		d.checkImage(ctx, c, settings.At("cdrom").AtMapKey(slot).AtName("volume_id"), settings.TextOf(volume))
	}
}

func (d *draft) checkImage(ctx context.Context, c *guests.Checker, here path.Path, volid string) {
	storage, _, err := proxmox.SplitVolID(volid)
	if err != nil {
		framework.AddAttributeError(d.Diags, here, "use the image "+volid, err)
		return
	}
	storages, err := c.Client.View.Storages(ctx, c.Node)
	if err != nil {
		c.ExplainNode(ctx, err)
		return
	}
	found, ok := framework.FindStorage(ctx, c.Client, storages, c.Node, storage, "iso", here, d.Diags)
	if !ok {
		return
	}
	images, err := c.Client.View.Images(ctx, c.Node, storage)
	if err != nil {
		framework.AddAttributeError(d.Diags, here, fmt.Sprintf("list the images of storage %q on node %s", storage, c.Node), err)
		return
	}
	if slices.ContainsFunc(images, func(v proxmox.Volume) bool { return v.VolID == volid }) {
		return
	}
	detail := "Upload it, or choose another."
	if !found.Shared {
		detail = fmt.Sprintf("Storage %q is not shared: an image has to be on the VM's own node. Put it on %s, or on a shared storage.", storage, c.Node)
	}
	d.Diags.AddAttributeError(here, fmt.Sprintf("There is no image %s on node %s", volid, c.Node), detail)
}
