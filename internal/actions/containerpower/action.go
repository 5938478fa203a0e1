// Package containerpower is the action proxmox_container_power.
package containerpower

import (
	"context"
	"fmt"

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
	ShutdownTimeout types.String `tfsdk:"shutdown_timeout"`
	ForceStop       types.Bool   `tfsdk:"force_stop"`
	Timeout         types.String `tfsdk:"timeout"`
}

// Metadata names the action.
func (a *powerAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_container_power"
}

// Schema describes the action.
func (a *powerAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	duration := func(doc string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: doc, Validators: []validator.String{framework.Duration()}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, shuts down or reboots a container that the provider owns, and waits until that shows. " +
			"`pause` and `resume` are refused as *not yet*, since Proxmox VE pauses no containers. " +
			"A command that does not fit is refused before any call that changes something, with the reason.",
		Attributes: map[string]schema.Attribute{
			"command": schema.StringAttribute{
				Required: true, Validators: []validator.String{stringvalidator.OneOf(proxmox.PowerVerbs()...)},
				MarkdownDescription: "`start`, `stop`, `shutdown` or `reboot`.",
			},
			"vmid": schema.Int64Attribute{Required: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "The container, inside the provider's `vmid_range`."},
			"uid": schema.StringAttribute{
				Optional: true, MarkdownDescription: "The `uid` of the `proxmox_container`: another guest under its id is refused. Left out, any marker that the container carries will do.",
			},
			"shutdown_timeout": duration("How long the container may take to shut down (`3m` unless given)."),
			"force_stop":       schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether it is stopped hard where it has not shut down in time."},
			"timeout":          duration("How long it may take in all until that shows (`10m` unless given)."),
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
		PowerOptions: proxmox.PowerOptions{
			ShutdownTimeout: fences.Duration(config.ShutdownTimeout, proxmox.DefaultShutdownTimeout.String()),
			ForceStop:       config.ForceStop.ValueBool(), Progress: framework.Progress(resp),
		},
	}
	err := client.CommandContainer(ctx, command)
	framework.AddError(&resp.Diagnostics, fmt.Sprintf("%s container %d", command.Verb, command.VMID), err)
}
