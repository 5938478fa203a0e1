// Package power is the actions proxmox_vm_power and proxmox_container_power.
package power

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

// powerAction is the action of either kind of guest.
type powerAction struct {
	framework.ActionBase
	*kind
}

var (
	_ action.ActionWithConfigure  = (*powerAction)(nil)
	_ action.ActionWithModifyPlan = (*powerAction)(nil)
)

// kind is what tells the two actions apart.
type kind struct {
	// name follows the provider's in the action's own.
	name string
	// guest is the word for the guest.
	guest string
	docs  map[string]string
	// foreign is whether the attribute of that name is offered.
	foreign bool
	command func(*proxmox.Client, context.Context, proxmox.PowerCommand) error
}

// Command is the configuration that both have.
type Command struct {
	Command         types.String `tfsdk:"command"`
	VMID            types.Int64  `tfsdk:"vmid"`
	UID             types.String `tfsdk:"uid"`
	ShutdownTimeout types.String `tfsdk:"shutdown_timeout"`
	ForceStop       types.Bool   `tfsdk:"force_stop"`
	Timeout         types.String `tfsdk:"timeout"`
}

// Metadata names the action.
func (a *powerAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + a.name
}

// Schema describes the action.
func (a *powerAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	duration := func(doc string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: doc, Validators: []validator.String{framework.Duration()}}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: a.docs[""],
		Attributes: map[string]schema.Attribute{
			"command": schema.StringAttribute{
				Required: true, Validators: []validator.String{stringvalidator.OneOf(proxmox.PowerVerbs()...)}, MarkdownDescription: a.docs["command"],
			},
			"vmid":             schema.Int64Attribute{Required: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: a.docs["vmid"]},
			"uid":              schema.StringAttribute{Optional: true, MarkdownDescription: a.docs["uid"]},
			"shutdown_timeout": duration("How long the " + a.guest + " may take to shut down (`3m` unless given)."),
			"force_stop":       schema.BoolAttribute{Optional: true, MarkdownDescription: a.docs["force_stop"]},
			"timeout":          duration(a.docs["timeout"]),
		},
	}
	if a.foreign {
		resp.Schema.Attributes["foreign"] = schema.BoolAttribute{Optional: true, MarkdownDescription: a.docs["foreign"]}
	}
}

// ModifyPlan refuses what the range and the fence scope do not allow.
func (a *powerAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	config, foreign := a.read(ctx, req.Config, &resp.Diagnostics)
	if !a.Ready() || resp.Diagnostics.HasError() || config.VMID.IsUnknown() || foreign.IsUnknown() {
		return
	}
	if foreign.ValueBool() {
		target := fences.Request{Action: types.StringValue(string(proxmox.FenceStop)), VMID: config.VMID, Foreign: foreign}
		target.CheckScope(a.Data.Client.FenceScope(), &resp.Diagnostics)
		return
	}
	if a.Data.RequireVMIDRange(&resp.Diagnostics) && !a.Data.VMIDRange.Contains(int(config.VMID.ValueInt64())) {
		resp.Diagnostics.AddAttributeError(path.Root("vmid"), fmt.Sprintf("vmid %d is outside the range", config.VMID.ValueInt64()),
			fmt.Sprintf("The provider owns no %s outside its vmid_range, %s.", a.guest, a.Data.VMIDRange))
	}
}

// Invoke obeys the command.
func (a *powerAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	config, foreign := a.read(ctx, req.Config, &resp.Diagnostics)
	client := a.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fences.Duration(config.Timeout, fences.DefaultTimeout))
	defer cancel()
	command := proxmox.PowerCommand{
		Verb: proxmox.PowerVerb(config.Command.ValueString()), VMID: int(config.VMID.ValueInt64()), UID: config.UID.ValueString(), Foreign: foreign.ValueBool(),
		PowerOptions: proxmox.PowerOptions{
			ShutdownTimeout: fences.Duration(config.ShutdownTimeout, proxmox.DefaultShutdownTimeout.String()),
			ForceStop:       config.ForceStop.ValueBool(), Progress: framework.Progress(resp),
		},
	}
	err := a.command(client, ctx, command)
	framework.AddError(&resp.Diagnostics, fmt.Sprintf("%s %s %d", command.Verb, a.guest, command.VMID), err)
}

// read reads the configuration, and foreign where there is such an attribute.
func (a *powerAction) read(ctx context.Context, from tfsdk.Config, diags *diag.Diagnostics) (Command, types.Bool) {
	if !a.foreign {
		var config Command
		diags.Append(from.Get(ctx, &config)...)
		return config, types.BoolNull()
	}
	var config struct {
		Command
		Foreign types.Bool `tfsdk:"foreign"`
	}
	diags.Append(from.Get(ctx, &config)...)
	return config.Command, config.Foreign
}
