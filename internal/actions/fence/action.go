// Package fence is the action proxmox_fence: a fence that is performed and proven
// once, and kept in no state.
package fence

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

type fenceAction struct{ framework.ActionBase }

var (
	_ action.ActionWithConfigure      = (*fenceAction)(nil)
	_ action.ActionWithValidateConfig = (*fenceAction)(nil)
	_ action.ActionWithModifyPlan     = (*fenceAction)(nil)
)

// New returns the action.
func New() action.Action { return &fenceAction{} }

// Metadata names the action.
func (a *fenceAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_fence"
}

// Schema describes the action.
func (a *fenceAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	text := func(name string, v ...validator.String) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: fences.Docs[name], Validators: v}
	}
	flag := func(name string) schema.Attribute {
		return schema.BoolAttribute{Optional: true, MarkdownDescription: fences.Docs[name]}
	}
	required := func(s schema.StringAttribute) schema.Attribute {
		s.Optional, s.Required = false, true
		return s
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Fences a VM or a node once, proves it, and says so; `proxmox_fence_action` does the same and keeps the proof. " +
			"Everything that is refused is refused before anything is stopped.",
		Attributes: map[string]schema.Attribute{
			"action": required(text("action", fences.ActionNames())),
			"node":   required(text("node", framework.NodeName())),
			"vmid":   schema.Int64Attribute{Optional: true, MarkdownDescription: fences.Docs["vmid"], Validators: []validator.Int64{framework.VMID()}},
			"uid":    text("uid"),
			"nics": schema.SetAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: fences.Docs["nics"],
				Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(framework.NetworkSlot())},
			},
			"foreign":         flag("foreign"),
			"timeout":         text("timeout", framework.Duration()),
			"guest_timeout":   text("guest_timeout", framework.Duration()),
			"require_durable": flag("require_durable"),
			"precondition": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: fences.Docs["precondition"],
				Attributes: map[string]schema.Attribute{
					"replication": schema.SingleNestedAttribute{
						Optional: true, MarkdownDescription: fences.Docs["replication"],
						Attributes: map[string]schema.Attribute{"job": required(text("job")), "max_lag": text("max_lag", framework.Duration())},
					},
					"quorum": flag("quorum"),
				},
			},
		},
	}
}

// ValidateConfig refuses attributes that do not fit.
func (a *fenceAction) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	var config fences.Request
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		config.Check(&resp.Diagnostics)
	}
}

// ModifyPlan refuses what the fence scope or the token does not allow.
func (a *fenceAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var config fences.Request
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if a.Ready() && !resp.Diagnostics.HasError() {
		config.CheckScope(a.Data.Client.FenceScope(), &resp.Diagnostics)
	}
	if a.Ready() && !resp.Diagnostics.HasError() {
		config.CheckPrivileges(ctx, a.Data.Client, &resp.Diagnostics)
	}
}

// Invoke performs the fence, telling each step.
func (a *fenceAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var config fences.Request
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	client := a.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	f := config.Fence(ctx, &resp.Diagnostics)
	f.Progress = framework.Progress(resp)
	ctx, cancel := config.Within(ctx)
	defer cancel()
	proof, before, err := client.Fence(ctx, f)
	fences.WarnWanted(before, &resp.Diagnostics)
	if err != nil {
		framework.AddError(&resp.Diagnostics, fences.Doing(f), err)
		return
	}
	f.Progress("proven: " + string(proof.State))
	if proof.State != proxmox.Fenced {
		resp.Diagnostics.AddWarning("The fence is "+string(proof.State), strings.Join(proof.Reasons, "\n"))
	}
}
