package storage

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// contents are PVE's kinds of content (its format pve-storage-content).
var contents = []string{"images", "rootdir", "iso", "vztmpl", "backup", "snippets", "import"}

func storageSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Reads a storage as one node sees it: what it may hold, how much room there is, and what is on it.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required: true, Validators: []validator.String{framework.StorageName()},
				MarkdownDescription: "The storage's name.",
			},
			"node": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
				MarkdownDescription: "The node that looks at it; the provider's `defaults.node` unless given.",
			},
			"content": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf(contents...)},
				MarkdownDescription: "Which volumes to list: `images` (disks of VMs), `rootdir` (container volumes), `iso`, `vztmpl`, `backup`, " +
					"`snippets` or `import`. All unless given.",
			},
			"type": schema.StringAttribute{
				Computed: true, MarkdownDescription: "The kind of storage, such as `dir`, `lvmthin` or `nfs`.",
			},
			"content_types": schema.SetAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "What it may hold, in the words of `content`.",
			},
			"enabled": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether it is enabled.",
			},
			"active": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether the node can use it now.",
			},
			"shared": schema.BoolAttribute{
				Computed: true, MarkdownDescription: "Whether all nodes see the same content.",
			},
			"total_bytes": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "Its size. Null when it is not active.",
			},
			"used_bytes": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "The space in use. Null when it is not active.",
			},
			"available_bytes": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "The free space. Null when it is not active.",
			},
			"volumes": schema.ListNestedAttribute{
				Computed: true,
				MarkdownDescription: "The volumes on it, sorted by id. Volumes of guests that the token may not read are left out. " +
					"Null when the storage is not active.",
				NestedObject: schema.NestedAttributeObject{Attributes: volumeAttributes()},
			},
		},
	}
}

func volumeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The volume's id, such as `local:iso/debian-13.iso`.",
		},
		"content": schema.StringAttribute{
			Computed: true, MarkdownDescription: "What it is, in the words of `content`.",
		},
		"format": schema.StringAttribute{
			Computed: true, MarkdownDescription: "Its format, such as `raw`, `qcow2`, `iso` or `tzst`.",
		},
		"size_bytes": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "Its size; of a disk, what the guest sees.",
		},
		"vmid": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The guest that it belongs to. Null when it belongs to none.",
		},
		"created": schema.StringAttribute{
			Computed: true, MarkdownDescription: "When it was made, in RFC 3339, UTC. Null where the storage does not tell.",
		},
		"notes": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The notes on a backup. Null when there are none.",
		},
		"protected": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether a backup is protected from being deleted.",
		},
	}
}
