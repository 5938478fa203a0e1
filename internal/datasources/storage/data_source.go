// Package storage holds the data source proxmox_storage.
package storage

import (
	"context"
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

// NewDataSource returns the data source proxmox_storage.
func NewDataSource() datasource.DataSource {
	return &dataSource{}
}

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_storage"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = storageSchema()
}

// Read reads the storage and what is on it.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	state, ok := d.request(ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()

	if err := read(ctx, d.Client(&resp.Diagnostics), &state); err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("read storage %q on node %q", state.Name, state.Node), err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// request takes what is asked for out of the configuration.
func (d *dataSource) request(ctx context.Context, req datasource.ReadRequest, diags *diag.Diagnostics) (model, bool) {
	var (
		state model
		node  *string
	)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("name"), &state.Name)...)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("content"), &state.Content)...)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("node"), &node)...)
	if d.Client(diags) == nil || diags.HasError() {
		return state, false
	}
	if node != nil {
		state.Node = *node
	}
	state.Node = d.Data.RequireNode(state.Node, path.Root("node"), diags)
	return state, !diags.HasError()
}

// read fills in the state. PVE refuses to list a storage that is disabled or
// not there, so that its volumes stay unknown.
func read(ctx context.Context, client *proxmox.Client, state *model) error {
	status, err := client.Storage.Status(ctx, state.Node, state.Name)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	state.setStatus(status)
	if !status.Active || !status.Enabled {
		return nil
	}
	var content string
	if state.Content != nil {
		content = *state.Content
	}
	volumes, err := client.Storage.Content(ctx, state.Node, state.Name, content)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	state.setVolumes(volumes)
	return nil
}
