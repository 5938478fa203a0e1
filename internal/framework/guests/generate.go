package guests

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// SpareConfig takes defaults out of a configuration that is generated from a state:
// most of a guest's settings hold them, and what is left out is inherited.
func (r *Resource) SpareConfig(ctx context.Context, config *tfsdk.State, diags *diag.Diagnostics) {
	d := settings.Load(ctx, *config, diags)
	if diags.HasError() || !d.Exists() {
		return
	}
	d.Put(r.Kind.Table.Spare(ctx, d.Object()))
	if template, ok := d.Values["template"].(types.Int64); ok && template.ValueInt64() == 0 {
		d.Values["template"] = types.Int64Null() // An import does not know it.
	}
	d.Save(ctx, config, diags)
}
