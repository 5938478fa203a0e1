package guests

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// SchemaVersion is the version of the form that the states of guests have, of
// either kind. An attribute that is added leaves it alone: in an older state it is
// null, which makes no difference. One that is renamed, or gets another type,
// raises it and adds an upgrader from the version before; a kind to which nothing
// happened then gets one that changes nothing.
const SchemaVersion = 0

// UpgradeState are the upgraders from each earlier version to the present one.
func (r *Resource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{} // Version 0 is the first.
}
