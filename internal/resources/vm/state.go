package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Save fills the storage, the seed, what cloud-init was given, and the status of a
// guest that cloud-init is still working in.
func (j *job) Save(ctx context.Context, state settings.Document) {
	j.saveSeed(ctx, state)
	guests.Settle(state, "status", shownStatus(j.Status(), state))
	if j.Latest == nil {
		return
	}
	guests.Settle(state, "storage", j.storage(j.Latest))
	if state.Values[effectiveGroup.Name].IsUnknown() {
		reportCloudInit(state, j.Latest)
	}
}

// SavePrivate writes what the state does not say of the seed.
func (j *job) SavePrivate(ctx context.Context, private framework.PrivateWriter) {
	framework.SetPrivate(ctx, private, privateSeed, j.seed.note, j.Diags)
}

// shownStatus tells a guest that cloud-init is still working in from one that
// runs.
func shownStatus(status string, d settings.Document) string {
	if status == guests.PowerRunning && !d.Provisioned() && d.Text("wait_for") == waitCloudInit {
		return statusInstalling
	}
	return status
}

func reportCloudInit(state settings.Document, config *proxmox.GuestConfig) {
	r := &settings.Reader{Values: guests.Wanted(config), Purpose: settings.Importing}
	state.Values[effectiveGroup.Name] = r.Group(effectiveGroup, "", nil)
}

// refresh brings a state up to what was found.
type refresh struct{ *guests.Refresh }

// Import fills what a VM is given when it is made.
func (f refresh) Import(state settings.Document) {
	// 0 stands for the template that PVE does not name.
	state.Values["template"] = types.Int64Value(0)
	if storage := bootStorage(f.Look.Config); storage != "" {
		state.Values["storage"] = types.StringValue(storage)
	}
}

// Read fills what cloud-init is given, and looks at the media.
func (f refresh) Read(ctx context.Context, state settings.Document) {
	reportCloudInit(state, f.Look.Config)
	state.Values["status"] = types.StringValue(shownStatus(state.Text("status"), state))
	f.readSeed(ctx, state)
	f.checkDrives(ctx, state)
}

// Lost keeps a VM that left its seed behind, until that is deleted.
func (f refresh) Lost(ctx context.Context, state settings.Document, problem error) bool {
	f.Diags.AddWarning(kind.Describe(f.State)+" is gone", problem.Error())
	if !f.leavesSeeds(ctx) {
		return true
	}
	state.Values["status"] = types.StringValue(guests.StatusGone)
	return false
}
