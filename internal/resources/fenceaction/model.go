package fenceaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Before   types.Object `tfsdk:"before"`
}

// target tells what is fenced, whoever fences it.
func (m *model) target() string {
	slots := []string{}
	for _, slot := range m.NICs.Elements() {
		slots = append(slots, slot.String())
	}
	slices.Sort(slots)
	return fmt.Sprint(m.Action.ValueString(), m.Node.ValueString(), m.VMID.ValueInt64(), slots)
}

// found takes in what a proof found.
func (m *model) found(ctx context.Context, proof proxmox.FenceProof, diags *diag.Diagnostics) {
	m.State = types.StringValue(string(proof.State))
	reasons := proof.Reasons
	if reasons == nil {
		reasons = []string{}
	}
	checks := proof.Checks
	if checks == nil {
		checks = map[string]bool{}
	}
	var problems diag.Diagnostics
	m.Reasons, problems = types.ListValueFrom(ctx, types.StringType, reasons)
	diags.Append(problems...)
	m.Checks, problems = types.MapValueFrom(ctx, types.BoolType, checks)
	diags.Append(problems...)
}

// performed takes in a proof with the time of the fence.
func (m *model) performed(ctx context.Context, proof proxmox.FenceProof, diags *diag.Diagnostics) {
	m.found(ctx, proof, diags)
	m.FencedAt = types.StringValue(proof.At.UTC().Format(time.RFC3339))
}

// failed notes a fence that failed when it had begun, or that was to resume one:
// whether it holds is not known, and it never was performed to its end.
func (m *model) failed(ctx context.Context, err error, diags *diag.Diagnostics) {
	proof := proxmox.FenceProof{State: proxmox.FenceUnknown, Reasons: []string{err.Error()}}
	var unproven *proxmox.FenceUnprovenError
	if errors.As(err, &unproven) && len(unproven.Left) > 0 {
		proof.Reasons = unproven.Left
	}
	m.found(ctx, proof, diags)
	m.FencedAt = types.StringNull()
}

// unknown leaves open what performing the fence will tell.
func (m *model) unknown() {
	m.State, m.FencedAt = types.StringUnknown(), types.StringUnknown()
	m.Reasons, m.Checks = types.ListUnknown(types.StringType), types.MapUnknown(types.BoolType)
	m.Before = types.ObjectUnknown(takenTypes)
}
