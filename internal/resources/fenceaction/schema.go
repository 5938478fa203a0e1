package fenceaction

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
)

// Schema describes the resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Stops a VM, cuts it off the network, or empties a node, proves it, and keeps the proof: a service is started elsewhere " +
			"only when this resource says that the old place is quiet. Everything that is refused is refused before anything is stopped, " +
			"and what cannot be proven is `unknown`, never fenced.\n\n" +
			"Guests that the provider does not own are reached with `foreign = true` and the provider's `fence_scope` alone.\n\n" +
			"Each refresh proves the fence again. One that has lapsed, for somebody or HA has started a guest again, is shown and left alone: " +
			"a fail-back would be stopped by the next scheduled apply otherwise. It is performed again when `triggers` change, or with `refence = true`.",
		Attributes: attributes(),
	}
}

func attributes() map[string]schema.Attribute {
	all := map[string]schema.Attribute{
		"unfence_on_destroy": flag("Whether destroying this resource starts again what ran before, or takes the links up again, " +
			"once the node is online and quorate; HA's requested state goes back to started with it. Left out, destroying only forgets the fence."),
		"refence": flag("Whether a fence that has lapsed is performed again by the next apply."),
		"triggers": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Any values: a change performs the fence again.",
		},
		"state": schema.StringAttribute{
			Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "`fenced` is proven and lasts; `transient` is proven just now, and `reasons` say what would undo it; " +
				"`unknown` cannot be proven, as of a node that is off; `lapsed` holds no more.",
		},
		"reasons": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Why the state is not simply `fenced`.",
		},
		"checks": schema.MapAttribute{
			Computed: true, ElementType: types.BoolType, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "What was checked for the last proof, and whether it held: `stopped`, `links-down`, `node`, `onboot-off`, `ha`.",
		},
		"fenced_at": schema.StringAttribute{
			Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "When the fence was performed and proven, in UTC (RFC 3339). Null for one that failed when it had begun: " +
				"the next apply replaces it by one that goes on from there.",
		},
		"before": takenAttribute(),
	}
	addTarget(all)
	addConditions(all)
	return all
}

func takenAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Computed: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()},
		MarkdownDescription: "What ran, or was up, before, and is brought back by `unfence_on_destroy`; null where nothing did.",
		Attributes: map[string]schema.Attribute{
			"guests": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The guests.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"kind": schema.StringAttribute{Computed: true, MarkdownDescription: "`vm` or `container`."},
					"vmid": schema.Int64Attribute{Computed: true, MarkdownDescription: "The guest's id."},
					"ha_requested": schema.StringAttribute{
						Computed: true, MarkdownDescription: "The state that HA was asked for, such as `started`; empty for a guest that HA does not manage, or where that cannot be read.",
					},
				}},
			},
			"links_up": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "The network devices."},
		},
	}
}

func flag(doc string) schema.Attribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: doc + " `false` unless given."}
}

// addTarget adds what to fence; another target is another fence.
func addTarget(all map[string]schema.Attribute) {
	replaced := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	all["action"] = schema.StringAttribute{
		Required: true, MarkdownDescription: fences.Docs["action"], Validators: []validator.String{fences.ActionNames()}, PlanModifiers: replaced,
	}
	all["node"] = schema.StringAttribute{
		Required: true, MarkdownDescription: fences.Docs["node"], Validators: []validator.String{framework.NodeName()}, PlanModifiers: replaced,
	}
	all["vmid"] = schema.Int64Attribute{
		Optional: true, MarkdownDescription: fences.Docs["vmid"], Validators: []validator.Int64{framework.VMID()},
		PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
	}
	all["uid"] = schema.StringAttribute{Optional: true, MarkdownDescription: fences.Docs["uid"], PlanModifiers: replaced}
	all["nics"] = schema.SetAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: fences.Docs["nics"],
		Validators:    []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(framework.NetworkSlot())},
		PlanModifiers: []planmodifier.Set{setplanmodifier.RequiresReplace()},
	}
	all["foreign"] = flag(fences.Docs["foreign"])
}

func addConditions(all map[string]schema.Attribute) {
	all["timeout"] = duration(fences.Docs["timeout"], fences.DefaultTimeout)
	all["guest_timeout"] = duration(fences.Docs["guest_timeout"], fences.DefaultGuestTimeout)
	all["require_durable"] = flag(fences.Docs["require_durable"])
	all["precondition"] = schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: fences.Docs["precondition"],
		Attributes: map[string]schema.Attribute{
			"replication": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: fences.Docs["replication"],
				Attributes: map[string]schema.Attribute{
					"job":     schema.StringAttribute{Required: true, MarkdownDescription: fences.Docs["job"]},
					"max_lag": schema.StringAttribute{Optional: true, MarkdownDescription: fences.Docs["max_lag"], Validators: []validator.String{framework.Duration()}},
				},
			},
			"quorum": schema.BoolAttribute{Optional: true, MarkdownDescription: fences.Docs["quorum"]},
		},
	}
}

func duration(doc, usual string) schema.Attribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(usual),
		MarkdownDescription: doc, Validators: []validator.String{framework.Duration()},
	}
}
