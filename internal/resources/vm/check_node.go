package vm

import (
	"context"
	"fmt"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// checkMigration refuses a move to another node that PVE would refuse, and says
// in the plan what moves.
func (c *checker) checkMigration(ctx context.Context) bool {
	d := c.draft
	from, target, vmid := d.state.Text("node"), d.plan.Text("node"), d.state.Integer("vmid")
	if !framework.CheckNode(ctx, c.client, target, settings.At("node"), d.diags) || !c.checkNeeds(ctx, "vm.migrate", "migrate the VM to "+target) {
		return false
	}
	migration, err := c.client.VMs.CheckMigration(ctx, from, vmid, target)
	if err != nil {
		framework.AddAttributeError(d.diags, settings.At("node"), fmt.Sprintf("find out whether the VM can move from %s to %s", from, target), err)
		return false
	}
	if reason := migration.Refusal(target); reason != "" {
		d.diags.AddAttributeError(settings.At("node"), fmt.Sprintf("The VM cannot move from %s to %s", from, target),
			fmt.Sprintf("It does not move by itself, and is not replaced for it: %s. Configure node = %q, or add %s to allowed_nodes.", reason, from, from))
		return false
	}
	how := "It is stopped."
	if migration.Running {
		how = "It goes on running meanwhile."
	}
	if disks := migration.Copied(); len(disks) > 0 {
		how += fmt.Sprintf(" Its volumes on storages that are not shared are copied: %s.", disks)
	}
	d.diags.AddAttributeWarning(settings.At("node"), fmt.Sprintf("VM %d is migrated from %s to %s", vmid, from, target), how)
	return true
}

// checkNeeds refuses what the token certainly has no privileges for.
func (c *checker) checkNeeds(ctx context.Context, capability, action string) bool {
	held, err := c.client.View.Permissions(ctx)
	if err != nil {
		framework.AddError(c.draft.diags, "read the token's privileges", err)
		return false
	}
	version, err := c.client.Cluster.Version(ctx)
	if err != nil {
		framework.AddError(c.draft.diags, "read the version of Proxmox VE", err)
		return false
	}
	wanted, _ := proxmox.CapabilityOf(capability)
	_, lacks := held.Check(wanted, c.scope(), version)
	return !framework.AddLacks(c.draft.diags, action, held, lacks)
}

// checkAgentFile refuses to wait for cloud-init where its result cannot be read.
// Whoever may run anything in the guest may read files there too.
func (c *checker) checkAgentFile(ctx context.Context) {
	if c.draft.plan.Text("wait_for") != waitCloudInit || c.draft.state.Provisioned() {
		return
	}
	held, err := c.client.View.Permissions(ctx)
	anything := proxmox.Need{Path: "/vms/{vmid}", Privilege: "VM.GuestAgent.Unrestricted", Privilege8: "VM.Monitor"}
	if proof, _ := held.CheckNeeds([]proxmox.Need{anything}, c.scope(), proxmox.Version{Major: 9}); err == nil && proof != proxmox.Missing {
		return
	}
	c.checkNeeds(ctx, "vm.cloud-init-status", "wait for cloud-init")
}
