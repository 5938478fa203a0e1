// Package node holds the data sources proxmox_node and proxmox_nodes.
package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_node.
func NewDataSource() datasource.DataSource {
	return &dataSource{}
}

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_node"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = nodeSchema()
}

// Read reads the node. A node that does not exist is an error; one that is
// offline is not.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var name string
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	client := d.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()

	nodes, err := client.View.Nodes(ctx)
	if err != nil {
		framework.AddError(&resp.Diagnostics, "list the nodes", err)
		return
	}
	index := slices.IndexFunc(nodes, func(n proxmox.Node) bool { return n.Node == name })
	if index < 0 {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "No such node",
			fmt.Sprintf("The cluster has no node %q. It has: %s.", name, strings.Join(names(nodes), ", ")))
		return
	}
	state := newReader(ctx, client, &resp.Diagnostics).read(ctx, nodes[index], &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

func names(nodes []proxmox.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Node)
	}
	slices.Sort(all)
	return all
}
