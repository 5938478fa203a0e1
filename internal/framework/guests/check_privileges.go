package guests

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// canMake refuses a plan whose guest the token cannot make.
func (c *Checker) canMake(ctx context.Context) bool {
	kind := c.draft.Kind
	return c.can(ctx, framework.Use{Capability: kind.capability("create"), Action: "make the " + kind.String()})
}

// can refuses a plan for which the token certainly lacks what a use needs. A
// use's scope is added to what the plan is about.
func (c *Checker) can(ctx context.Context, use framework.Use) bool {
	scope, spare := c.scope(), use.Spare
	maps.Copy(scope, use.Scope)
	use.Scope = scope
	use.Spare = func(need proxmox.Need) bool { return c.spares(need) || spare != nil && spare(need) || !c.tells(need) }
	return use.Check(ctx, c.Client, c.draft.Diags)
}

// spares reports whether the plan does without a need. Bridges are left out: PVE
// lists to the token those that it may use.
func (c *Checker) spares(need proxmox.Need) bool {
	return need.Only != "" && settings.IsNull(c.draft.Config.Values[need.Only]) || need.Privilege == "SDN.Use"
}

// tells notes that a need is checked, and reports whether it was not before.
func (c *Checker) tells(need proxmox.Need) bool {
	same := func(told proxmox.Need) bool { return told.Path == need.Path && told.Privilege == need.Privilege }
	if slices.ContainsFunc(c.told, same) {
		return false
	}
	c.told = append(c.told, need)
	return true
}

// scope names what the plan is about, as far as that is known.
func (c *Checker) scope() proxmox.Scope {
	d := c.draft
	scope := c.own.Scope()
	scope[d.Kind.Content] = slices.Sorted(maps.Keys(c.own.Storages()))
	if settings.IsKnown(d.Plan.Values["vmid"]) {
		scope["vmid"] = []string{strconv.Itoa(d.Plan.Integer("vmid"))}
	}
	if pool := d.Plan.Text("pool"); pool != "" {
		scope["pool"] = []string{pool}
	}
	return scope
}
