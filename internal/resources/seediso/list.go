package seediso

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/listing"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/proxmox"
)

var _ tflist.ListResourceWithConfigure = (*listResource)(nil)

type listResource struct{ Resource }

// NewList returns the list resource.
func NewList() tflist.ListResource { return &listResource{} }

// filter is which images are asked for.
type filter struct {
	Node    types.String `tfsdk:"node"`
	Storage types.String `tfsdk:"storage"`
}

// ListResourceConfigSchema describes what can be asked for.
func (l *listResource) ListResourceConfigSchema(_ context.Context, _ tflist.ListResourceSchemaRequest, resp *tflist.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The seed images that were uploaded by `proxmox_seed_iso`, told by their names; an image of a storage that nodes share is listed once. " +
			"Other ISO images are not listed, nor the seeds of VMs in the provider's `vmid_range`, which belong to the `seed` of their `proxmox_vm`. " +
			"One that was replaced and not deleted yet is listed too.",
		Attributes: map[string]schema.Attribute{
			"node": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.NodeName()}, MarkdownDescription: "Only images that this node sees.",
			},
			"storage": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.StorageName()}, MarkdownDescription: "Only images on this storage.",
			},
		},
	}
}

// List lists seeds.
func (l *listResource) List(ctx context.Context, req tflist.ListRequest, stream *tflist.ListResultsStream) {
	var diags diag.Diagnostics
	c := census{client: l.Client(&diags)}
	diags.Append(req.Config.Get(ctx, &c.filter)...)
	if diags.HasError() {
		stream.Results = tflist.ListResultsStreamDiagnostics(diags)
		return
	}
	c.bounds = l.Data.VMIDRange
	search := listing.Search{Kind: &l.Resource, Doing: "list seeds", Timeout: l.Data.Timeouts.Read, Candidates: c.candidates}
	search.Into(ctx, req, stream)
}

// census finds the seeds of the cluster.
type census struct {
	client *proxmox.Client
	bounds proxmox.VMIDRange
	filter filter
}

func (c census) candidates(ctx context.Context) ([]listing.Candidate, error) {
	images, err := c.images(ctx)
	if err != nil || len(images) == 0 {
		return nil, err
	}
	// The seeds of guests are named by the guests' uids.
	guests, err := listing.UIDs(ctx, c.client, c.bounds, proxmox.KindVM)
	if err != nil {
		return nil, err
	}
	var candidates []listing.Candidate
	for _, each := range images {
		if name, _ := seeds.ParseName(each.VolID); guests[name.UID] {
			continue
		}
		candidates = append(candidates, func(context.Context) (*listing.Item, error) {
			return &listing.Item{Name: each.VolID + " on " + each.Node, Identity: each.identity()}, nil
		})
	}
	return candidates, nil
}

// images are all seeds, one on a shared storage once, sorted.
func (c census) images(ctx context.Context) ([]image, error) {
	nodes, err := c.client.View.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b proxmox.Node) int { return strings.Compare(a.Node, b.Node) })
	seen := map[string]bool{}
	var found []image
	for _, node := range nodes {
		if !node.Online() || !c.filter.Node.IsNull() && c.filter.Node.ValueString() != node.Node {
			continue
		}
		storages, err := c.client.View.Storages(ctx, node.Node)
		if err != nil {
			return nil, err
		}
		for _, storage := range storages {
			if !c.wants(storage) || seen[storage.Storage] {
				continue
			}
			seen[storage.Storage] = bool(storage.Shared)
			there, err := c.on(ctx, node.Node, storage.Storage)
			if err != nil {
				return nil, err
			}
			found = append(found, there...)
		}
	}
	return found, nil
}

func (c census) wants(storage proxmox.NodeStorage) bool {
	return bool(storage.Enabled) && bool(storage.Active) && storage.Allows("iso") &&
		(c.filter.Storage.IsNull() || c.filter.Storage.ValueString() == storage.Storage)
}

// on are the seeds of one storage, as a node sees them.
func (c census) on(ctx context.Context, node, storage string) ([]image, error) {
	volumes, err := c.client.View.Images(ctx, node, storage)
	if err != nil {
		return nil, err
	}
	var found []image
	for _, volume := range volumes {
		if _, ours := seeds.ParseName(volume.VolID); ours {
			found = append(found, image{node, volume.VolID})
		}
	}
	slices.SortFunc(found, func(a, b image) int { return strings.Compare(a.VolID, b.VolID) })
	return found, nil
}
