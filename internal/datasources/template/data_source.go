// Package template holds the data source proxmox_template.
package template

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_template.
func NewDataSource() datasource.DataSource {
	return &dataSource{}
}

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_template"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = templateSchema()
}

// Read finds the template.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	w := request(ctx, req, &resp.Diagnostics)
	client := d.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()

	config, err := find(ctx, client, w)
	var notFound *notFoundError
	if errors.As(err, &notFound) {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot find %s", w), notFound.Error())
		return
	}
	if err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("find %s", w), err)
		return
	}
	state := fromConfig(config, storages(ctx, client, config.Node, &resp.Diagnostics))
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// request takes what is asked for out of the configuration.
func request(ctx context.Context, req datasource.ReadRequest, diags *diag.Diagnostics) wanted {
	var (
		vmid       *int64
		name, node *string
		w          wanted
	)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("vmid"), &vmid)...)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("node"), &node)...)
	if vmid != nil {
		w.vmid = int(*vmid)
	}
	if name != nil {
		w.name = *name
	}
	if node != nil {
		w.node = *node
	}
	return w
}

func storages(ctx context.Context, client *proxmox.Client, node string, diags *diag.Diagnostics) []proxmox.NodeStorage {
	list, err := client.View.Storages(ctx, node)
	framework.AddError(diags, fmt.Sprintf("list the storages of node %q", node), err)
	return list
}
