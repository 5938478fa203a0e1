// Package guestprobe holds the data source proxmox_guest_probe.
package guestprobe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_guest_probe.
func NewDataSource() datasource.DataSource { return &dataSource{} }

// model is what is asked for and what was found.
type model struct {
	VMID          types.Int64  `tfsdk:"vmid"`
	Service       types.String `tfsdk:"service"`
	Timeout       types.String `tfsdk:"timeout"`
	Node          types.String `tfsdk:"node"`
	Agent         types.Bool   `tfsdk:"agent_answers"`
	ServiceState  types.String `tfsdk:"service_state"`
	ServiceActive types.Bool   `tfsdk:"service_active"`
}

const defaultTimeout = 30 * time.Second

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_guest_probe"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Asks a VM for a sign of life through its guest agent, and for the state of one of its services (systemd). " +
			"Only VMs that carry a marker of this provider inside its range are asked, and those in the provider's `fence_scope`. " +
			"The agent takes VM.GuestAgent.Audit on the VM, a service VM.GuestAgent.Unrestricted, for it runs `systemctl is-active` in the guest; " +
			"VM.Monitor for both on Proxmox VE 8.",
		Attributes: map[string]schema.Attribute{
			"vmid": schema.Int64Attribute{Required: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "The VM."},
			"service": schema.StringAttribute{
				Optional: true, MarkdownDescription: "A unit of systemd, such as `postgresql` or `nginx.service`. No shell reads it.",
			},
			"timeout": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.Duration()}, MarkdownDescription: "How long the VM may take to answer (`30s` unless given).",
			},
			"node":          schema.StringAttribute{Computed: true, MarkdownDescription: "The node that the VM is on."},
			"agent_answers": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the agent answers. It does not in a VM that is off or has none."},
			"service_state": schema.StringAttribute{
				Computed: true, MarkdownDescription: "`active`, `inactive`, `failed`, `activating` …; null where no service is asked for or the agent does not answer.",
			},
			"service_active": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the service's state is `active`; null as `service_state`."},
		},
	}
}

// Read asks the VM.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &state)...)
	client := d.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	timeout := defaultTimeout
	if !state.Timeout.IsNull() {
		timeout, _ = time.ParseDuration(state.Timeout.ValueString())
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := state.probe(ctx, client); err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("probe VM %d", state.VMID.ValueInt64()), err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

func (m *model) probe(ctx context.Context, client *proxmox.Client) error {
	if service := m.Service.ValueString(); !m.Service.IsNull() && !proxmox.IsUnitName(service) {
		return fmt.Errorf("%q is not the name of a unit of systemd", service)
	}
	target, err := client.Gate.Probe(ctx, int(m.VMID.ValueInt64()))
	var refused *proxmox.OwnershipError
	if errors.As(err, &refused) && refused.Standing == proxmox.Gone {
		return fmt.Errorf("there is no VM %d", m.VMID.ValueInt64())
	}
	if err != nil {
		return err
	}
	answers, err := client.VMs.AgentAnswers(ctx, target)
	if err != nil {
		return err
	}
	m.Node, m.Agent = types.StringValue(target.Config().Node), types.BoolValue(answers)
	m.ServiceState, m.ServiceActive = types.StringNull(), types.BoolNull()
	if m.Service.IsNull() || !answers {
		return nil
	}
	state, err := client.VMs.ServiceState(ctx, target, m.Service.ValueString())
	if err != nil {
		return err
	}
	m.ServiceState, m.ServiceActive = types.StringValue(state), types.BoolValue(state == "active")
	return nil
}
