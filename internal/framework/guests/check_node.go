package guests

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
)

// checkMigration refuses a move to another node that PVE would refuse, and says
// in the plan what moves.
func (c *Checker) checkMigration(ctx context.Context) bool {
	d := c.draft
	from, target := d.State.Text("node"), d.Plan.Text("node")
	here := settings.At("node")
	migrating := framework.Use{Capability: d.Kind.capability("migrate"), Action: fmt.Sprintf("migrate the %s to %s", d.Kind, target)}
	if !framework.CheckNode(ctx, c.Client, target, here, d.Diags) || !c.can(ctx, migrating) {
		return false
	}
	how, refusal, err := c.own.CheckMove(ctx, c)
	switch {
	case err != nil:
		framework.AddAttributeError(d.Diags, here, fmt.Sprintf("find out whether the %s can move from %s to %s", d.Kind, from, target), err)
	case refusal != "":
		d.Diags.AddAttributeError(here, fmt.Sprintf("The %s cannot move from %s to %s", d.Kind, from, target),
			fmt.Sprintf("It does not move by itself, and is not replaced for it: %s. Configure node = %q, or add %s to allowed_nodes.", refusal, from, from))
	default:
		d.Diags.AddAttributeWarning(here, fmt.Sprintf("%s %d is migrated from %s to %s", d.Kind.title(), d.State.Integer("vmid"), from, target), how)
		return true
	}
	return false
}

// ExplainNode turns the failure to ask a node into what is wrong with it.
func (c *Checker) ExplainNode(ctx context.Context, err error) {
	if framework.CheckNode(ctx, c.Client, c.Node, settings.At("node"), c.draft.Diags) {
		framework.AddAttributeError(c.draft.Diags, settings.At("node"), "ask node "+c.Node, err)
	}
}

// checkStorages checks the storages that volumes are made on. For a new guest the
// list that found its template does, where it tells that all is well: the node's
// own is a call more, for which it looks at each of its storages.
func (c *Checker) checkStorages(ctx context.Context) {
	wanted := c.own.Storages()
	if c.draft.Creates() {
		maps.DeleteFunc(wanted, func(name string, _ path.Path) bool {
			return c.Client.View.Offers(ctx, c.Node, name, c.draft.Kind.Content)
		})
	}
	if len(wanted) == 0 {
		return
	}
	storages, err := c.Client.View.Storages(ctx, c.Node)
	if err != nil {
		c.ExplainNode(ctx, err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		framework.FindStorage(ctx, c.Client, storages, c.Node, name, c.draft.Kind.Content, wanted[name], c.draft.Diags)
	}
}

// checkBridges checks the bridges that devices are attached to anew.
func (c *Checker) checkBridges(ctx context.Context) {
	d := c.draft
	wanted := map[string]path.Path{}
	held := settings.Entries(d.State.Values["network"])
	for slot, device := range d.Elements("network") {
		bridge := device["bridge"]
		if settings.IsKnown(bridge) && !bridge.Equal(settings.Fields(held[slot])["bridge"]) {
			wanted[settings.TextOf(bridge)] = settings.At("network").AtMapKey(slot).AtName("bridge")
		}
	}
	if len(wanted) == 0 {
		return
	}
	bridges, err := c.Client.View.Bridges(ctx, c.Node)
	if err != nil {
		c.ExplainNode(ctx, err)
		return
	}
	var all []string
	for _, each := range bridges {
		all = append(all, each.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !slices.Contains(all, name) {
			d.Diags.AddAttributeError(wanted[name], fmt.Sprintf("There is no bridge %q on node %s", name, c.Node),
				"The token may use these there: "+strings.Join(all, ", ")+".")
		}
	}
}
