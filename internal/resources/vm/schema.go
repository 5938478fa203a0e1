package vm

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
)

// effectiveGroup is cloud_init as PVE has it, configured or not.
var effectiveGroup = cloudInitGroup.Effective("cloud_init_effective",
	"What cloud-init is given, whether it is configured here or inherited from the template; never the password.")

// Schema describes the resource: the settings of the table, and what is no
// setting of the guest's.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := table.Attributes()
	maps.Copy(attributes, guests.Attributes(guests.Words{
		Kind: "VM", Made: "cloned, configured, started and waited for", MadeOn: "the provider's default, else the template's",
		Moves: "while it runs where that is possible and volumes on unshared storages with it",
	}))
	maps.Copy(attributes, placeAttributes())
	maps.Copy(attributes, reportedAttributes())
	attributes["seed"] = seedAttribute()
	attributes[effectiveGroup.Name] = effectiveGroup.ComputedAttribute()
	attributes["timeouts"] = timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true})
	resp.Schema = schema.Schema{
		MarkdownDescription: "A virtual machine, cloned in full from a template, grown, configured, seeded with cloud-init and started. " +
			"What the configuration does not mention is inherited from the template and never a difference; what was configured and no longer is " +
			"returns to PVE's default. A line in the notes marks the guest: one without it is never changed or deleted. A run that is killed leaves a guest that calls itself " +
			"unfinished there, which the next apply names with both ways out. Only between the last write and the moment in which the CLI has saved its state " +
			"can a kill leave a finished guest in no state; the next apply warns of that one by name.",
		Version:    guests.SchemaVersion,
		Attributes: attributes,
	}
}

// placeAttributes are given when the guest is made.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"template": schema.Int64Attribute{
			Optional: true, Computed: true, Validators: []validator.Int64{int64validator.AtLeast(0)},
			MarkdownDescription: "The vmid of the template to clone, outside the provider's `vmid_range`. A change makes another guest. " +
				"Not needed once the guest exists; 0 after an import, since PVE does not say what a guest was cloned from.",
		},
		"storage": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.StorageName()},
			MarkdownDescription: "The storage to clone to, and to make new disks on: the provider's default, else the template's. It is not changed afterwards.",
		},
		"power": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{stringvalidator.OneOf(guests.PowerRunning, guests.PowerStopped, guests.PowerPaused)},
			MarkdownDescription: "`running`, `stopped` or `paused`: acts when the value changes. Left out, the guest is started once when it is made, and then left alone. " +
				"What it really is shows in `status`.",
		},
	}
}

// reportedAttributes are found out.
func reportedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"status": schema.StringAttribute{
			Computed: true, MarkdownDescription: "`running`, `stopped` or `paused` (which is found out where `power` is `paused`), as the node says; `installing` while `wait_for` waits for cloud-init; " +
				"`gone` where somebody else destroyed the VM and its `seed` is still to be deleted.",
		},
		"addresses_stale": schema.BoolAttribute{
			Computed: true,
			MarkdownDescription: "Whether the addresses in `network` are the last known ones, since the agent that should know them does not answer. " +
				"Addresses are the agent's, matched to the devices by MAC, so that interfaces of the guest's own (of containers and bridges) do not show; " +
				"loopback, link-local and multicast addresses are left out. Without an agent they are those that cloud-init was given.",
		},
		"devices": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "All drives and network devices by slot, as PVE writes them, configured here or not; detached volumes are `unused0` and so on.",
		},
		"mac_addresses": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The address of each network device, by slot.",
		},
	}
}
