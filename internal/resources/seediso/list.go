package seediso

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
			"One that was replaced and not deleted yet is listed too. What cannot be read, as on a node that is offline, is named in a warning; " +
			"so are seeds that may belong to a VM there.",
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
	var filter filter
	client := listing.Open(ctx, req, stream, &l.ResourceBase, &filter)
	if client == nil {
		return
	}
	search := listing.Search{
		Kind: &l.Resource, Doing: "list seeds", Timeout: l.Data.Timeouts.Read,
		Candidates: func(ctx context.Context) ([]listing.Candidate, error) {
			c := census{client: client, bounds: l.Data.VMIDRange, filter: filter, shared: map[string]bool{}}
			return c.candidates(ctx)
		},
	}
	search.Into(ctx, req, stream)
}

// census finds the seeds of the cluster.
type census struct {
	client *proxmox.Client
	bounds proxmox.VMIDRange
	filter filter

	found []image
	// shared are the storages that nodes share and that were read.
	shared map[string]bool
	missed []missed
}

// missed is a storage that a node could not read.
type missed struct {
	storage proxmox.NodeStorage
	err     error
}

// candidates are all seeds, after what could not be read.
func (c *census) candidates(ctx context.Context) ([]listing.Candidate, error) {
	gaps, err := c.search(ctx)
	if err != nil {
		return nil, err
	}
	var candidates []listing.Candidate
	for _, gap := range gaps {
		candidates = append(candidates, listing.Gap(gap))
	}
	if len(c.found) == 0 {
		return candidates, nil
	}
	// The seeds of guests are named by the guests' uids.
	guests, unread, err := listing.UIDs(ctx, c.client, c.bounds, proxmox.KindVM)
	if err != nil {
		return nil, err
	}
	var doubtful []string
	var reason error
	for _, each := range c.found {
		name, _ := seeds.ParseName(each.VolID)
		owner := slices.IndexFunc(unread, func(u listing.Unread) bool { return c.shared[name.Storage] || u.Node == each.Node })
		switch {
		case guests[name.UID]:
		case owner >= 0:
			doubtful, reason = append(doubtful, each.VolID), unread[owner].Err
		default:
			candidates = append(candidates, func(context.Context) (*listing.Item, error) {
				return &listing.Item{Name: each.VolID + " on " + each.Node, Identity: each.identity()}, nil
			})
		}
	}
	if len(doubtful) > 0 {
		err := fmt.Errorf("%s may be the seeds of VMs that cannot be read: %w", strings.Join(doubtful, ", "), reason)
		candidates = slices.Insert(candidates, len(gaps), listing.Gap(err))
	}
	return candidates, nil
}

// search finds all seeds, those on a shared storage once, sorted. It returns what
// it could not look at.
func (c *census) search(ctx context.Context) (gaps []error, err error) {
	nodes, err := c.client.View.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b proxmox.Node) int { return strings.Compare(a.Node, b.Node) })
	for _, node := range nodes {
		if !c.filter.Node.IsNull() && c.filter.Node.ValueString() != node.Node {
			continue
		}
		if err := c.on(ctx, node); err != nil {
			gaps = append(gaps, fmt.Errorf("images that node %s alone sees are not listed: %w", node.Node, err))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.shared[c.filter.Storage.ValueString()] {
		return nil, nil // Any node has shown all there is.
	}
	for _, each := range c.missed {
		if !c.shared[each.storage.Storage] {
			gaps = append(gaps, each.err)
		}
	}
	return gaps, nil
}

// on looks at the storages of a node that may hold seeds.
func (c *census) on(ctx context.Context, node proxmox.Node) error {
	if !node.Online() {
		return errors.New("it is offline")
	}
	storages, err := c.client.View.Storages(ctx, node.Node)
	if err != nil {
		return err
	}
	for _, storage := range storages {
		if !c.wants(storage) || c.shared[storage.Storage] {
			continue
		}
		images, err := c.images(ctx, node.Node, storage)
		if err != nil {
			err = fmt.Errorf("images of storage %s on node %s are not listed: %w", storage.Storage, node.Node, err)
			c.missed = append(c.missed, missed{storage, err})
			continue
		}
		c.shared[storage.Storage] = bool(storage.Shared)
		c.found = append(c.found, images...)
	}
	return nil
}

func (c *census) wants(storage proxmox.NodeStorage) bool {
	return bool(storage.Enabled) && storage.Allows("iso") && (c.filter.Storage.IsNull() || c.filter.Storage.ValueString() == storage.Storage)
}

// images are the seeds of one storage, as a node sees them.
func (c *census) images(ctx context.Context, node string, storage proxmox.NodeStorage) ([]image, error) {
	if !storage.Active {
		return nil, errors.New("the storage is not active")
	}
	volumes, err := c.client.View.Images(ctx, node, storage.Storage)
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
