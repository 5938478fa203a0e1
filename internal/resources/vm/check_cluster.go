package vm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// check asks the cluster what the plan stands on. It reads the shared view, so
// that a hundred plans cost few calls, and only what is configured.
func (r *Resource) check(ctx context.Context, d *draft) {
	c := &checker{client: r.Client(d.diags), draft: d, bounds: r.Data.VMIDRange}
	if c.client == nil {
		return
	}
	if len(d.replace) > 0 {
		return // Planned again, as a new guest.
	}
	c.checkRoot()
	c.checkSince(ctx)
	if d.creates() {
		if !r.Data.RequireVMIDRange(d.diags) {
			return
		}
		if !c.checkPrivileges(ctx) {
			return
		}
		if settings.IsNull(d.config.Values["vmid"]) {
			r.Data.WarnReuse(ctx, d.diags)
		}
		c.checkVMID(ctx)
		c.checkTemplate(ctx)
	} else {
		c.node = d.plan.Text("node")
		if d.moves() && !c.checkMigration(ctx) {
			return
		}
		c.checkDiskRemovals(ctx)
	}
	if c.node == "" {
		return
	}
	c.checkStorages(ctx)
	c.checkBridges(ctx)
	c.checkImages(ctx)
	c.checkSeed(ctx)
	c.checkAgentFile(ctx)
}

// checker checks one plan against the cluster.
type checker struct {
	client *proxmox.Client
	draft  *draft
	bounds proxmox.VMIDRange
	// node is where the guest is or will be; empty while that is unknown.
	node string
}

// checkVMID checks the configured id, or that one is left.
func (c *checker) checkVMID(ctx context.Context) {
	d := c.draft
	vmid := d.config.Values["vmid"]
	if settings.IsNull(vmid) {
		framework.AddError(d.diags, "find an id for the VM", c.client.IDs.Room(ctx))
		return
	}
	if vmid.IsUnknown() {
		return
	}
	id := d.config.Integer("vmid")
	if !c.bounds.Contains(id) {
		d.diags.AddAttributeError(settings.At("vmid"), fmt.Sprintf("vmid %d is outside the range", id),
			fmt.Sprintf("Guests are only made inside the provider's vmid_range, %s.", c.bounds))
		return
	}
	free, err := c.client.Cluster.VMIDFree(ctx, id)
	if err != nil {
		framework.AddAttributeError(d.diags, settings.At("vmid"), fmt.Sprintf("find out whether vmid %d is free", id), err)
		return
	}
	if !free {
		c.refuseTaken(ctx, id)
	}
}

// refuseTaken refuses an id that another guest has. One that carries a marker
// may be the very guest that this one replaces, which is gone by the time that
// the id is needed: if it is not, PVE refuses the clone then.
func (c *checker) refuseTaken(ctx context.Context, vmid int) {
	who := "The token may not see which guest it is."
	guest, listed, err := c.client.View.Guest(ctx, vmid)
	if err == nil && listed {
		who = fmt.Sprintf("It is %s %q on %s.", guest.Type, guest.Name, guest.Node)
		config, err := c.client.View.VMConfig(ctx, guest.Node, vmid)
		if err == nil && guest.Type == string(proxmox.KindVM) && isMarked(config) {
			return
		}
	}
	c.draft.diags.AddAttributeError(settings.At("vmid"), fmt.Sprintf("vmid %d is taken", vmid),
		"Another guest has it, and it is not adopted. "+who+" Choose another vmid.")
}

func isMarked(config *proxmox.GuestConfig) bool {
	_, marked := config.Marker()
	return marked
}

// checkTemplate checks the template and what is cloned from it.
func (c *checker) checkTemplate(ctx context.Context) {
	d := c.draft
	if node := d.plan.Values["node"]; settings.IsKnown(node) {
		c.node = settings.TextOf(node)
	}
	if !settings.IsKnown(d.config.Values["template"]) {
		return
	}
	template, ok := c.findTemplate(ctx, d.config.Integer("template"))
	if !ok {
		return
	}
	if settings.IsNull(d.config.Values["node"]) && d.defaults.Node == "" {
		c.node = template.Node
		if allowed := d.config.List("allowed_nodes"); len(allowed) > 0 && !slices.Contains(allowed, template.Node) {
			c.node = slices.Min(allowed)
		}
		d.plan.Values["node"] = types.StringValue(c.node)
	}
	c.checkBootDisk(template)
	c.checkTemplateDrives(template)
	for slot, disk := range d.elements("disks") {
		c.checkTemplateDisk(template, slot, disk)
	}
	switch {
	case c.node == "" || c.node == template.Node:
	case framework.CheckNode(ctx, c.client, c.node, settings.At("node"), c.draft.diags):
		c.checkElsewhere(ctx, template)
	default:
		c.node = "" // Nothing else can be asked of it.
	}
}

// findTemplate reads the template's configuration.
func (c *checker) findTemplate(ctx context.Context, vmid int) (*proxmox.GuestConfig, bool) {
	d, here := c.draft, settings.At("template")
	if c.bounds.Contains(vmid) {
		d.diags.AddAttributeError(here, fmt.Sprintf("Template %d lies inside the vmid_range", vmid),
			fmt.Sprintf("The range %s is for guests that are made and destroyed here, so that a template in it is not safe. Move one or the other.", c.bounds))
		return nil, false
	}
	config, err := readTemplate(ctx, c.client, vmid)
	if err != nil {
		framework.AddAttributeError(d.diags, here, fmt.Sprintf("use VM %d as a template", vmid), err)
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
func (c *checker) checkBootDisk(template *proxmox.GuestConfig) {
	d := c.draft
	boot, ok := template.BootDisk()
	if !ok {
		return
	}
	disks := settings.Entries(d.config.Values["disks"])
	if _, named := disks[boot]; named {
		return
	}
	for slot := range d.elements("disks") {
		if _, real := template.Disks()[slot]; real || !strings.HasSuffix(slot, "0") || strings.Trim(slot, "0123456789")+"0" != slot {
			continue
		}
		d.diags.AddAttributeError(settings.At("disks").AtMapKey(slot), fmt.Sprintf("The boot disk of template %d is %s, not %s", template.VMID, boot, slot),
			fmt.Sprintf("%s would be a new, empty disk. Name %s to grow the boot disk. To add an empty disk at %s all the same, name %s too, for example as %s = {}.", slot, boot, slot, boot, boot))
	}
}

func (c *checker) checkTemplateDisk(template *proxmox.GuestConfig, slot string, disk map[string]attr.Value) {
	d, here := c.draft, settings.At("disks").AtMapKey(slot)
	if _, isDrive := template.CDROMs()[slot]; isDrive {
		d.diags.AddAttributeError(here, slot+" is a CD-ROM drive", fmt.Sprintf("Template %d has %s=%s. A disk needs another slot.", template.VMID, slot, template.Get(slot)))
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
func (c *checker) checkElsewhere(ctx context.Context, template *proxmox.GuestConfig) {
	d := c.draft
	storages, err := c.client.View.Storages(ctx, template.Node)
	if err != nil {
		framework.AddError(d.diags, "list the storages of node "+template.Node, err)
		return
	}
	drives := template.Disks()
	maps.Copy(drives, template.CDROMs())
	for _, slot := range slices.Sorted(maps.Keys(drives)) {
		name := drives[slot].Storage()
		if name == "" || shared(storages, name) {
			continue
		}
		d.diags.AddAttributeError(settings.At("node"), fmt.Sprintf("Template %d cannot be cloned to %s", template.VMID, c.node),
			fmt.Sprintf("It is on %s, and its %s is on the storage %q, which is not shared. Make the VM on %s, move the template to a shared storage, "+
				"or make a template on %s.", template.Node, slot, name, template.Node, c.node))
		return
	}
	if target := d.plan.Values["storage"]; settings.IsKnown(target) && !shared(storages, settings.TextOf(target)) {
		d.diags.AddAttributeError(settings.At("storage"), fmt.Sprintf("Template %d cannot be cloned to %s on storage %q", template.VMID, c.node, settings.TextOf(target)),
			fmt.Sprintf("It is on %s, and PVE clones to another node only onto a shared storage.", template.Node))
	}
}

func shared(storages []proxmox.NodeStorage, name string) bool {
	return slices.ContainsFunc(storages, func(s proxmox.NodeStorage) bool { return s.Storage == name && bool(s.Shared) })
}

// checkDiskRemovals refuses to detach the disk that the guest boots from.
func (c *checker) checkDiskRemovals(ctx context.Context) {
	d := c.draft
	removed := d.removed("disks")
	if len(removed) == 0 {
		return
	}
	config, err := c.client.View.VMConfig(ctx, d.state.Text("node"), d.state.Integer("vmid"))
	if err != nil {
		framework.AddError(d.diags, "read the VM's boot order", err)
		return
	}
	if boot, ok := config.BootDisk(); ok && slices.Contains(removed, boot) {
		d.diags.AddAttributeError(settings.At("disks"), boot+" cannot be removed", "It is the disk that the VM boots from. To boot from another one, change boot_order first.")
	}
}

// checkStorages checks the storages that volumes are made on.
func (c *checker) checkStorages(ctx context.Context) {
	wanted := c.storages()
	if len(wanted) == 0 {
		return
	}
	storages, err := c.client.View.Storages(ctx, c.node)
	if err != nil {
		c.explainNode(ctx, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		framework.FindStorage(storages, c.node, name, "images", wanted[name], c.draft.diags)
	}
}

// storages are the storages that the plan makes volumes on, with the attribute
// that names each.
func (c *checker) storages() map[string]path.Path {
	d := c.draft
	wanted := map[string]path.Path{}
	if storage := d.plan.Values["storage"]; d.creates() && settings.IsKnown(storage) {
		wanted[settings.TextOf(storage)] = settings.At("storage")
	}
	for slot, disk := range d.elements("disks") {
		if real, exists := d.diskInState(slot); settings.IsKnown(disk["storage"]) && (!exists || real.Storage() != settings.TextOf(disk["storage"])) {
			wanted[settings.TextOf(disk["storage"])] = settings.At("disks").AtMapKey(slot).AtName("storage")
		}
	}
	for _, g := range volumeGroups {
		storage := settings.Fields(d.config.Values[g.Name])["storage"]
		if real, exists := d.diskInState(g.Device); settings.IsKnown(storage) && (!exists || real.Storage() != settings.TextOf(storage)) {
			wanted[settings.TextOf(storage)] = settings.At(g.Name).AtName("storage")
		}
	}
	return wanted
}

// explainNode turns the failure to ask a node into what is wrong with it.
func (c *checker) explainNode(ctx context.Context, err error) {
	if framework.CheckNode(ctx, c.client, c.node, settings.At("node"), c.draft.diags) {
		framework.AddAttributeError(c.draft.diags, settings.At("node"), "ask node "+c.node, err)
	}
}

// checkBridges checks the bridges that devices are attached to anew.
func (c *checker) checkBridges(ctx context.Context) {
	d := c.draft
	wanted := map[string]path.Path{}
	held := settings.Entries(d.state.Values["network"])
	for slot, device := range d.elements("network") {
		bridge := device["bridge"]
		if settings.IsKnown(bridge) && !bridge.Equal(settings.Fields(held[slot])["bridge"]) {
			wanted[settings.TextOf(bridge)] = settings.At("network").AtMapKey(slot).AtName("bridge")
		}
	}
	if len(wanted) == 0 {
		return
	}
	bridges, err := c.client.View.Bridges(ctx, c.node)
	if err != nil {
		c.explainNode(ctx, err)
		return
	}
	var all []string
	for _, each := range bridges {
		all = append(all, each.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !slices.Contains(all, name) {
			d.diags.AddAttributeError(wanted[name], fmt.Sprintf("There is no bridge %q on node %s", name, c.node),
				"The token may use these there: "+strings.Join(all, ", ")+".")
		}
	}
}
