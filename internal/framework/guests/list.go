package guests

import (
	"context"
	"fmt"

	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"

	"terraform-provider-proxmox/internal/framework/listing"
)

var _ tflist.ListResourceWithConfigure = (*ListResource)(nil)

// ListResource lists the guests of a kind that are ours.
type ListResource struct{ Resource }

// NewList returns the list resource of a kind.
func NewList(kind *Kind) tflist.ListResource { return &ListResource{Resource{Kind: kind}} }

// ListResourceConfigSchema describes what can be asked for.
func (l *ListResource) ListResourceConfigSchema(_ context.Context, _ tflist.ListResourceSchemaRequest, resp *tflist.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: fmt.Sprintf("The %[1]ss in the provider's `vmid_range` that carry its marker, finished or not; %[1]ss of others and templates are not listed. "+
			"Each can be imported by its identity. It reads the configuration of each %[1]s in the range that the filters let pass, "+
			"and with `include_resource` all that an import reads.", l.Kind),
		Attributes: listing.FilterAttributes(),
	}
}

// List lists the guests.
func (l *ListResource) List(ctx context.Context, req tflist.ListRequest, stream *tflist.ListResultsStream) {
	listing.Guests(ctx, req, stream, &l.ResourceBase, l.Kind.Kind, &l.Resource)
}
