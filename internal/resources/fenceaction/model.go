package fenceaction

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

// model is a proxmox_fence_action.
type model struct {
	fences.Request

	UnfenceOnDestroy types.Bool `tfsdk:"unfence_on_destroy"`
	Refence          types.Bool `tfsdk:"refence"`
	Triggers         types.Map  `tfsdk:"triggers"`

	State    types.String `tfsdk:"state"`
	Reasons  types.List   `tfsdk:"reasons"`
	Checks   types.Map    `tfsdk:"checks"`
	FencedAt types.String `tfsdk:"fenced_at"`
}

// found takes in what a proof found.
func (m *model) found(ctx context.Context, proof proxmox.FenceProof, diags *diag.Diagnostics) {
	m.State = types.StringValue(string(proof.State))
	reasons := proof.Reasons
	if reasons == nil {
		reasons = []string{}
	}
	var problems diag.Diagnostics
	m.Reasons, problems = types.ListValueFrom(ctx, types.StringType, reasons)
	diags.Append(problems...)
	m.Checks, problems = types.MapValueFrom(ctx, types.BoolType, proof.Checks)
	diags.Append(problems...)
}

// performed takes in a proof with the time of the fence.
func (m *model) performed(ctx context.Context, proof proxmox.FenceProof, diags *diag.Diagnostics) {
	m.found(ctx, proof, diags)
	m.FencedAt = types.StringValue(proof.At.UTC().Format(time.RFC3339))
}

// unknown leaves open what performing the fence will tell.
func (m *model) unknown() {
	m.State, m.FencedAt = types.StringUnknown(), types.StringUnknown()
	m.Reasons, m.Checks = types.ListUnknown(types.StringType), types.MapUnknown(types.BoolType)
}
