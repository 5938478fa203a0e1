package container

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// check asks the cluster what the plan stands on. It reads the shared view, so
// that a hundred plans cost few calls, and only what is configured.
func (r *Resource) check(ctx context.Context, d *draft) {
	c := &checker{client: r.Client(d.diags), draft: d, bounds: r.Data.VMIDRange}
	if c.client == nil || len(d.replace) > 0 {
		return // Planned again, as a new guest.
	}
	c.checkRoot()
	c.checkSince(ctx)
	if d.creates() {
		if !r.Data.RequireVMIDRange(d.diags) {
			return
		}
		if settings.IsNull(d.config.Values["vmid"]) {
			r.Data.WarnReuse(ctx, d.diags)
		}
		c.checkVMID(ctx)
		c.node = d.plan.Text("node")
		if c.node == "" && !d.plan.Values["node"].IsUnknown() || d.plan.Values["node"].IsUnknown() && settings.IsNull(d.config.Values["node"]) {
			d.diags.AddAttributeError(settings.At("node"), "No node is configured", "A container is made on a node: set node, or the provider's defaults.node.")
			return
		}
	} else {
		c.node = d.state.Text("node")
	}
	if c.node == "" || d.creates() && !framework.CheckNode(ctx, c.client, c.node, settings.At("node"), d.diags) {
		return
	}
	if d.creates() && !c.checkPrivileges(ctx) {
		return
	}
	c.checkStorages(ctx)
	if d.creates() || d.reinstalls {
		c.checkTemplate(ctx)
	}
	if d.reinstalls {
		c.checkReinstall(ctx)
	}
	c.checkBridges(ctx)
}

// checker checks one plan against the cluster.
type checker struct {
	client *proxmox.Client
	draft  *draft
	bounds proxmox.VMIDRange
	// node is where the container is or will be; empty while that is unknown.
	node string
}

// checkVMID checks the configured id, or that one is left.
func (c *checker) checkVMID(ctx context.Context) {
	d := c.draft
	vmid := d.config.Values["vmid"]
	if settings.IsNull(vmid) {
		framework.AddError(d.diags, "find an id for the container", c.client.IDs.Room(ctx))
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

// refuseTaken refuses an id that another guest has. One that carries a marker may
// be the very guest that this one replaces: if it is not, PVE refuses the id then.
func (c *checker) refuseTaken(ctx context.Context, vmid int) {
	who := "The token may not see which guest it is."
	guest, listed, err := c.client.View.Guest(ctx, vmid)
	if err == nil && listed {
		who = fmt.Sprintf("It is %s %q on %s.", guest.Type, guest.Name, guest.Node)
		if guest.Type == string(proxmox.KindContainer) {
			config, err := c.client.Containers.Pending(ctx, guest.Node, vmid)
			if err == nil && isMarked(config) {
				return
			}
		}
	}
	c.draft.diags.AddAttributeError(settings.At("vmid"), fmt.Sprintf("vmid %d is taken", vmid),
		"Another guest has it, and it is not adopted. "+who+" Choose another vmid.")
}

func isMarked(config *proxmox.GuestConfig) bool {
	_, marked := config.Marker()
	return marked
}

// checkPrivileges refuses a plan whose container the token cannot make, and names
// all that is missing at once. What is only inferred is left to PVE. Bridges are
// left out: PVE lists to the token those that it may use.
func (c *checker) checkPrivileges(ctx context.Context) bool {
	held, err := c.client.View.Permissions(ctx)
	if err != nil {
		framework.AddError(c.draft.diags, "read the token's privileges", err)
		return false
	}
	capability, _ := proxmox.CapabilityOf("container.create")
	needs := slices.DeleteFunc(slices.Clone(capability.Needs), func(need proxmox.Need) bool { return need.Privilege == "SDN.Use" })
	_, lacks := held.CheckNeeds(needs, c.scope(), proxmox.Version{})
	if framework.AddLacks(c.draft.diags, "make the container", held, lacks) {
		return false
	}
	if settings.IsTrue(c.draft.plan.Values["unprivileged"]) || c.draft.plan.Values["unprivileged"].IsUnknown() {
		return true
	}
	privileged := []proxmox.Need{{Path: "/", Privilege: "Sys.Modify", Why: "make a privileged container, whose root is the node's root"}}
	_, lacks = held.CheckNeeds(privileged, proxmox.Scope{}, proxmox.Version{})
	return !framework.AddLacks(c.draft.diags, "make a privileged container", held, lacks)
}

// scope names what the plan is about, as far as that is known.
func (c *checker) scope() proxmox.Scope {
	d := c.draft
	scope := proxmox.Scope{"rootdir": slices.Sorted(maps.Keys(c.storages()))}
	if storage, _, err := proxmox.SplitVolID(d.plan.Text("template")); err == nil {
		scope["vztmpl"] = []string{storage}
	}
	if settings.IsKnown(d.plan.Values["vmid"]) {
		scope["vmid"] = []string{strconv.Itoa(d.plan.Integer("vmid"))}
	}
	if pool := d.plan.Text("pool"); pool != "" {
		scope["pool"] = []string{pool}
	}
	return scope
}

// storages are the storages that the plan makes volumes on, with the attribute
// that names each.
func (c *checker) storages() map[string]path.Path {
	d := c.draft
	wanted := map[string]path.Path{}
	want := func(at path.Path, slot string, volume map[string]attr.Value) {
		exists := settings.TextOf(settings.Entries(d.state.Values["devices"])[slot]) != "" && !d.reinstalls
		if exists || settings.IsKnown(volume["volume"]) || volume["storage"] != nil && volume["storage"].IsUnknown() {
			return
		}
		name := settings.TextOf(volume["storage"])
		if name == "" {
			name = d.defaults.Storage
		}
		if name != "" {
			wanted[name] = at
		}
	}
	want(settings.At("root_volume"), rootSlot, settings.Fields(d.config.Values["root_volume"]))
	for slot, mount := range d.elements("mount_points") {
		want(settings.At("mount_points").AtMapKey(slot), slot, mount)
	}
	return wanted
}

// checkStorages checks the storages that volumes are made on.
func (c *checker) checkStorages(ctx context.Context) {
	wanted := c.storages()
	if len(wanted) == 0 {
		return
	}
	storages, err := c.client.View.Storages(ctx, c.node)
	if err != nil {
		framework.AddError(c.draft.diags, "list the storages of node "+c.node, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		framework.FindStorage(storages, c.node, name, "rootdir", wanted[name], c.draft.diags)
	}
}

// checkTemplate checks that the template is there to be unpacked.
func (c *checker) checkTemplate(ctx context.Context) {
	d, here := c.draft, settings.At("template")
	template := d.config.Values["template"]
	if !settings.IsKnown(template) {
		return
	}
	volid := settings.TextOf(template)
	storage, name, err := proxmox.SplitVolID(volid)
	if err != nil || !strings.HasPrefix(name, "vztmpl/") {
		d.diags.AddAttributeError(here, fmt.Sprintf("%q is no container template", volid),
			"Give a volume of the content vztmpl, such as local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst.")
		return
	}
	storages, err := c.client.View.Storages(ctx, c.node)
	if err != nil {
		framework.AddError(d.diags, "list the storages of node "+c.node, err)
		return
	}
	if _, ok := framework.FindStorage(storages, c.node, storage, "vztmpl", here, d.diags); !ok {
		return
	}
	_, exists, err := c.client.Storage.Volume(ctx, c.node, volid)
	switch {
	case err != nil:
		framework.AddAttributeError(d.diags, here, "look for the template", err)
	case !exists:
		d.diags.AddAttributeError(here, "There is no template "+volid, "Node "+c.node+" does not have it. Download it there, in Proxmox VE or with pveam.")
	}
}

// checkBridges checks the bridges that interfaces are attached to anew.
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
		framework.AddError(d.diags, "list the bridges of node "+c.node, err)
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

// checkRoot refuses what PVE takes from root@pam alone, signed in by password.
func (c *checker) checkRoot() {
	if c.client.IsRoot() {
		return
	}
	c.draft.eachChange(func(s *settings.Setting, at path.Path, planned, _ attr.Value) {
		if s.Root == nil || !s.Root(printed(planned)) {
			return
		}
		c.draft.diags.AddAttributeError(at, fmt.Sprintf("Only root@pam can set %s", at),
			"PVE takes this from root@pam alone, signed in with its password: it refuses it even to a token of root. "+
				"Sign in so, or set it on the node, where it stays as it is while it is not configured here.")
	})
}

// printed is a value as PVE writes it, as far as the checks need it.
func printed(value attr.Value) string {
	if settings.IsTrue(value) {
		return "1"
	}
	return settings.TextOf(value)
}

// checkSince refuses settings that the cluster's version does not know.
func (c *checker) checkSince(ctx context.Context) {
	d := c.draft
	var version proxmox.Version
	d.eachChange(func(s *settings.Setting, at path.Path, _, _ attr.Value) {
		if s.Since == 0 || d.diags.HasError() {
			return
		}
		if version.Major == 0 {
			var err error
			if version, err = c.client.Cluster.Version(ctx); err != nil {
				framework.AddError(d.diags, "read the cluster's version", err)
				return
			}
		}
		if version.Major < s.Since {
			d.diags.AddAttributeError(at, fmt.Sprintf("PVE %d does not know %s", version.Major, at),
				fmt.Sprintf("It came with PVE %d. Leave it out here.", s.Since))
		}
	})
}
