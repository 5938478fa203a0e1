package vm

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// checkPrivileges refuses a plan whose guest the token cannot make, and names
// all that is missing at once. What is only inferred is left to PVE. Bridges
// are left out: PVE lists to the token those that it may use.
func (c *checker) checkPrivileges(ctx context.Context) bool {
	held, err := c.client.View.Permissions(ctx)
	if err != nil {
		framework.AddError(c.draft.diags, "read the token's privileges", err)
		return false
	}
	capability, _ := proxmox.CapabilityOf("vm.create")
	needs := slices.DeleteFunc(slices.Clone(capability.Needs), func(need proxmox.Need) bool {
		return need.Only != "" && settings.IsNull(c.draft.config.Values[need.Only]) || need.Privilege == "SDN.Use"
	})
	// No privilege of making a VM has another name in PVE 8.
	_, lacks := held.CheckNeeds(needs, c.scope(), proxmox.Version{})
	return !framework.AddLacks(c.draft.diags, "make the VM", held, lacks)
}

// scope names what the plan is about, as far as that is known.
func (c *checker) scope() proxmox.Scope {
	d := c.draft
	scope := proxmox.Scope{"images": slices.Collect(maps.Keys(c.storages()))}
	for _, object := range []string{"template", "vmid"} {
		if settings.IsKnown(d.plan.Values[object]) {
			scope[object] = []string{strconv.Itoa(d.plan.Integer(object))}
		}
	}
	if pool := d.plan.Values["pool"]; settings.IsKnown(pool) {
		scope["pool"] = []string{settings.TextOf(pool)}
	}
	return scope
}
