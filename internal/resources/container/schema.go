package container

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/proxmox"
)

// Schema describes the resource: the settings of the table, and what is no
// setting of the container's.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := table.Attributes()
	maps.Copy(attributes, guests.Attributes(guests.Words{
		Kind: "container", Made: "unpacked, configured and started, after a reinstallation too", MadeOn: "the provider's default, else the first of `allowed_nodes`",
		Moves: "for which PVE restarts one that runs, and volumes on unshared storages with it",
	}))
	maps.Copy(attributes, placeAttributes())
	maps.Copy(attributes, reportedAttributes())
	maps.Copy(attributes, neverAttributes())
	attributes["timeouts"] = timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true})
	resp.Schema = schema.Schema{
		MarkdownDescription: "A container (LXC), unpacked from a template, unprivileged unless told otherwise, configured and started. " +
			"What was configured and no longer is returns to PVE's default. A line in the notes marks the guest: one without it is never changed or deleted. " +
			"With `reinstall` a changed template rebuilds the container under its id and keeps the mount points that are named, with their data.\n\n" +
			"Backups are the opposite of a VM's: of a VM's disks each is included unless `backup = false`, of a container's mount points none unless " +
			"`backup = true`; the root volume always is, folders and devices of the node never are. `in_backup` tells for each.",
		Version:    guests.SchemaVersion,
		Attributes: attributes,
	}
}

// placeAttributes are given when the container is made.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"template": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "The template to unpack, a volume of the content `vztmpl` such as `local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst`. " +
				"A change makes another guest, or rebuilds this one where `reinstall` is configured. Empty after an import, since PVE does not say what a guest was made from.",
		},
		"unprivileged": schema.BoolAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Whether ids inside the container are mapped to others on the node, so that its root is nobody there: `true` unless set. " +
				"`false` needs the privilege `Sys.Modify` on `/`. A change makes another guest.",
		},
		"power": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{powerWord{}},
			MarkdownDescription: "`running` or `stopped`: acts when the value changes. Left out, the container is started once when it is made, and then left alone. " +
				"What it really is shows in `status`.",
		},
	}
}

// reportedAttributes are found out.
func reportedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"addresses_stale": schema.BoolAttribute{
			Computed: true,
			MarkdownDescription: "Whether the addresses in `network` are the last known ones, since the container does not run or was not asked yet. " +
				"Static addresses are those configured; others are the running container's, matched to the interfaces by MAC. " +
				"Loopback, link-local and multicast addresses are left out.",
		},
		"status": schema.StringAttribute{
			Computed: true, MarkdownDescription: "`running` or `stopped`, as the node says.",
		},
		"devices": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "All volumes and network interfaces by slot, as PVE writes them, configured here or not; detached volumes are `unused0` and so on.",
		},
		"mac_addresses": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The address of each network interface, by slot.",
		},
		"reinstallation": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "What the last reinstallation did to each volume, by slot: `kept`, `rebuilt` or `destroyed`. A plan that reinstalls shows it beforehand.",
		},
	}
}

// neverAttributes are those of a VM that a container cannot have. They are here so
// that their absence is explained.
func neverAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for name, reason := range neverReasons {
		attributes[name] = schema.StringAttribute{
			Optional: true, MarkdownDescription: "Refused: " + reason, Validators: []validator.String{refuse{never: true, reason: reason}},
		}
	}
	for name, reason := range notYetReasons {
		attributes[name] = schema.StringAttribute{
			Optional: true, MarkdownDescription: "Refused for now: " + reason, Validators: []validator.String{refuse{reason: reason}},
		}
	}
	return attributes
}

// The commands of a VM that do not fit a container, and those that PVE has for
// containers and this provider not yet.
var (
	neverReasons = map[string]string{
		"bios":       "a container has no firmware: it shares the node's kernel.",
		"machine":    "a container has no emulated machine: it shares the node's kernel.",
		"boot_order": "a container boots from its root volume, never from a network or another disk.",
		"cloud_init": "a container is set up by PVE itself: hostname, dns, network and ssh_keys are settings of their own.",
	}
	notYetReasons = map[string]string{
		"clone_from":   "PVE can clone containers; this provider unpacks them from templates only.",
		"restore_from": "PVE can restore containers from backups; this provider unpacks them from templates only.",
	}
)

// refuse is an attribute that is never set, with the reason.
type refuse struct {
	never  bool
	reason string
}

// Description says so.
func (r refuse) Description(context.Context) string { return r.reason }

// MarkdownDescription says so.
func (r refuse) MarkdownDescription(context.Context) string { return r.reason }

// ValidateString refuses every value.
func (r refuse) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() {
		return
	}
	summary := "Not yet supported: " + req.Path.String()
	if r.never {
		summary = "Containers never have " + req.Path.String()
	}
	resp.Diagnostics.AddAttributeError(req.Path, summary, r.reason)
}

// powerWord accepts the powers that a container can have.
type powerWord struct{}

// Description names them.
func (powerWord) Description(context.Context) string { return "must be running or stopped" }

// MarkdownDescription names them.
func (p powerWord) MarkdownDescription(ctx context.Context) string { return p.Description(ctx) }

// ValidateString tells what PVE could do from what makes no sense.
func (powerWord) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.ValueString() == guests.PowerPaused {
		resp.Diagnostics.AddAttributeError(req.Path, "Not yet supported: a paused container",
			proxmox.ErrNoPause.Error()+`: power = "stopped".`)
		return
	}
	stringvalidator.OneOf(guests.PowerRunning, guests.PowerStopped).ValidateString(ctx, req, resp)
}
