package fences

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// CheckPrivileges refuses a fence that the token certainly may not perform. What
// HA wants is asked only of guests that it manages, and which these are is not
// known yet.
func (r Request) CheckPrivileges(ctx context.Context, client *proxmox.Client, diags *diag.Diagnostics) {
	if r.Action.IsUnknown() {
		return
	}
	action := proxmox.FenceAction(r.Action.ValueString())
	use := framework.Use{Capability: string(action), Action: "perform " + string(action), Scope: proxmox.Scope{}}
	switch vmid := int(r.VMID.ValueInt64()); {
	case action.OfNode() && !r.Node.IsUnknown():
		use.Scope["node"] = []string{r.Node.ValueString()}
	case !action.OfNode():
		use.Spare = func(n proxmox.Need) bool { return n.Privilege == "Sys.Audit" }
		if _, listed, err := client.View.Guest(ctx, vmid); err == nil && listed {
			use.Scope["vmid"] = []string{strconv.Itoa(vmid)}
		}
	}
	use.Check(ctx, client, diags)
}
