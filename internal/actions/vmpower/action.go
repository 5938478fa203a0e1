// Package vmpower is the action proxmox_vm_power.
package vmpower

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

type powerAction struct{ framework.ActionBase }

var _ action.ActionWithConfigure = (*powerAction)(nil)

// New returns the action.
func New() action.Action { return &powerAction{} }

type model struct {
	Command         types.String `tfsdk:"command"`
	VMID            types.Int64  `tfsdk:"vmid"`
	UID             types.String `tfsdk:"uid"`
	Foreign         types.Bool   `tfsdk:"foreign"`
	ShutdownTimeout types.String `tfsdk:"shutdown_timeout"`
	ForceStop       types.Bool   `tfsdk:"force_stop"`
	Timeout         types.String `tfsdk:"timeout"`
}

// Metadata names the action.
func (a *powerAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_power"
}

// Schema describes the action.
func (a *powerAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	duration := func(doc string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: doc, Validators: []validator.String{framework.Duration()}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, shuts down, reboots, pauses or resumes a VM, and waits until that shows. " +
			"A VM that HA manages is started and stopped by its manager, which sets the requested state with it. " +
			"A command that does not fit is refused before any call, as *never* or *not yet*, with the reason.",
		Attributes: map[string]schema.Attribute{
			"command": schema.StringAttribute{
				Required: true, Validators: []validator.String{stringvalidator.OneOf(proxmox.PowerVerbs()...)},
				MarkdownDescription: "One of `" + strings.Join(proxmox.PowerVerbs(), "`, `") + "`.",
			},
			"vmid": schema.Int64Attribute{Required: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "The VM."},
			"uid":  schema.StringAttribute{Optional: true, MarkdownDescription: fences.Docs["uid"]},
			"foreign": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Whether the VM may be one that the provider does not own, listed in the provider's `fence_scope`: " +
					"it is started, stopped and shut down, and nothing else.",
			},
			"shutdown_timeout": duration("How long the VM may take to shut down (`3m` unless given)."),
			"force_stop":       schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether the plug is pulled where it has not shut down in time."},
			"timeout":          duration(fences.Docs["timeout"]),
		},
	}
}

// Invoke obeys the command.
func (a *powerAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	client := a.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fences.Duration(config.Timeout, fences.DefaultTimeout))
	defer cancel()
	command := proxmox.PowerCommand{
		Verb: proxmox.PowerVerb(config.Command.ValueString()), VMID: int(config.VMID.ValueInt64()), UID: config.UID.ValueString(),
		Foreign: config.Foreign.ValueBool(),
		PowerOptions: proxmox.PowerOptions{
			ShutdownTimeout: fences.Duration(config.ShutdownTimeout, proxmox.DefaultShutdownTimeout.String()),
			ForceStop:       config.ForceStop.ValueBool(), Progress: framework.Progress(resp),
		},
	}
	err := client.Command(ctx, command)
	framework.AddError(&resp.Diagnostics, fmt.Sprintf("%s VM %d", command.Verb, command.VMID), err)
}
