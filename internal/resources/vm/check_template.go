package vm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// CheckSource checks the template and what is cloned from it.
func (d *draft) CheckSource(ctx context.Context, c *guests.Checker) {
	if node := d.Plan.Values["node"]; settings.IsKnown(node) {
		c.Node = settings.TextOf(node)
	}
	if !settings.IsKnown(d.Config.Values["template"]) {
		return
	}
	template, ok := d.findTemplate(ctx, c, d.Config.Integer("template"))
	if !ok {
		return
	}
	if settings.IsNull(d.Config.Values["node"]) && d.Defaults.Node == "" {
		c.Node = template.Node
		if allowed := d.Config.List("allowed_nodes"); len(allowed) > 0 && !slices.Contains(allowed, template.Node) {
			c.Node = slices.Min(allowed)
		}
		d.Plan.Values["node"] = types.StringValue(c.Node)
	}
	d.template = template
	d.checkBootDisk(template)
	d.checkTemplateDrives(template)
	for slot, disk := range d.Elements("disks") {
		d.checkTemplateDisk(template, slot, disk)
	}
	switch {
	case c.Node == "" || c.Node == template.Node:
	case framework.CheckNode(ctx, c.Client, c.Node, settings.At("node"), d.Diags):
		d.checkElsewhere(ctx, c, template)
	default:
		c.Node = "" // Nothing else can be asked of it.
	}
}

// findTemplate reads the template's configuration.
func (d *draft) findTemplate(ctx context.Context, c *guests.Checker, vmid int) (*proxmox.GuestConfig, bool) {
	here := settings.At("template")
	if c.Bounds.Contains(vmid) {
		d.Diags.AddAttributeError(here, fmt.Sprintf("Template %d lies inside the vmid_range", vmid),
			fmt.Sprintf("The range %s is for guests that are made and destroyed here, so that a template in it is not safe. Move one or the other.", c.Bounds))
		return nil, false
	}
	config, err := readTemplate(ctx, c.Client, vmid)
	if err != nil {
		framework.AddAttributeError(d.Diags, here, fmt.Sprintf("use VM %d as a template", vmid), err)
		return nil, false
	}
	return config, true
}

// readTemplate finds and reads a template by its vmid.
func readTemplate(ctx context.Context, client *proxmox.Client, vmid int) (*proxmox.GuestConfig, error) {
	guest, listed, err := client.View.Guest(ctx, vmid)
	switch {
	case err != nil:
		return nil, err
	case listed && guest.Type != string(proxmox.KindVM):
		return nil, fmt.Errorf("guest %d is a container, not a VM template", vmid)
	case listed:
		config, err := client.View.VMConfig(ctx, guest.Node, vmid)
		if err == nil && !config.Template() {
			err = fmt.Errorf("VM %d %q is not a template: convert it in Proxmox VE, or name another", vmid, config.Get("name"))
		}
		return config, err
	}
	free, err := client.Cluster.VMIDFree(ctx, vmid)
	if err != nil {
		return nil, err
	}
	if free {
		return nil, fmt.Errorf("there is no guest %d in the cluster", vmid)
	}
	return nil, fmt.Errorf("guest %d exists, but the token may not see it: the privilege VM.Audit on /vms/%d is missing, and VM.Clone is needed too", vmid, vmid)
}

// checkBootDisk refuses a first slot that only looks like the boot disk: it
// would be a new, empty disk beside the one that the guest boots from.
func (d *draft) checkBootDisk(template *proxmox.GuestConfig) {
	boot, ok := template.BootDisk()
	if !ok {
		return
	}
	disks := settings.Entries(d.Config.Values["disks"])
	if _, named := disks[boot]; named {
		return
	}
	for slot := range d.Elements("disks") {
		if _, real := template.Disks()[slot]; real || !strings.HasSuffix(slot, "0") || strings.Trim(slot, "0123456789")+"0" != slot {
			continue
		}
		d.Diags.AddAttributeError(settings.At("disks").AtMapKey(slot), fmt.Sprintf("The boot disk of template %d is %s, not %s", template.VMID, boot, slot),
			fmt.Sprintf("%s would be a new, empty disk. Name %s to grow the boot disk. To add an empty disk at %s all the same, name %s too, for example as %s = {}.", slot, boot, slot, boot, boot))
	}
}

func (d *draft) checkTemplateDisk(template *proxmox.GuestConfig, slot string, disk map[string]attr.Value) {
	here := settings.At("disks").AtMapKey(slot)
	if _, isDrive := template.CDROMs()[slot]; isDrive {
		d.Diags.AddAttributeError(here, slot+" is a CD-ROM drive", fmt.Sprintf("Template %d has %s=%s. A disk needs another slot.", template.VMID, slot, template.Get(slot)))
		return
	}
	real, exists := template.Disks()[slot]
	if !exists {
		d.checkNewDisk(here, slot, disk)
		return
	}
	if real.Size != nil {
		d.checkGrowth(here, slot, disk["size_gib"], *real.Size, "of the template is")
	}
}

// checkElsewhere checks a clone to another node than the template's, for which
// PVE wants each of its volumes, CD-ROM drives included, on a shared storage.
func (d *draft) checkElsewhere(ctx context.Context, c *guests.Checker, template *proxmox.GuestConfig) {
	storages, err := c.Client.View.Storages(ctx, template.Node)
	if err != nil {
		framework.AddError(d.Diags, "list the storages of node "+template.Node, err)
		return
	}
	drives := template.Disks()
	maps.Copy(drives, template.CDROMs())
	for _, slot := range slices.Sorted(maps.Keys(drives)) {
		name := drives[slot].Storage()
		if name == "" || shared(storages, name) {
			continue
		}
		d.Diags.AddAttributeError(settings.At("node"), fmt.Sprintf("Template %d cannot be cloned to %s", template.VMID, c.Node),
			fmt.Sprintf("It is on %s, and its %s is on the storage %q, which is not shared. Make the VM on %s, move the template to a shared storage, "+
				"or make a template on %s.", template.Node, slot, name, template.Node, c.Node))
		return
	}
	if target := d.Plan.Values["storage"]; settings.IsKnown(target) && !shared(storages, settings.TextOf(target)) {
		d.Diags.AddAttributeError(settings.At("storage"), fmt.Sprintf("Template %d cannot be cloned to %s on storage %q", template.VMID, c.Node, settings.TextOf(target)),
			fmt.Sprintf("It is on %s, and PVE clones to another node only onto a shared storage.", template.Node))
	}
}

func shared(storages []proxmox.NodeStorage, name string) bool {
	return slices.ContainsFunc(storages, func(s proxmox.NodeStorage) bool { return s.Storage == name && bool(s.Shared) })
}

// checkDiskRemovals refuses to detach the disk that the guest boots from.
func (d *draft) checkDiskRemovals(ctx context.Context, c *guests.Checker) {
	removed := guests.Removed("disks", d.Applied, d.Config)
	if len(removed) == 0 {
		return
	}
	config, err := c.Client.View.VMConfig(ctx, d.State.Text("node"), d.State.Integer("vmid"))
	if err != nil {
		framework.AddError(d.Diags, "read the VM's boot order", err)
		return
	}
	if boot, ok := config.BootDisk(); ok && slices.Contains(removed, boot) {
		d.Diags.AddAttributeError(settings.At("disks"), boot+" cannot be removed", "It is the disk that the VM boots from. To boot from another one, change boot_order first.")
	}
}
