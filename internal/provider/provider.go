// Package provider is the provider itself: its configuration, and the registry
// of its resources and data sources.
package provider

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/packed"
	"terraform-provider-proxmox/internal/proxmox"
)

// Address is the provider's source address: the one place that names its
// namespace.
const Address = "registry.terraform.io/holdfast/proxmox"

type proxmoxProvider struct {
	version string
	// env looks a variable of the environment up.
	env func(string) string
}

var (
	_ provider.ProviderWithActions       = (*proxmoxProvider)(nil)
	_ provider.ProviderWithListResources = (*proxmoxProvider)(nil)
)

// New returns the constructor of the provider, in the version that a release
// gave it.
func New(version string) func() provider.Provider {
	return func() provider.Provider {
		return &proxmoxProvider{version: version, env: os.Getenv}
	}
}

// Serve serves the provider to the CLI.
func Serve(ctx context.Context, version string) tfprotov6.ProviderServer {
	return packed.Serve(ctx, New(version)())
}

// Metadata names the provider: the prefix of its types.
func (p *proxmoxProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "proxmox"
	resp.Version = p.version
}

// Configure builds the client. It makes no network call: a wrong endpoint or
// token shows with the first thing that is asked.
func (p *proxmoxProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	data := &framework.ProviderData{}
	resp.ResourceData = data
	resp.DataSourceData = data
	resp.ActionData = data
	resp.ListResourceData = data

	data.Unknown = unknownAttributes(req.Config, &resp.Diagnostics)
	if len(data.Unknown) > 0 {
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		}
		return
	}

	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	settings := newSettings(config, p.env)
	options := settings.options(&resp.Diagnostics)
	options.UserAgent = fmt.Sprintf("terraform-provider-proxmox/%s Terraform/%s", p.version, req.TerraformVersion)
	options.Log = framework.Log

	client, err := proxmox.New(options)
	settings.addErrors(err, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	warnInsecure(options, &resp.Diagnostics)
	data.Client = client
	data.VMIDRange = options.VMIDRange
	data.Defaults = settings.defaults()
	data.Timeouts = settings.timeouts(&resp.Diagnostics)
}

// unknownAttributes names the attributes whose values come from what does not
// exist yet, in the plan that makes it.
func unknownAttributes(config tfsdk.Config, diags *diag.Diagnostics) []string {
	attributes := map[string]tftypes.Value{}
	if err := config.Raw.As(&attributes); err != nil {
		diags.AddError("Unreadable provider configuration", err.Error())
		return nil
	}
	var unknown []string
	for name, value := range attributes {
		if !value.IsFullyKnown() {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func warnInsecure(options proxmox.Options, diags *diag.Diagnostics) {
	if !options.Insecure {
		return
	}
	diags.AddAttributeWarning(path.Root("insecure"), "The node's certificate is not verified",
		"Whoever sits between here and the node can read the API token and act with it. Name the cluster's CA (ca_file or ca_pem; "+
			"a node keeps it in /etc/pve/pve-root-ca.pem) or the certificate's SHA-256 fingerprint (tls_fingerprint) instead.")
}
