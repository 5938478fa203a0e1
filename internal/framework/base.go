package framework

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/proxmox"
)

// ResourceBase is embedded by every resource: it keeps what the provider's
// Configure handed over.
type ResourceBase struct {
	// Data is nil until the provider is configured.
	Data *ProviderData
}

// Configure keeps the provider's data. Terraform calls it without data before
// the provider is configured, to validate.
func (b *ResourceBase) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	b.Data = providerData(req.ProviderData, &resp.Diagnostics)
}

// Ready reports whether the cluster can be asked. In a plan it may not be, as
// long as the provider's own configuration is unknown: what is checked at plan
// is then left to apply.
func (b *ResourceBase) Ready() bool {
	return b.Data != nil && b.Data.Client != nil
}

// Client returns the client, or nil and an error that says why there is none.
func (b *ResourceBase) Client(diags *diag.Diagnostics) *proxmox.Client {
	return b.Data.client(diags)
}

// DataSourceBase is embedded by every data source: it keeps what the
// provider's Configure handed over.
type DataSourceBase struct {
	// Data is nil until the provider is configured.
	Data *ProviderData
}

// Configure keeps the provider's data. Terraform calls it without data before
// the provider is configured, to validate.
func (b *DataSourceBase) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	b.Data = providerData(req.ProviderData, &resp.Diagnostics)
}

// Client returns the client, or nil and an error that says why there is none.
func (b *DataSourceBase) Client(diags *diag.Diagnostics) *proxmox.Client {
	return b.Data.client(diags)
}

func providerData(handed any, diags *diag.Diagnostics) *ProviderData {
	if handed == nil {
		return nil
	}
	data, ok := handed.(*ProviderData)
	if !ok {
		diags.AddError("Unexpected provider data", "Configure handed over another type than *framework.ProviderData. This is a bug in the provider.")
	}
	return data
}

// WithReadTimeout bounds a read by the provider's timeout. Call cancel when it
// has ended.
func (b *DataSourceBase) WithReadTimeout(ctx context.Context) (bounded context.Context, cancel context.CancelFunc) {
	return context.WithTimeout(ctx, b.Data.Timeouts.Read)
}
