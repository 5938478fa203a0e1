package guests

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

func guestsSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The VMs and containers that the token may read (VM.Audit), whoever owns them; templates are none. " +
			"Names and power are what the nodes last told the cluster, up to ten seconds old.",
		Attributes: map[string]schema.Attribute{
			"kind": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf("vm", kindContainer)}, MarkdownDescription: "Only `vm` or only `container`.",
			},
			"node": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.NodeName()}, MarkdownDescription: "Only guests on this node.",
			},
			"pool": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.PoolName()}, MarkdownDescription: "Only members of this pool itself.",
			},
			"tags": schema.ListAttribute{
				Optional: true, ElementType: types.StringType, Validators: []validator.List{listvalidator.ValueStringsAre(framework.Tag())},
				MarkdownDescription: "Only guests with all of these tags.",
			},
			"marked": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Only guests that carry a marker of this provider, or only those that carry none. It reads every guest's configuration.",
			},
			"details": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Whether each guest's configuration is read, one call a guest: `marked`, `uid`, `holds_volumes_of`, `onboot` and `nics` are null otherwise.",
			},
			"guests": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The guests, by rising id.",
				NestedObject: schema.NestedAttributeObject{Attributes: guestAttributes()},
			},
		},
	}
}

func guestAttributes() map[string]schema.Attribute {
	text := func(doc string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: doc}
	}
	flag := func(doc string) schema.Attribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: doc}
	}
	return map[string]schema.Attribute{
		"vmid":     schema.Int64Attribute{Computed: true, MarkdownDescription: "The guest's id."},
		"kind":     text("`vm` or `container`."),
		"node":     text("The node that it is on."),
		"name":     text("Its name; empty for a moment after it was made."),
		"status":   text("`running`, `stopped`, or `unknown` where its node has not told yet."),
		"pool":     text("Its pool, empty for none."),
		"tags":     schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Its tags."},
		"ha_state": text("The HA manager's state of it, such as `started` or `ignored`; empty for a guest that HA does not know."),
		"ha_requested": text("The state that HA is asked for: `started`, `stopped`, `disabled` or `ignored`; empty for a guest that HA does not know, " +
			"null without Sys.Audit on `/`, which is needed to tell."),
		"marked": flag("Whether it carries a marker of this provider as a guest of its own."),
		"uid":    text("The marker's uid."),
		"holds_volumes_of": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "The id of the container whose volumes this one holds while it is being reinstalled: such a container does not count as marked, and goes by itself.",
		},
		"onboot": flag("Whether it starts with its node."),
		"nics": schema.MapNestedAttribute{
			Computed: true, MarkdownDescription: "Its network devices by slot.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"mac":     text("The MAC address."),
				"bridge":  text("The bridge or VNet that it is attached to."),
				"link_up": flag("Whether its link is up."),
			}},
		},
	}
}
