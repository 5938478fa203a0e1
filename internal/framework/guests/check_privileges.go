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
	use.Spare = func(need proxmox.Need) bool {
		return c.spares(need) || spare != nil && spare(need) || !c.tells(need, scope)
	}
	return use.Check(ctx, c.Client, c.draft.Diags)
}

// spares reports whether the plan does without a need. Bridges are left out: PVE
// lists to the token those that it may use.
func (c *Checker) spares(need proxmox.Need) bool {
	return need.Only != "" && settings.IsNull(c.draft.Config.Values[need.Only]) || need.Privilege == "SDN.Use"
}

// tells notes that a need is checked for a scope's objects, and reports whether it
// was not before for one of them.
func (c *Checker) tells(need proxmox.Need, scope proxmox.Scope) bool {
	objects := scope[need.Object()]
	if len(objects) == 0 {
		objects = []string{""} // Any of its kind.
	}
	fresh := false
	for _, object := range objects {
		this := told{need.Path, object, need.Privilege}
		if !slices.Contains(c.told, this) {
			c.told, fresh = append(c.told, this), true
		}
	}
	return fresh
}

// told is a need that was checked for one object.
type told struct{ path, object, privilege string }

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
