package vm

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// effectiveGroup is cloud_init as PVE has it, configured or not.
var effectiveGroup = cloudInitGroup.Effective("cloud_init_effective",
	"What cloud-init is given, whether it is configured here or inherited from the template; never the password.")

// Schema describes the resource: the settings of the table, and what is no
// setting of the guest's.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := table.Attributes()
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
		Version:    schemaVersion,
		Attributes: attributes,
	}
}

// IdentitySchema describes what identifies the guest: never its node or its
// cluster, which may change.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"vmid": identityschema.Int64Attribute{RequiredForImport: true, Description: "The guest's id in its cluster."},
		"uid":  identityschema.StringAttribute{OptionalForImport: true, Description: "The random id that its marker carries."},
	}}
}

// placeAttributes say where the guest comes from and where it is. They are
// given when it is made.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"vmid": schema.Int64Attribute{
			Optional: true, Computed: true, Validators: []validator.Int64{framework.VMID()},
			MarkdownDescription: "The guest's id, inside the provider's `vmid_range`; the next unused one unless set. A change makes another guest.",
		},
		"template": schema.Int64Attribute{
			Optional: true, Computed: true, Validators: []validator.Int64{int64validator.AtLeast(0)},
			MarkdownDescription: "The vmid of the template to clone, outside the provider's `vmid_range`. A change makes another guest. " +
				"Not needed once the guest exists; 0 after an import, since PVE does not say what a guest was cloned from.",
		},
		"node": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
			MarkdownDescription: "The node to make the guest on: the provider's default, else the template's. A guest that has moved since is the same guest: " +
				"an apply migrates it to this node, while it runs where that is possible and volumes on unshared storages with it, unless it is on one of `allowed_nodes`. That needs VM.Migrate.",
		},
		"allowed_nodes": schema.SetAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(framework.NodeName())},
			MarkdownDescription: "The nodes that the VM may be on. While it is on one of them, wherever HA or an operator has moved it, there is nothing to do; " +
				"then `node` only says where it is made.",
		},
		"storage": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.StorageName()},
			MarkdownDescription: "The storage to clone to, and to make new disks on: the provider's default, else the template's. It is not changed afterwards.",
		},
		"pool": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.PoolName()},
			MarkdownDescription: "The pool to make the guest in; the provider's default unless set. It is not changed afterwards.",
		},
		"power": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{stringvalidator.OneOf(powerRunning, powerStopped, powerPaused)},
			MarkdownDescription: "`running`, `stopped` or `paused`: acts when the value changes. Left out, the guest is started once when it is made, and then left alone. " +
				"What it really is shows in `status`.",
		},
	}
}

// reportedAttributes are found out.
func reportedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"uid": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The random id in the guest's marker, by which it is recognised.",
		},
		"provisioned": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether the guest was finished: cloned, configured, started and waited for. While it is `false`, the next apply finishes it.",
		},
		"status": schema.StringAttribute{
			Computed: true, MarkdownDescription: "`running`, `stopped` or `paused` (which is found out where `power` is `paused`), as the node says; `installing` while `wait_for` waits for cloud-init; " +
				"`gone` where somebody else destroyed the VM and its `seed` is still to be deleted.",
		},
		"marked": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether the guest carries its marker. One that has lost it is kept and left alone, see `restore_marker`.",
		},
		"addresses_stale": schema.BoolAttribute{
			Computed: true,
			MarkdownDescription: "Whether the addresses in `network` are the last known ones, since the agent that should know them does not answer. " +
				"Addresses are the agent's, matched to the devices by MAC, so that interfaces of the guest's own (of containers and bridges) do not show; " +
				"loopback, link-local and multicast addresses are left out. Without an agent they are those that cloud-init was given.",
		},
		"reboot_required": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "PVE's configuration keys whose new value waits for the guest's next start.",
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
