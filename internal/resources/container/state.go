package container

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// refresh brings a state up to what was found.
type refresh struct{ *guests.Refresh }

// Import fills what a container is given when it is made.
func (f refresh) Import(state settings.Document) {
	// The empty text stands for the template that PVE does not name.
	state.Values["template"] = types.StringValue("")
}

// Read fills whether the container is privileged, and whether a reinstallation is to
// be finished.
func (f refresh) Read(ctx context.Context, state settings.Document) {
	state.Values["unprivileged"] = types.BoolValue(f.Look.Config.Get("unprivileged") == "1")
	if f.Look.Standing == proxmox.Unfinished || f.held(ctx) {
		state.Values["provisioned"] = types.BoolValue(false)
	}
}

// held reports whether another container seems to hold volumes of this one, so that
// its reinstallation is to be finished.
func (f refresh) held(ctx context.Context) bool {
	named, err := f.Client.HeldFor(ctx, f.Guest)
	if err != nil || !named {
		return false
	}
	holders, err := f.Client.Holders(ctx, f.Guest)
	return err == nil && len(holders) > 0
}

// Lost lets a container that is gone leave the state, unless another one holds
// volumes of it: then a reinstallation was not finished.
func (f refresh) Lost(ctx context.Context, state settings.Document, problem error) bool {
	holders, err := f.Client.Holders(ctx, f.Guest)
	if err != nil {
		framework.AddError(f.Diags, "find out whether volumes of "+kind.Describe(f.State)+" are kept elsewhere", err)
		return false
	}
	if len(holders) == 0 {
		f.Diags.AddWarning(kind.Describe(f.State)+" is gone", problem.Error())
		return true
	}
	f.Diags.AddWarning(kind.Describe(f.State)+" is being reinstalled", problem.Error()+"\n\nAn earlier run did not finish its reinstallation. "+
		holders[0].Guest.String()+" holds its volumes. The next apply goes on.")
	state.Values["provisioned"] = types.BoolValue(false)
	return false
}
