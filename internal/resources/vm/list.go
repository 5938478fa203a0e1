package vm

import (
	"context"

	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"

	"terraform-provider-proxmox/internal/framework/listing"
	"terraform-provider-proxmox/internal/proxmox"
)

var _ tflist.ListResourceWithConfigure = (*listResource)(nil)

type listResource struct{ Resource }

// NewList returns the list resource.
func NewList() tflist.ListResource { return &listResource{} }

// ListResourceConfigSchema describes what can be asked for.
func (l *listResource) ListResourceConfigSchema(_ context.Context, _ tflist.ListResourceSchemaRequest, resp *tflist.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The VMs in the provider's `vmid_range` that carry its marker, finished or not; VMs of others and templates are not listed. " +
			"Each can be imported by its identity. It reads the configuration of each VM in the range that the filters let pass, " +
			"and with `include_resource` all that an import reads.",
		Attributes: listing.FilterAttributes(),
	}
}

// List lists VMs.
func (l *listResource) List(ctx context.Context, req tflist.ListRequest, stream *tflist.ListResultsStream) {
	listing.Guests(ctx, req, stream, &l.ResourceBase, proxmox.KindVM, &l.Resource)
}
