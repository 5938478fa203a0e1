package vm

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// wholeMiB accepts sizes in GiB that are whole MiB.
type wholeMiB struct{}

func (wholeMiB) Description(context.Context) string { return "must be whole MiB" }

func (v wholeMiB) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (wholeMiB) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if mib := req.ConfigValue.ValueFloat64() * 1024; mib != math.Trunc(mib) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid size",
			"A size in GiB must be whole MiB, such as 3.5: PVE's storages round what is not, and the plan would never be empty.")
	}
}
