package template

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

func templateSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Finds a VM template by its id or its name. It fails when there is none, when there are several, " +
			"and when what it finds is no template.",
		Attributes: map[string]schema.Attribute{
			"vmid": schema.Int64Attribute{
				Optional: true, Computed: true,
				Validators: []validator.Int64{
					framework.VMID(),
					int64validator.ExactlyOneOf(path.MatchRoot("vmid"), path.MatchRoot("name")),
				},
				MarkdownDescription: "The template's id. Give this or `name`.",
			},
			"name": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{framework.DNSName()},
				MarkdownDescription: "The template's name. Give this or `vmid`.",
			},
			"node": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
				MarkdownDescription: "The node that the template is on. Given, only that node's templates are looked at: " +
					"a name may occur once on each node.",
			},
			"tags": schema.SetAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The template's tags.",
			},
			"boot_disk": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The slot of the disk that it boots from, such as `scsi0`: the one to grow in a clone. " +
					"Null when it boots from none.",
			},
			"disks": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The template's disks by slot, without CD-ROM and cloud-init drives.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"volume_id": schema.StringAttribute{
						Computed: true, MarkdownDescription: "The volume's id, such as `local-lvm:base-9000-disk-0`.",
					},
					"storage": schema.StringAttribute{
						Computed: true, MarkdownDescription: "The storage that it is on.",
					},
					"size_gib": schema.Float64Attribute{
						Computed: true, MarkdownDescription: "Its size in GiB. Null when the template's configuration does not say.",
					},
				}},
			},
			"network": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The template's network interfaces by slot. A clone has them too, with addresses of its own.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"model": schema.StringAttribute{
						Computed: true, MarkdownDescription: "The model, such as `virtio`.",
					},
					"bridge": schema.StringAttribute{
						Computed: true, MarkdownDescription: "The bridge that it is attached to. Null when it is attached to none.",
					},
				}},
			},
			"cloud_init": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether it has a cloud-init drive, without which a clone's `cloud_init` has no effect.",
			},
			"shared": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether all its disks are on shared storages, so that it can be cloned to another node directly. " +
					"Null when the token may not see one of the storages.",
			},
		},
	}
}
