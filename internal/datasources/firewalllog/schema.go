package firewalllog

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"terraform-provider-proxmox/internal/framework"
)

func logSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Reads the firewall's log of a guest or a node: what rules and policies with a log level have logged, the oldest line first. " +
			"A guest's needs VM.Console on it, a node's Sys.Syslog.",
		Attributes: map[string]schema.Attribute{
			"vmid": schema.Int64Attribute{
				Optional: true,
				Validators: []validator.Int64{
					framework.VMID(), int64validator.ExactlyOneOf(path.MatchRoot("vmid"), path.MatchRoot("node")),
				},
				MarkdownDescription: "The guest, VM or container, whose lines to read; or `node`.",
			},
			"node": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
				MarkdownDescription: "The node whose log to read, with the lines of its guests; of a guest's log the node that it is on.",
			},
			"since": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Leaves out lines before this time, in RFC 3339.",
			},
			"until": schema.StringAttribute{
				Optional: true, MarkdownDescription: "Leaves out lines after this time, in RFC 3339.",
			},
			"last": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
				MarkdownDescription: "How many lines to read at most: the last ones; 50 unless given.",
			},
			"contains": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "Reads only lines that contain this text, such as `DROP` or an address.",
			},
			"lines": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The lines, oldest first.",
				NestedObject: schema.NestedAttributeObject{Attributes: lineAttributes()},
			},
		},
	}
}

func lineAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"number": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The line's number in the log, of those that are of the time asked for.",
		},
		"vmid": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The guest that it is about. Null for the node itself.",
		},
		"time": schema.StringAttribute{
			Computed: true, MarkdownDescription: "When it happened, in RFC 3339, UTC. Null for a line of another form.",
		},
		"chain": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The chain of rules that logged it, such as `tap110i0-IN`. Null for a line of another form.",
		},
		"text": schema.StringAttribute{
			Computed: true, MarkdownDescription: "What happened; the whole line where it is of another form.",
		},
	}
}
