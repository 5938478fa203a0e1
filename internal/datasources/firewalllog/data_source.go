// Package firewalllog holds the data source proxmox_firewall_log.
package firewalllog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_firewall_log.
func NewDataSource() datasource.DataSource {
	return &dataSource{}
}

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_firewall_log"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = logSchema()
}

// Read reads the lines that are asked for.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &state)...)
	client := d.Client(&resp.Diagnostics)
	query := state.query(&resp.Diagnostics)
	if client == nil || resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()

	scope, err := state.scope(ctx, client)
	if err == nil {
		err = state.read(ctx, client, scope, query)
	}
	if err != nil {
		framework.AddError(&resp.Diagnostics, "read the log of the firewall of "+state.subject(), err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

func (m *model) subject() string {
	if m.VMID != nil {
		return fmt.Sprintf("guest %d", *m.VMID)
	}
	return "node " + *m.Node
}

// query reads the bounds of time.
func (m *model) query(diags *diag.Diagnostics) proxmox.FirewallLogQuery {
	var query proxmox.FirewallLogQuery
	for into, text := range map[*time.Time]*string{&query.Since: m.Since, &query.Until: m.Until} {
		if text == nil {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, *text)
		if err != nil {
			diags.AddError("Invalid time", fmt.Sprintf("%q is no time in RFC 3339, such as 2026-01-02T15:04:05Z.", *text))
		}
		*into = parsed
	}
	return query
}

// scope finds where the log is: a guest's lines are in its node's.
func (m *model) scope(ctx context.Context, client *proxmox.Client) (proxmox.FirewallScope, error) {
	if m.VMID == nil {
		return proxmox.FirewallScope{Kind: proxmox.FirewallNode, Node: *m.Node}, nil
	}
	vmid := int(*m.VMID)
	guest, listed, err := client.View.Guest(ctx, vmid)
	if err != nil {
		return proxmox.FirewallScope{}, err
	}
	if !listed {
		return proxmox.FirewallScope{}, fmt.Errorf("there is no guest %d that the token may see", vmid)
	}
	m.Node = &guest.Node
	kind := proxmox.FirewallVM
	if guest.Type == string(proxmox.KindContainer) {
		kind = proxmox.FirewallContainer
	}
	return proxmox.FirewallScope{Kind: kind, VMID: vmid, Node: guest.Node}, nil
}

// usual is how many lines are read unless it is said.
const usual = 50

// read reads the last lines. With a filter it takes all lines of the time that
// is asked for, since PVE has no filter of its own.
func (m *model) read(ctx context.Context, client *proxmox.Client, scope proxmox.FirewallScope, query proxmox.FirewallLogQuery) error {
	last := usual
	if m.Last != nil {
		last = int(*m.Last)
	}
	if m.Contains == nil {
		query.Limit = last
	}
	lines, total, err := client.Firewall.Log(ctx, scope, query)
	if err == nil && m.Contains == nil && total > last {
		query.Start = total - last
		lines, _, err = client.Firewall.Log(ctx, scope, query)
	}
	if err != nil {
		return err
	}
	m.Lines = []lineModel{}
	for _, line := range lines {
		if m.Contains == nil || strings.Contains(line.Text, *m.Contains) {
			m.Lines = append(m.Lines, fromLine(line))
		}
	}
	m.Lines = m.Lines[max(0, len(m.Lines)-last):]
	return nil
}
