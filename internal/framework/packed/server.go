package packed

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Server is all that the framework's server serves.
type Server interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

type server struct {
	Server
	// variants are the resources that have one, by the resource's name.
	variants map[string]*variant
}

// Serve serves a provider, whose packed variants nobody sees.
func Serve(ctx context.Context, p provider.Provider) Server {
	all, complete := providerserver.NewProtocol6(p)().(Server)
	if !complete {
		panic("the plugin framework serves no list resources or actions")
	}
	return &server{all, variantsOf(ctx, p)}
}

func variantsOf(ctx context.Context, p provider.Provider) map[string]*variant {
	var named provider.MetadataResponse
	p.Metadata(ctx, provider.MetadataRequest{}, &named)
	variants := map[string]*variant{}
	for _, constructor := range p.Resources(ctx) {
		if v, packed := constructor().(*variant); packed {
			var resp resource.MetadataResponse
			v.Resource.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: named.TypeName}, &resp)
			variants[resp.TypeName] = v
		}
	}
	return variants
}

// GetMetadata leaves the variants out.
func (s *server) GetMetadata(ctx context.Context, req *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	resp, err := s.Server.GetMetadata(ctx, req)
	if err == nil {
		resp.Resources = slices.DeleteFunc(resp.Resources, func(each tfprotov6.ResourceMetadata) bool { return strings.HasSuffix(each.TypeName, suffix) })
	}
	return resp, err
}

// GetProviderSchema leaves the variants out. It says that the server generates
// configurations, which the framework can and does not say.
func (s *server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.Server.GetProviderSchema(ctx, req)
	if err == nil {
		hide(resp.ResourceSchemas)
		resp.ServerCapabilities.GenerateResourceConfig = true
	}
	return resp, err
}

// GetResourceIdentitySchemas leaves the variants out.
func (s *server) GetResourceIdentitySchemas(
	ctx context.Context, req *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	resp, err := s.Server.GetResourceIdentitySchemas(ctx, req)
	if err == nil {
		hide(resp.IdentitySchemas)
	}
	return resp, err
}

func hide[T any](named map[string]T) {
	for name := range named {
		if strings.HasSuffix(name, suffix) {
			delete(named, name)
		}
	}
}

// UpgradeResourceState reads a state of the resource's own version, which is what
// the CLI asks for each state that it reads, and leaves others to the framework.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, packed := s.variants[req.TypeName]
	if !packed || req.RawState == nil || req.Version != v.full(ctx).schema.Version {
		return s.Server.UpgradeResourceState(ctx, req)
	}
	typ := v.full(ctx).typ
	// The framework overlooks attributes that are no more too.
	lenient := tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}}
	state, err := req.RawState.UnmarshalWithOpts(typ, lenient)
	if err != nil {
		return s.Server.UpgradeResourceState(ctx, req)
	}
	read, err := tfprotov6.NewDynamicValue(typ, state)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &read}, err
}

// ReadResource asks the variant.
func (s *server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	if _, packed := s.variants[req.TypeName]; !packed {
		return s.Server.ReadResource(ctx, req)
	}
	sent := *req
	sent.TypeName += suffix
	if err := packAll(&sent.CurrentState); err != nil {
		return nil, err
	}
	resp, err := s.Server.ReadResource(ctx, &sent)
	if err == nil {
		err = unpack(&resp.NewState)
	}
	return resp, err
}

// PlanResourceChange asks the variant.
func (s *server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	if _, packed := s.variants[req.TypeName]; !packed {
		return s.Server.PlanResourceChange(ctx, req)
	}
	sent := *req
	sent.TypeName += suffix
	if err := packAll(&sent.Config, &sent.PriorState, &sent.ProposedNewState); err != nil {
		return nil, err
	}
	resp, err := s.Server.PlanResourceChange(ctx, &sent)
	if err == nil {
		err = unpack(&resp.PlannedState)
	}
	return resp, err
}

// ApplyResourceChange asks the variant.
func (s *server) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	if _, packed := s.variants[req.TypeName]; !packed {
		return s.Server.ApplyResourceChange(ctx, req)
	}
	sent := *req
	sent.TypeName += suffix
	if err := packAll(&sent.Config, &sent.PriorState, &sent.PlannedState); err != nil {
		return nil, err
	}
	resp, err := s.Server.ApplyResourceChange(ctx, &sent)
	if err == nil {
		err = unpack(&resp.NewState)
	}
	return resp, err
}

// GenerateResourceConfig has the resource spare what the framework generates. What
// cannot be spared is left as it is.
func (s *server) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	resp, err := s.Server.GenerateResourceConfig(ctx, req)
	v, packed := s.variants[req.TypeName]
	if err != nil || !packed || resp.Config == nil {
		return resp, err
	}
	of := v.full(ctx)
	config := tfsdk.State{Schema: of.schema}
	if config.Raw, err = resp.Config.Unmarshal(of.typ); err != nil || config.Raw.IsNull() {
		return resp, err
	}
	var diags diag.Diagnostics
	v.SpareConfig(ctx, &config, &diags)
	if diags.HasError() {
		return resp, nil
	}
	spared, err := tfprotov6.NewDynamicValue(of.typ, config.Raw)
	resp.Config = &spared
	return resp, err
}

// packAll packs values in their places, without reading them. What is not there,
// or null, stays so.
func packAll(values ...**tfprotov6.DynamicValue) error {
	for _, value := range values {
		if *value == nil {
			continue
		}
		null, err := (*value).IsNull()
		if err != nil {
			return err
		}
		if null {
			continue
		}
		packed, err := tfprotov6.NewDynamicValue(shape, holding(**value))
		if err != nil {
			return err
		}
		*value = &packed
	}
	return nil
}

// unpack unpacks a value in its place.
func unpack(value **tfprotov6.DynamicValue) error {
	if *value == nil {
		return nil
	}
	packed, err := (*value).Unmarshal(shape)
	if err != nil || packed.IsNull() {
		return err
	}
	*value, err = contentOf(packed)
	return err
}
