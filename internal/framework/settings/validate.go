package settings

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// WholeMiB accepts sizes in GiB that are whole MiB.
type WholeMiB struct{}

// Description describes the check.
func (WholeMiB) Description(context.Context) string { return "must be whole MiB" }

// MarkdownDescription describes the check.
func (v WholeMiB) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateFloat64 checks a size.
func (WholeMiB) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if mib := req.ConfigValue.ValueFloat64() * 1024; mib != math.Trunc(mib) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid size",
			"A size in GiB must be whole MiB, such as 3.5: PVE's storages round what is not, and the plan would never be empty.")
	}
}
