package connection

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// contents are the kinds of content that PVE's storages know.
var contents = []string{"images", "rootdir", "iso", "vztmpl", "import", "snippets", "backup"}

// Schema describes the resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := declared()
	for name, attribute := range found() {
		attributes[name] = attribute
	}
	attributes["timeouts"] = timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true})
	resp.Schema = schema.Schema{
		MarkdownDescription: "What a configuration expects of its cluster: which one it is, what the token may do, which storages and bridges there are on every node. " +
			"It is checked at each apply and refresh, and everything that is not as declared is named at once. " +
			"It also creates the pool in which guests are put and their ids are reserved.\n\n" +
			"Destroying it changes nothing in Proxmox VE: the pool stays, since it remembers which ids were given out.",
		Attributes: attributes,
	}
}

// declared are the attributes that say what is expected.
func declared() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cluster": schema.StringAttribute{
			Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: "The cluster's name, or `standalone:<node>` for a node without a cluster. Another one behind the endpoint is an error, " +
				"whatever `require_ready` says. To tell takes `Sys.Audit` on `/`.",
		},
		"pool": schema.StringAttribute{
			Optional: true, Validators: []validator.String{framework.PoolName()},
			MarkdownDescription: "The pool of the provider's `defaults.pool`. It is created when absent, and never deleted.",
		},
		"capabilities": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			Validators: []validator.Set{setvalidator.ValueStringsAre(stringvalidator.OneOf(proxmox.CapabilityNames()...))},
			MarkdownDescription: "What the token has to be able to do, such as `vm.create` or `seed_iso`. " +
				"The guide on tokens and privileges lists all, with what each needs.",
		},
		"storage_classes": schema.MapNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Storages by a name of your own. Each has to be enabled, active and allow its content on every node that is online.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"storage": schema.StringAttribute{
					Required: true, Validators: []validator.String{framework.StorageName()},
					MarkdownDescription: "The storage.",
				},
				"content": schema.SetAttribute{
					Required: true, ElementType: types.StringType,
					Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(stringvalidator.OneOf(contents...))},
					MarkdownDescription: "What it is for: `images`, `rootdir`, `iso`, `vztmpl`, `import`, `snippets` or `backup`.",
				},
			}},
		},
		"network_classes": schema.MapNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Bridges by a name of your own. Each has to be there, and active, on every node that is online.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"bridge": schema.StringAttribute{
					Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
					MarkdownDescription: "The bridge or VNet.",
				},
			}},
		},
		"templates": schema.SetAttribute{
			Optional: true, ElementType: types.Int64Type,
			MarkdownDescription: "Ids that have to be VM templates, outside the provider's `vmid_range`.",
		},
		"require_ready": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether an apply fails while something is not as declared (`true` unless set). `false` only reports.",
		},
	}
}

// found are the attributes that say what there is.
func found() map[string]schema.Attribute {
	text := func(what string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: what}
	}
	return map[string]schema.Attribute{
		"identity":       text("The cluster's name, or `standalone:<node>`. Null when the token may not read it."),
		"version":        text("The version of Proxmox VE on the node that answers."),
		"answering_node": text("The node that answers the provider's requests. Null when the token may not read it."),
		"nodes": schema.MapNestedAttribute{
			Computed: true, MarkdownDescription: "The nodes by name.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"online":  schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the node is online."},
				"version": text("Its version of Proxmox VE. Null when it does not answer."),
				"clock_skew_seconds": schema.Int64Attribute{
					Computed: true, MarkdownDescription: "How far its clock is ahead of this machine's, in steps of ten seconds. " +
						"Null when it does not answer or without `Sys.Audit` on the node.",
				},
			}},
		},
		"failure_domains": schema.ListAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "What can fail on its own: the names of the nodes that are online, sorted.",
		},
		"privileges": schema.MapNestedAttribute{
			Computed: true, MarkdownDescription: "How surely the token holds what each of the `capabilities` needs.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"state": text("`proven`: held on all declared objects, or on all of their kind. `inferred`: held on some objects. `missing`: not held."),
				"missing": schema.ListAttribute{
					Computed: true, ElementType: types.StringType, MarkdownDescription: "What is missing, such as `VM.Clone on /vms/9000`.",
				},
				"inferred": schema.ListAttribute{
					Computed: true, ElementType: types.StringType, MarkdownDescription: "What is held on some objects only.",
				},
			}},
		},
		"ready": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether no condition is `unmet`."},
		"conditions": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "Everything that was checked, the unmet first.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"type":    text("`cluster`, `quorum`, `version`, `node`, `clock`, `pool`, `capability`, `storage`, `network` or `template`."),
				"subject": text("What it is about: the node, capability, class or id."),
				"status":  text("`met`, `unmet`, or `unknown` where the token may not read it or the node does not answer."),
				"reason":  text("Why, where it is not met; and, where it is unknown, which privilege would tell."),
			}},
		},
	}
}
