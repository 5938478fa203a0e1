package firewall

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// IdentitySchema describes what identifies a firewall: what it belongs to.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id":  identityschema.StringAttribute{RequiredForImport: true, Description: "What the firewall belongs to, as in the attribute id: vm/20001, node/pve1, cluster:tag."},
		"uid": identityschema.StringAttribute{OptionalForImport: true, Description: "The random id in the marker of the guest that it belongs to; ids of guests are used again."},
	}}
}

func (j *job) setIdentity(ctx context.Context, id string, identity *tfsdk.ResourceIdentity) {
	framework.SetIdentity(ctx, identity, identityOf(id, j.guest.UID), j.diags)
}

func identityOf(id, uid string) map[string]attr.Value {
	return map[string]attr.Value{"id": types.StringValue(id), "uid": optional(uid)}
}
