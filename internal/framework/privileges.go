package framework

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
)

// Use is what a plan needs the token for.
type Use struct {
	// Capability is a row of the client's table.
	Capability string
	// Action is what is planned, in the infinitive.
	Action string
	// Scope names the objects that are known. A guest that does not exist yet is
	// left out: what the token may do with it is told by its pool alone.
	Scope proxmox.Scope
	// Spare tells needs that this plan does not have. It may be nil.
	Spare func(proxmox.Need) bool
}

// Check refuses a plan for which the token certainly lacks a privilege, and
// names all that is missing at once. What is held on some objects only is left to
// Proxmox VE. The privileges are read once for all plans of a run.
func (u Use) Check(ctx context.Context, client *proxmox.Client, diags *diag.Diagnostics) bool {
	held, lacks, err := u.lacks(ctx, client)
	if err != nil {
		AddError(diags, "find out what the token may do", err)
		return false
	}
	return !AddLacks(diags, u.Action, held, lacks)
}

// lacks are the privileges that are not held, or not surely, beside those that
// are held.
func (u Use) lacks(ctx context.Context, client *proxmox.Client) (proxmox.Permissions, []proxmox.Lack, error) {
	capability, known := proxmox.CapabilityOf(u.Capability)
	if !known {
		return nil, nil, fmt.Errorf("%q is no capability: this is a bug in the provider", u.Capability)
	}
	if u.Spare != nil {
		capability.Needs = slices.DeleteFunc(slices.Clone(capability.Needs), u.Spare)
	}
	held, err := client.View.Permissions(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read its privileges: %w", err)
	}
	var version proxmox.Version
	if slices.ContainsFunc(capability.Needs, func(n proxmox.Need) bool { return n.Privilege8 != "" }) {
		if version, err = client.Cluster.Version(ctx); err != nil {
			return nil, nil, fmt.Errorf("read the version of Proxmox VE: %w", err)
		}
	}
	_, lacks := held.Check(capability, u.Scope, version)
	return held, lacks, nil
}
