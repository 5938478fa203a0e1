package framework

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
)

// ActionBase is embedded by every action: it keeps what the provider's Configure
// handed over.
type ActionBase struct {
	// Data is nil until the provider is configured.
	Data *ProviderData
}

// Configure keeps the provider's data.
func (b *ActionBase) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	b.Data = providerData(req.ProviderData, &resp.Diagnostics)
}

// Ready reports whether the cluster can be asked, see [ResourceBase.Ready].
func (b *ActionBase) Ready() bool { return b.Data != nil && b.Data.Client != nil }

// Client returns the client, or nil and an error that says why there is none.
func (b *ActionBase) Client(diags *diag.Diagnostics) *proxmox.Client { return b.Data.client(diags) }

// Progress tells the CLI what an action is at. Several guests may be worked on at
// the same time: the lines come one after another.
func Progress(resp *action.InvokeResponse) func(line string) {
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		resp.SendProgress(action.InvokeProgressEvent{Message: line})
	}
}
