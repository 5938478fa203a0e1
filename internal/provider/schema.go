package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// Schema describes the provider block. Every attribute is optional: what it
// does not set may come from the environment.
func (p *proxmoxProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages virtual machines, containers, seed images and firewalls on [Proxmox VE](https://www.proxmox.com/proxmox-ve) 8.4 and 9 through its API. " +
			"A guest that the provider did not make is never changed or deleted, unless it was adopted by an `adopt:` import; " +
			"fencing alone reaches others, and those only that `fence_scope` lists.\n\n" +
			"Everything but `fence_scope` can also be set in the environment; what the block sets wins.",
		Attributes: map[string]schema.Attribute{
			"endpoint": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The node to talk to, `https://host` or `https://host:port`; the port is 8006 unless given. " +
					"Environment: `PROXMOX_ENDPOINT`.",
			},
			"fallback_endpoints": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Further nodes of the same cluster, tried in order while those before them cannot be reached. " +
					"Environment: `PROXMOX_FALLBACK_ENDPOINTS`, separated by commas.",
			},
			"insecure": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Accept any certificate. Each run warns of it. Excludes `ca_file`, `ca_pem` and `tls_fingerprint`. " +
					"Environment: `PROXMOX_INSECURE`.",
			},
			"ca_file": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A PEM file with the CA that signed the nodes' certificates, such as a node's `/etc/pve/pve-root-ca.pem`. " +
					"Without any of `ca_file`, `ca_pem`, `tls_fingerprint` and `insecure` the system's roots are trusted. Environment: `PROXMOX_CA_FILE`.",
			},
			"ca_pem": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The same CA as text. Environment: `PROXMOX_CA_PEM`.",
			},
			"tls_fingerprint": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The SHA-256 fingerprint of the node's own certificate, in hexadecimal with or without colons, as `pvenode cert info` shows it. " +
					"Each node has a certificate of its own: with `fallback_endpoints` give those of all, separated by commas. " +
					"Environment: `PROXMOX_TLS_FINGERPRINT`.",
			},
			"token_id": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The API token's id, `user@realm!name`. Environment: `PROXMOX_TOKEN_ID`.",
			},
			"token_secret": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "The API token's secret, the UUID that PVE shows once. Excludes `token_secret_file`. Environment: `PROXMOX_TOKEN_SECRET`.",
			},
			"token_secret_file": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A file that holds the secret. It is read again when a call is answered with 401, so that a secret can be " +
					"rotated while the provider runs. Environment: `PROXMOX_TOKEN_SECRET_FILE`.",
			},
			"token": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "Id and secret in one text, `user@realm!name=secret`, instead of `token_id` and `token_secret`. Environment: `PROXMOX_TOKEN`.",
			},
			"username": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A user, `user@realm`, to sign in with a password instead of a token. An account with a second factor cannot be used: " +
					"give it a token. Environment: `PROXMOX_USERNAME`.",
			},
			"password": schema.StringAttribute{
				Optional: true, Sensitive: true,
				MarkdownDescription: "The user's password. Like all of the provider block it is in no state; better still, leave it to the environment, " +
					"to `password_file` or to an ephemeral value. Environment: `PROXMOX_PASSWORD`.",
			},
			"password_file": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A file that holds the password. It is read again when a new sign-in is needed. " +
					"Environment: `PROXMOX_PASSWORD_FILE`.",
			},
			"cluster": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The cluster's name, or `standalone:<node>` for a node without a cluster. Each endpoint is checked before its first use, " +
					"so that a configuration pointed at another cluster is stopped before it does anything. Needs `Sys.Audit` on `/`. Environment: `PROXMOX_CLUSTER`.",
			},
			"vmid_range":  vmidRangeAttribute(),
			"defaults":    defaultsAttribute(),
			"limits":      limitsAttribute(),
			"timeouts":    timeoutsAttribute(),
			"fence_scope": fenceScopeAttribute(),
		},
	}
}

func vmidRangeAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The ids that guests made here get: a hard boundary, outside which nothing is ever changed or deleted. " +
			"Required by every resource that makes guests. Templates must lie outside it. Environment: `PROXMOX_VMID_RANGE`, such as `20000-20999`.",
		Attributes: map[string]schema.Attribute{
			"first": schema.Int64Attribute{
				Required: true, Validators: []validator.Int64{framework.VMID()},
				MarkdownDescription: "The lowest id.",
			},
			"last": schema.Int64Attribute{
				Required: true, Validators: []validator.Int64{framework.VMID()},
				MarkdownDescription: "The highest id.",
			},
		},
	}
}

func defaultsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "What resources use that do not say otherwise.",
		Attributes: map[string]schema.Attribute{
			"node": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.NodeName()},
				MarkdownDescription: "The node that guests are made on. Environment: `PROXMOX_NODE`.",
			},
			"storage": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.StorageName()},
				MarkdownDescription: "The storage that disks are put on. Environment: `PROXMOX_STORAGE`.",
			},
			"bridge": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The bridge that new network devices are attached to; those of a clone keep the template's unless they name one. Environment: `PROXMOX_BRIDGE`.",
			},
			"pool": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.PoolName()},
				MarkdownDescription: "The pool that guests are put into. Environment: `PROXMOX_POOL`.",
			},
		},
	}
}

// maxLimit bounds each of the limits.
const maxLimit = 1000

func limitsAttribute() schema.Attribute {
	limit := func(what string) schema.Attribute {
		return schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.Between(1, maxLimit)},
			MarkdownDescription: what,
		}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How much runs at once.",
		Attributes: map[string]schema.Attribute{
			"requests":          limit("Requests in flight (16 unless given). Environment: `PROXMOX_LIMIT_REQUESTS`."),
			"tasks_per_node":    limit("Heavy tasks, such as clones, that run on one node (4 unless given). Environment: `PROXMOX_LIMIT_TASKS_PER_NODE`."),
			"tasks_per_storage": limit("Heavy tasks that use one storage (2 unless given). Environment: `PROXMOX_LIMIT_TASKS_PER_STORAGE`."),
		},
	}
}

func timeoutsAttribute() schema.Attribute {
	timeout := func(what string) schema.Attribute {
		return schema.StringAttribute{
			Optional: true, Validators: []validator.String{framework.Duration()},
			MarkdownDescription: what,
		}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How long operations may take where a resource's own `timeouts` say nothing, such as `\"90s\"` or `\"15m\"`.",
		Attributes: map[string]schema.Attribute{
			"create": timeout("Making something (30 minutes unless given). Environment: `PROXMOX_TIMEOUT_CREATE`."),
			"read":   timeout("Reading something (5 minutes unless given). Environment: `PROXMOX_TIMEOUT_READ`."),
			"update": timeout("Changing something (30 minutes unless given). Environment: `PROXMOX_TIMEOUT_UPDATE`."),
			"delete": timeout("Deleting something (15 minutes unless given). Environment: `PROXMOX_TIMEOUT_DELETE`."),
		},
	}
}

func fenceScopeAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What may be stopped, started or cut off from the network by fencing though it is not the provider's own. " +
			"Nothing is unless it is listed here.",
		Attributes: map[string]schema.Attribute{
			"vmids": schema.ListAttribute{
				Optional: true, ElementType: types.Int64Type,
				Validators:          []validator.List{listvalidator.ValueInt64sAre(framework.VMID())},
				MarkdownDescription: "Ids of guests.",
			},
			"nodes": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				Validators:          []validator.List{listvalidator.ValueStringsAre(framework.NodeName())},
				MarkdownDescription: "Names of nodes whose guests may be stopped.",
			},
		},
	}
}
