package settings

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
)

// appliedKey is the key of private state that holds the paths of what was applied
// from the configuration: only that is deleted when it is no longer configured.
const appliedKey = "applied"

// Applied are the paths of settings and slots that were applied from the
// configuration.
type Applied map[string]bool

// Has reports whether the path was applied.
func (a Applied) Has(at path.Path) bool { return a[at.String()] }

// LoadApplied reads what was applied from private state.
func LoadApplied(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) Applied {
	paths, _ := framework.GetPrivate[[]string](ctx, from, appliedKey, diags)
	set := make(Applied, len(paths))
	for _, each := range paths {
		set[each] = true
	}
	return set
}

// Save writes it.
func (a Applied) Save(ctx context.Context, to framework.PrivateWriter, diags *diag.Diagnostics) {
	paths := make([]string, 0, len(a))
	for each := range a {
		paths = append(paths, each)
	}
	slices.Sort(paths)
	framework.SetPrivate(ctx, to, appliedKey, paths, diags)
}
