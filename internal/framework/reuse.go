package framework

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
)

// reuse remembers that the warning about ids was given: once a run is enough.
type reuse struct{ once sync.Once }

// WarnReuse warns, once in a run, where an id may come back after its guest is
// gone. Call it when a guest is planned to be made without an id of its own.
func (d *ProviderData) WarnReuse(ctx context.Context, diags *diag.Diagnostics) {
	if d.Client == nil {
		return
	}
	d.reuse.once.Do(func() {
		if d.Defaults.Pool == "" {
			diags.AddWarning("Guest ids may be used again",
				"Without defaults.pool nothing remembers which ids were given out: when the guest with the highest id is destroyed, the next one gets that id, "+
					"and what comes late for the old guest (a backup, a monitor, an operator's command) meets the new one. "+
					"Set defaults.pool to a pool, which proxmox_connection can create: ids are then reserved in it.")
			return
		}
		d.warnNoLedger(ctx, diags)
	})
}

func (d *ProviderData) warnNoLedger(ctx context.Context, diags *diag.Diagnostics) {
	ledger := Use{Capability: "id-ledger", Scope: proxmox.Scope{"pool": {d.Defaults.Pool}}}
	_, lacks, err := ledger.lacks(ctx, d.Client)
	if err != nil {
		return // What follows asks the same, and says so.
	}
	for _, lack := range lacks {
		if lack.Proof == proxmox.Missing {
			diags.AddWarning("Guest ids may be used again",
				"Ids are reserved in the pool of defaults.pool, for which the API token lacks "+lack.String()+". "+
					"Without it the next guest may get the id of one that was destroyed. It has to propagate to the pools within.")
			return
		}
	}
}
