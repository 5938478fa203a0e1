package firewall

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// Schema describes the resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The firewall of a guest, of a node, of the cluster, or a security group: options, the ordered rules, IP sets and aliases.\n\n" +
			"The list of rules is owned whole unless `ownership` says otherwise. A change is made of the fewest calls, in an order in which at no moment traffic is " +
			"allowed that neither the old nor the new list allows: what allows less comes first, what allows more comes last, and in between rules are added from the " +
			"first to the last and taken away from the last to the first. The firewall is switched on after all else, and off before. A change that somebody else " +
			"makes meanwhile is noticed by PVE's digest, and looked at anew.\n\n" +
			"A guest's firewall is only changed where the guest carries this provider's marker. What is not configured is left alone: options, sets and aliases of other names, " +
			"and the rules where `rules` is not given at all.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
				MarkdownDescription: "What the firewall belongs to, such as `vm/20001`, `node/pve1`, `cluster` or `security_group/web`, with `:tag` behind it where only tagged rules are owned. It is what an import takes.",
			},
			"scope": scopeAttribute(),
			"foreign": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Must be `true` for the firewall of a node, of the cluster, or for a security group, which belong to no guest that was made here.",
			},
			"ownership": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(ownsAll),
				Validators: []validator.String{stringvalidator.OneOf(ownsAll, ownsTagged)},
				MarkdownDescription: "`exclusive` (the default) owns the whole list of rules: others are removed. `tagged` owns only the rules whose comment ends with the `tag`, " +
					"and leaves others and their order alone.",
			},
			"tag": schema.StringAttribute{
				Optional: true, Validators: []validator.String{nameLike("a tag")},
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				MarkdownDescription: "What marks the rules of a `tagged` list, as `[terraform:tag]` at the end of their comments. Choose another one for each resource that shares a list.",
			},
			"comment": schema.StringAttribute{
				Optional: true, MarkdownDescription: "The comment of a security group.",
			},
			"options": schema.SingleNestedAttribute{
				Optional: true, Attributes: optionAttributes(),
				MarkdownDescription: "The options. One that is not configured is left as it is; one that no longer is returns to PVE's default.",
			},
			"rules": schema.ListNestedAttribute{
				Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: ruleAttributes()},
				MarkdownDescription: "The rules; the first that matches decides. Left out, rules are left alone; an empty list means none.",
			},
			"ip_sets": schema.MapAttribute{
				Optional: true, ElementType: membersType,
				MarkdownDescription: "IP sets by name, in lower case: addresses, networks or aliases, an exception with `!` before it. Rules name a set with `+` before it.",
			},
			"aliases": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Addresses or networks by name, for rules and sets.",
			},
			"spoof_protection": schema.MapAttribute{
				Optional: true, ElementType: membersType,
				MarkdownDescription: "The addresses that a guest may send from, by network device (`net0`): everything else, and frames with another MAC address than the device's own, is dropped. " +
					"It is PVE's set `ipfilter-net0` with its MAC filter.",
			},
			"accept_lockout_risk": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Switches the cluster's firewall on even where no rule is seen to keep the API (port 8006) and SSH reachable from where the provider runs. " +
					"Then PVE's own exceptions for the nodes' local network and its set `management` have to.",
			},
		},
	}
}

func scopeAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplace()},
		MarkdownDescription: "What the firewall belongs to: exactly one of these. A change makes another resource.",
		Attributes: map[string]schema.Attribute{
			"vm": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "The id of a virtual machine.",
			},
			"container": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "The id of a container.",
			},
			"node": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.NodeName()}, MarkdownDescription: "The name of a node.",
			},
			"cluster": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "`true` for the cluster.",
			},
			"security_group": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.LengthAtMost(longestGroup), nameLike("a security group's name")},
				MarkdownDescription: "The name of a security group, in lower case: rules for others to use. It is made where there is none.",
			},
		},
	}
}

// longestGroup is the length of a security group's name at most.
const longestGroup = 18

// nameLike accepts PVE's names in lower case, which PVE keeps as they are.
func nameLike(what string) validator.String {
	return stringvalidator.RegexMatches(lowerName, "must be "+what+": lower-case letters, digits, hyphens and underscores, beginning with a letter")
}

func optionAttributes() map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute, len(options))
	for _, o := range options {
		about := o.about + " For " + o.places() + "."
		switch o.kind {
		case truth:
			attributes[o.name] = schema.BoolAttribute{Optional: true, MarkdownDescription: about}
		case number:
			attributes[o.name] = schema.Int64Attribute{Optional: true, Validators: o.bounds(), MarkdownDescription: about}
		case text:
			attribute := schema.StringAttribute{Optional: true, MarkdownDescription: about}
			if len(o.words) > 0 {
				attribute.Validators = []validator.String{stringvalidator.OneOf(o.words...)}
			}
			attributes[o.name] = attribute
		}
	}
	return attributes
}

func (o option) bounds() []validator.Int64 {
	if o.most == 0 {
		return []validator.Int64{int64validator.AtLeast(o.least)}
	}
	return []validator.Int64{int64validator.Between(o.least, o.most)}
}

// places names where there is such an option.
func (o option) places() string {
	switch {
	case len(o.scopes) == len(everywhere):
		return "guests, nodes and the cluster"
	case o.in("vm") && o.in("cluster"):
		return "guests and the cluster"
	case o.in("vm") && o.in("node"):
		return "guests and nodes"
	case o.in("vm"):
		return "guests"
	case o.in("node"):
		return "nodes"
	}
	return "the cluster"
}

func ruleAttributes() map[string]schema.Attribute {
	text := func(about string, validators ...validator.String) schema.Attribute {
		return schema.StringAttribute{Optional: true, Validators: append(validators, stringvalidator.LengthAtLeast(1)), MarkdownDescription: about}
	}
	return map[string]schema.Attribute{
		"direction": schema.StringAttribute{
			Required: true, Validators: []validator.String{stringvalidator.OneOf(directionIn, "out", directionForward, directionGroup)},
			MarkdownDescription: "`in`, `out`, `forward`, or `group` for a rule that stands for a security group.",
		},
		"action": schema.StringAttribute{
			Required: true, MarkdownDescription: "`ACCEPT`, `DROP` or `REJECT`; the security group's name where the direction is `group`.",
		},
		"enabled": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether the rule does anything; `true` unless set.",
		},
		"macro":            text("A name for protocol and ports, such as `HTTPS`, of those that the node knows."),
		"protocol":         text("The protocol, such as `tcp`, `udp`, `icmp` or `icmpv6`."),
		"source_port":      text("The sender's ports: numbers, ranges such as `8000:8080`, or names of services, with commas between them."),
		"destination_port": text("The receiver's ports, in the same form."),
		"icmp_type":        text("The type of ICMP message, such as `echo-request`."),
		"source":           text("The sender: addresses or networks with commas between them, a range, an alias, or `+` and the name of an IP set."),
		"destination":      text("The receiver, in the same form."),
		"interface":        text("The interface: of a guest the network device's slot, such as `net0`."),
		"log_level":        text("How traffic that matches is logged.", stringvalidator.OneOf(logLevels...)),
		"comment":          text(fmt.Sprintf("A comment of one line. Where the ownership is `%s`, the tag follows it.", ownsTagged)),
	}
}
