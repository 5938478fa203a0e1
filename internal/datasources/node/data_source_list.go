package node

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"

	"terraform-provider-proxmox/internal/framework"
)

type listDataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*listDataSource)(nil)

// NewListDataSource returns the data source proxmox_nodes.
func NewListDataSource() datasource.DataSource {
	return &listDataSource{}
}

// Metadata names the data source.
func (d *listDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_nodes"
}

// Schema describes the data source.
func (d *listDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = nodesSchema()
}

// Read reads all nodes.
func (d *listDataSource) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	client := d.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()

	nodes, err := client.View.Nodes(ctx)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "list the nodes", err)
		return
	}
	state := listModel{Nodes: map[string]model{}, Online: []string{}}
	reader := newReader(ctx, client, &resp.Diagnostics)
	for _, node := range nodes {
		state.Nodes[node.Node] = reader.read(ctx, node, &resp.Diagnostics)
		if node.Online() {
			state.Online = append(state.Online, node.Node)
		}
	}
	slices.Sort(state.Online)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}
