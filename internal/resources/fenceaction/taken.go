package fenceaction

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"terraform-provider-proxmox/internal/proxmox"
)

// taken is a [proxmox.FenceBefore] in state.
type taken struct {
	Guests  []takenGuest `tfsdk:"guests"`
	LinksUp []string     `tfsdk:"links_up"`
}

type takenGuest struct {
	Kind        string `tfsdk:"kind"`
	VMID        int64  `tfsdk:"vmid"`
	HARequested string `tfsdk:"ha_requested"`
}

// kinds are the words for the kinds of guests.
var kinds = map[string]proxmox.Kind{"vm": proxmox.KindVM, "container": proxmox.KindContainer}

var takenTypes = map[string]attr.Type{
	"guests": types.ListType{ElemType: types.ObjectType{AttrTypes: map[string]attr.Type{
		"kind": types.StringType, "vmid": types.Int64Type, "ha_requested": types.StringType,
	}}},
	"links_up": types.ListType{ElemType: types.StringType},
}

// newTaken writes what a fence took; null where it took nothing.
func newTaken(ctx context.Context, before proxmox.FenceBefore, diags *diag.Diagnostics) types.Object {
	if before.IsEmpty() {
		return types.ObjectNull(takenTypes)
	}
	t := taken{Guests: []takenGuest{}, LinksUp: append([]string{}, before.LinksUp...)}
	for _, g := range before.Guests {
		t.Guests = append(t.Guests, takenGuest{strings.ToLower(g.Kind.String()), int64(g.VMID), g.HA})
	}
	object, problems := types.ObjectValueFrom(ctx, takenTypes, t)
	diags.Append(problems...)
	return object
}

// readTaken reads what a fence took.
func readTaken(ctx context.Context, object types.Object, diags *diag.Diagnostics) proxmox.FenceBefore {
	if object.IsNull() || object.IsUnknown() {
		return proxmox.FenceBefore{}
	}
	var t taken
	diags.Append(object.As(ctx, &t, basetypes.ObjectAsOptions{})...)
	before := proxmox.FenceBefore{LinksUp: t.LinksUp}
	for _, g := range t.Guests {
		before.Guests = append(before.Guests, proxmox.FencedGuest{Kind: kinds[g.Kind], VMID: int(g.VMID), HA: g.HARequested})
	}
	return before
}
