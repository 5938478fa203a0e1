package seediso

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
)

// Schema describes the resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := seeds.Form{HostName: "Left out, cloud-init keeps the image's."}.Attributes()
	attributes["node"] = schema.StringAttribute{
		Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
		MarkdownDescription: "The node to put the image on; the provider's default unless set. On a storage that is not shared, only VMs of this node can use it.",
	}
	attributes["uid"] = schema.StringAttribute{
		Computed: true, MarkdownDescription: "The random id that the image's name begins with.",
	}
	attributes["timeouts"] = timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true})
	resp.Schema = schema.Schema{
		MarkdownDescription: "An image from which cloud-init sets up guests (NoCloud), uploaded over the API: no SSH and no snippets. " +
			"A VM takes it as the `volume_id` of a CD-ROM drive; where each VM has a seed of its own, the `seed` of `proxmox_vm` is shorter. " +
			"A change uploads a new image beside the old one, so that no VM is without: VMs that refer to `volume_id` change over in the same apply, " +
			"and the old image goes at the next update or at destruction, once no VM that the token can read names it. " +
			"On a storage that nodes share it cannot be destroyed while a node with VMs is down: one of these may hold it. " +
			"The [guide on seeds](../guides/seeds.md) says more.",
		Attributes: attributes,
	}
}

// IdentitySchema describes what identifies the image.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"volume_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The image's volume id, such as seeds:iso/UID-SHA256.iso."},
		"node":      identityschema.StringAttribute{OptionalForImport: true, Description: "The node that has it, where the storage is not shared."},
	}}
}
