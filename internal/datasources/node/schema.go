package node

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

func nodeSchema() schema.Schema {
	attributes := nodeAttributes()
	attributes["name"] = schema.StringAttribute{
		Required: true, Validators: []validator.String{framework.NodeName()},
		MarkdownDescription: "The node's name.",
	}
	return schema.Schema{
		MarkdownDescription: "Reads one node of the cluster: whether it is up, its version, and the bridges and storages that guests can use on it.",
		Attributes:          attributes,
	}
}

func nodesSchema() schema.Schema {
	attributes := nodeAttributes()
	attributes["name"] = schema.StringAttribute{Computed: true, MarkdownDescription: "The node's name."}
	return schema.Schema{
		MarkdownDescription: "Reads all nodes of the cluster. A node that does not answer is listed all the same, with what is known of it.",
		Attributes: map[string]schema.Attribute{
			"nodes": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The nodes by name.",
				NestedObject:        schema.NestedAttributeObject{Attributes: attributes},
			},
			"online": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The names of the nodes that are online, sorted.",
			},
		},
	}
}

// nodeAttributes are what is read of a node. Each is null where it is not
// known.
func nodeAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"status": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "`online`, `offline` or `unknown`, as the cluster sees it.",
		},
		"answers_api": schema.BoolAttribute{
			Computed: true,
			MarkdownDescription: "Whether this is the node that answers the provider's requests. " +
				"Null without `Sys.Audit` on `/`, which is needed to tell.",
		},
		"version": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "The version of Proxmox VE on the node, such as `9.2.11`. Null when the node does not answer.",
		},
		"tls_fingerprint": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "The SHA-256 fingerprint of the node's certificate, as the provider's `tls_fingerprint` takes it. Null when it is not known.",
		},
		"bridges": schema.MapNestedAttribute{
			Computed: true,
			MarkdownDescription: "The bridges and VNets that guests can be attached to, by name, as far as the token may see them " +
				"(`SDN.Use` or `SDN.Audit`). Null when the node does not answer.",
			NestedObject: schema.NestedAttributeObject{Attributes: bridgeAttributes()},
		},
		"storages": schema.MapNestedAttribute{
			Computed: true,
			MarkdownDescription: "The storages of the node by name, as far as the token may see them (`Datastore.Audit` or `Datastore.AllocateSpace`). " +
				"Null when the node does not answer.",
			NestedObject: schema.NestedAttributeObject{Attributes: storageAttributes()},
		},
	}
	maps.Copy(attributes, sizeAttributes())
	return attributes
}

func sizeAttributes() map[string]schema.Attribute {
	const audit = " Null without `Sys.Audit` on the node, or when it is offline."
	return map[string]schema.Attribute{
		"cpus": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The number of logical processors." + audit,
		},
		"memory_bytes": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The size of the memory." + audit,
		},
		"memory_used_bytes": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The memory in use." + audit,
		},
	}
}

func bridgeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"type": schema.StringAttribute{
			Computed: true, MarkdownDescription: "`bridge`, `OVSBridge` or `vnet`.",
		},
		"active": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether it is up.",
		},
		"cidr": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The node's own IPv4 address on it. Null when it has none.",
		},
		"vlan_aware": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether it keeps guests' VLANs apart itself.",
		},
	}
}

func storageAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"type": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The kind of storage, such as `dir`, `lvmthin` or `nfs`.",
		},
		"content_types": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "What it may hold: `images` (disks of VMs), `rootdir` (container volumes), `iso`, `vztmpl`, `backup`, `snippets`, `import`.",
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
		"available_bytes": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The free space. Null when it is not active.",
		},
	}
}
