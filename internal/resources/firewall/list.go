package firewall

import (
	"context"
	"maps"
	"slices"

	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/listing"
	"terraform-provider-proxmox/internal/proxmox"
)

var _ tflist.ListResourceWithConfigure = (*listResource)(nil)

type listResource struct{ Resource }

// NewList returns the list resource.
func NewList() tflist.ListResource { return &listResource{} }

// listFilter is which firewalls are asked for.
type listFilter struct {
	listing.Filter
	Foreign types.Bool `tfsdk:"foreign"`
}

// ListResourceConfigSchema describes what can be asked for.
func (l *listResource) ListResourceConfigSchema(_ context.Context, _ tflist.ListResourceSchemaRequest, resp *tflist.ListResourceSchemaResponse) {
	attributes := listing.FilterAttributes()
	attributes["foreign"] = schema.BoolAttribute{
		Optional: true, MarkdownDescription: "Whether the firewalls that belong to no guest are listed too: the cluster's, the nodes', and security groups. `name`, `node`, `pool` and `tags` are about guests.",
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The firewalls of the VMs and containers in the provider's `vmid_range` that carry its marker. " +
			"One that has neither rules nor options is not listed. It reads the configuration of each guest in the range that the filters let pass, " +
			"and the rules, and at times the options, of those with a marker.",
		Attributes: attributes,
	}
}

// List lists firewalls.
func (l *listResource) List(ctx context.Context, req tflist.ListRequest, stream *tflist.ListResultsStream) {
	var filter listFilter
	client := listing.Open(ctx, req, stream, &l.ResourceBase, &filter, l.Data.RequireVMIDRange)
	if client == nil {
		return
	}
	c := census{client: client, bounds: l.Data.VMIDRange, filter: filter}
	search := listing.Search{Kind: &l.Resource, Doing: "list firewalls", Timeout: l.Data.Timeouts.Read, Candidates: c.candidates}
	search.Into(ctx, req, stream)
}

// census finds firewalls.
type census struct {
	client *proxmox.Client
	bounds proxmox.VMIDRange
	filter listFilter
}

func (c census) candidates(ctx context.Context) ([]listing.Candidate, error) {
	looks, err := listing.Looks(ctx, c.client, c.bounds, c.filter.Filter, proxmox.KindVM, proxmox.KindContainer)
	if err != nil {
		return nil, err
	}
	candidates := listing.Candidates(looks, c.ofGuest)
	if !c.filter.Foreign.ValueBool() {
		return candidates, nil
	}
	others, err := c.others(ctx)
	return append(candidates, others...), err
}

func (c census) ofGuest(ctx context.Context, guest listing.Guest) (*listing.Item, error) {
	scope := proxmox.FirewallScope{Kind: proxmox.FirewallVM, VMID: guest.VMID, Node: guest.Node}
	if guest.Kind == proxmox.KindContainer {
		scope.Kind = proxmox.FirewallContainer
	}
	return c.item(ctx, scope, guest.String(), guest.Marker.UID)
}

// others are the firewalls that belong to no guest.
func (c census) others(ctx context.Context) ([]listing.Candidate, error) {
	nodes, err := c.client.View.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := c.client.Firewall.Groups(ctx)
	if err != nil {
		return nil, err
	}
	scopes := []proxmox.FirewallScope{{Kind: proxmox.FirewallCluster}}
	for _, node := range nodes {
		scopes = append(scopes, proxmox.FirewallScope{Kind: proxmox.FirewallNode, Node: node.Node})
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		scopes = append(scopes, proxmox.FirewallScope{Kind: proxmox.FirewallGroup, Group: group})
	}
	candidates := make([]listing.Candidate, len(scopes))
	for i, scope := range scopes {
		candidates[i] = func(ctx context.Context) (*listing.Item, error) { return c.item(ctx, scope, scope.String(), "") }
	}
	return candidates, nil
}

// item is nil where the firewall holds nothing.
func (c census) item(ctx context.Context, scope proxmox.FirewallScope, name, uid string) (*listing.Item, error) {
	there, err := c.holds(ctx, scope)
	if err != nil || !there {
		return nil, err
	}
	return &listing.Item{Name: name, Identity: identityOf(scope.String(), uid)}, nil
}

func (c census) holds(ctx context.Context, scope proxmox.FirewallScope) (bool, error) {
	if scope.Kind == proxmox.FirewallGroup {
		return true, nil
	}
	rules, err := c.client.Firewall.Rules(ctx, scope)
	if err != nil || len(rules.Rules) > 0 {
		return err == nil, err
	}
	options, err := c.client.Firewall.Options(ctx, scope)
	return len(options.Values) > 0, err
}
