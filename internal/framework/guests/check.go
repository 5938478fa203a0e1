package guests

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Checker checks one plan against the cluster.
type Checker struct {
	Client *proxmox.Client
	Bounds proxmox.VMIDRange
	// Node is where the guest is or will be; empty while that is unknown.
	Node string

	draft *Draft
	own   Planning
	// told are the needs that were checked: what several uses share is told once.
	told []told
}

// check asks the cluster what the plan stands on. It reads the shared view, so
// that a hundred plans cost few calls, and only what is configured.
func (r *Resource) check(ctx context.Context, d *Draft, own Planning) {
	c := &Checker{Client: r.Client(d.Diags), Bounds: r.Data.VMIDRange, draft: d, own: own}
	if c.Client == nil || len(d.Replaces) > 0 {
		return // A replacement is planned again, as a new guest.
	}
	c.checkRoot()
	c.checkSince(ctx)
	c.Node = d.Plan.Text("node")
	if d.Creates() {
		if !r.Data.RequireVMIDRange(d.Diags) || !c.canMake(ctx) {
			return
		}
		if settings.IsNull(d.Config.Values["vmid"]) {
			r.Data.WarnReuse(ctx, d.Diags)
		}
		c.checkVMID(ctx)
		own.CheckSource(ctx, c)
	} else {
		if d.Rebuilds && !c.canMake(ctx) || d.moves() && !c.checkMigration(ctx) {
			return
		}
		own.CheckChange(ctx, c)
	}
	for _, use := range own.Uses() {
		c.can(ctx, use)
	}
	if c.Node == "" {
		return
	}
	c.checkStorages(ctx)
	c.checkBridges(ctx)
	own.CheckPlaced(ctx, c)
}

// checkVMID checks the configured id, or that one is left.
func (c *Checker) checkVMID(ctx context.Context) {
	d := c.draft
	vmid := d.Config.Values["vmid"]
	if settings.IsNull(vmid) {
		framework.AddError(d.Diags, fmt.Sprintf("find an id for the %s", d.Kind), c.Client.IDs.Room(ctx))
		return
	}
	if vmid.IsUnknown() {
		return
	}
	id := d.Config.Integer("vmid")
	if !c.Bounds.Contains(id) {
		d.Diags.AddAttributeError(settings.At("vmid"), fmt.Sprintf("vmid %d is outside the range", id),
			fmt.Sprintf("Guests are only made inside the provider's vmid_range, %s.", c.Bounds))
		return
	}
	free, err := c.Client.Cluster.VMIDFree(ctx, id)
	if err != nil {
		framework.AddAttributeError(d.Diags, settings.At("vmid"), fmt.Sprintf("find out whether vmid %d is free", id), err)
		return
	}
	if !free {
		c.refuseTaken(ctx, id)
	}
}

// refuseTaken refuses an id that another guest has. One that carries a marker
// may be the very guest that this one replaces, which is gone by the time that
// the id is needed: if it is not, PVE refuses the id then.
func (c *Checker) refuseTaken(ctx context.Context, vmid int) {
	who := "The token may not see which guest it is."
	guest, listed, err := c.Client.View.Guest(ctx, vmid)
	if err == nil && listed {
		who = fmt.Sprintf("It is %s %q on %s.", guest.Type, guest.Name, guest.Node)
		if guest.Type == string(c.draft.Kind.Kind) && c.isMarked(ctx, guest) {
			return
		}
	}
	c.draft.Diags.AddAttributeError(settings.At("vmid"), fmt.Sprintf("vmid %d is taken", vmid),
		"Another guest has it, and it is not adopted. "+who+" Choose another vmid.")
}

func (c *Checker) isMarked(ctx context.Context, guest proxmox.Resource) bool {
	config, err := c.Client.View.GuestConfig(ctx, c.draft.Kind.Kind, guest.Node, guest.VMID)
	if err != nil {
		return false
	}
	_, marked := config.Marker()
	return marked
}

// checkRoot refuses what PVE takes from root@pam alone, signed in by password.
func (c *Checker) checkRoot() {
	if c.Client.IsRoot() {
		return
	}
	refuse := func(verb string, s *settings.Setting, at path.Path, value attr.Value) {
		if s.Root == nil || !settings.IsKnown(value) || !s.Root(s.Form.Print(value)) {
			return
		}
		c.draft.Diags.AddAttributeError(at, fmt.Sprintf("Only root@pam can %s %s", verb, at),
			"PVE takes this from root@pam alone, signed in with its password: it refuses it even to a token of root. "+
				"Sign in so, or set it on the node, where it stays as it is while it is not configured here.")
	}
	c.draft.EachChange(func(s *settings.Setting, at path.Path, planned, _ attr.Value) { refuse("set", s, at, planned) })
	c.draft.eachRemoval(func(s *settings.Setting, at path.Path, _, held attr.Value) {
		if !s.Form.Same(s.None(), held) { // What is PVE's default most likely stands nowhere.
			refuse("remove", s, at, held)
		}
	})
}

// checkSince refuses settings that the cluster's version does not know.
func (c *Checker) checkSince(ctx context.Context) {
	d := c.draft
	var version proxmox.Version
	d.EachChange(func(s *settings.Setting, at path.Path, _, _ attr.Value) {
		if s.Since == 0 || d.Diags.HasError() {
			return
		}
		if version.Major == 0 {
			var err error
			if version, err = c.Client.Cluster.Version(ctx); err != nil {
				framework.AddError(d.Diags, "read the cluster's version", err)
				return
			}
		}
		if version.Major < s.Since {
			d.Diags.AddAttributeError(at, fmt.Sprintf("PVE %d does not know %s", version.Major, at),
				fmt.Sprintf("It came with PVE %d. Leave it out here.", s.Since))
		}
	})
}
