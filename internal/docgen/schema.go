package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemas is a provider in the form of `terraform providers schema -json`.
type schemas struct {
	Provider      schema              `json:"provider"`
	Resources     map[string]schema   `json:"resource_schemas"`
	DataSources   map[string]schema   `json:"data_source_schemas"`
	ListResources map[string]schema   `json:"list_resource_schemas"`
	Actions       map[string]schema   `json:"action_schemas"`
	Identities    map[string]identity `json:"resource_identity_schemas"`
}

type schema struct {
	// Version is nil for an action: the CLI prints none.
	Version *int64 `json:"version,omitempty"`
	Block   block  `json:"block"`
}

type block struct {
	Attributes      map[string]attribute `json:"attributes,omitempty"`
	Description     string               `json:"description,omitempty"`
	DescriptionKind string               `json:"description_kind"`
	Deprecated      bool                 `json:"deprecated,omitempty"`
}

type attribute struct {
	Type            json.RawMessage `json:"type,omitempty"`
	NestedType      *nested         `json:"nested_type,omitempty"`
	Description     string          `json:"description,omitempty"`
	DescriptionKind string          `json:"description_kind,omitempty"`
	Deprecated      bool            `json:"deprecated,omitempty"`
	Required        bool            `json:"required,omitempty"`
	Optional        bool            `json:"optional,omitempty"`
	Computed        bool            `json:"computed,omitempty"`
	Sensitive       bool            `json:"sensitive,omitempty"`
	WriteOnly       bool            `json:"write_only,omitempty"`
}

type nested struct {
	Attributes  map[string]attribute `json:"attributes"`
	NestingMode string               `json:"nesting_mode"`
}

type identity struct {
	Version    int64                        `json:"version"`
	Attributes map[string]identityAttribute `json:"attributes"`
}

type identityAttribute struct {
	Type              json.RawMessage `json:"type"`
	Description       string          `json:"description,omitempty"`
	RequiredForImport bool            `json:"required_for_import,omitempty"`
	OptionalForImport bool            `json:"optional_for_import,omitempty"`
}

// readSchemas asks a provider for all that it has.
func readSchemas(ctx context.Context, server tfprotov6.ProviderServer) (*schemas, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, err
	}
	if err := firstError(slices.Concat(all.Diagnostics, identities.Diagnostics)); err != nil {
		return nil, err
	}
	if len(all.Functions)+len(all.EphemeralResourceSchemas) > 0 {
		return nil, errors.New("the provider has functions or ephemeral resources, which are not written yet")
	}
	found := &schemas{
		Resources: map[string]schema{}, DataSources: map[string]schema{}, ListResources: map[string]schema{},
		Actions: map[string]schema{}, Identities: map[string]identity{},
	}
	if found.Provider, err = newSchema(all.Provider); err != nil {
		return nil, err
	}
	actions := map[string]*tfprotov6.Schema{}
	for name, each := range all.ActionSchemas {
		actions[name] = each.Schema
	}
	for _, kind := range []struct {
		from map[string]*tfprotov6.Schema
		into map[string]schema
	}{
		{all.ResourceSchemas, found.Resources},
		{all.DataSourceSchemas, found.DataSources},
		{all.ListResourceSchemas, found.ListResources},
		{actions, found.Actions},
	} {
		for name, each := range kind.from {
			if kind.into[name], err = newSchema(each); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for name, each := range found.Actions {
		each.Version = nil
		found.Actions[name] = each
	}
	for name, each := range identities.IdentitySchemas {
		if found.Identities[name], err = newIdentity(each); err != nil {
			return nil, fmt.Errorf("identity of %s: %w", name, err)
		}
	}
	return found, nil
}

func firstError(diagnostics []*tfprotov6.Diagnostic) error {
	for _, each := range diagnostics {
		if each.Severity == tfprotov6.DiagnosticSeverityError {
			return fmt.Errorf("%s: %s", each.Summary, each.Detail)
		}
	}
	return nil
}

func newSchema(from *tfprotov6.Schema) (schema, error) {
	if len(from.Block.BlockTypes) > 0 {
		return schema{}, errors.New("it has blocks, where this provider has nested attributes only")
	}
	attributes, err := newAttributes(from.Block.Attributes)
	return schema{Version: &from.Version, Block: block{
		Attributes: attributes, Description: from.Block.Description, DescriptionKind: kindOf(from.Block.DescriptionKind), Deprecated: from.Block.Deprecated,
	}}, err
}

func newAttributes(from []*tfprotov6.SchemaAttribute) (map[string]attribute, error) {
	attributes := make(map[string]attribute, len(from))
	for _, each := range from {
		a := attribute{
			Description: each.Description, DescriptionKind: kindOf(each.DescriptionKind), Deprecated: each.Deprecated,
			Required: each.Required, Optional: each.Optional, Computed: each.Computed, Sensitive: each.Sensitive, WriteOnly: each.WriteOnly,
		}
		var err error
		if each.NestedType == nil {
			a.Type, err = typeOf(each.Type)
		} else {
			a.NestedType, err = newNested(each.NestedType)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.Name, err)
		}
		attributes[each.Name] = a
	}
	return attributes, nil
}

// nesting is how the CLIs call the nesting modes.
var nesting = map[tfprotov6.SchemaObjectNestingMode]string{
	tfprotov6.SchemaObjectNestingModeSingle: "single", tfprotov6.SchemaObjectNestingModeList: "list",
	tfprotov6.SchemaObjectNestingModeSet: "set", tfprotov6.SchemaObjectNestingModeMap: "map",
}

func newNested(from *tfprotov6.SchemaObject) (*nested, error) {
	mode, known := nesting[from.Nesting]
	if !known {
		return nil, fmt.Errorf("nesting mode %s is not known", from.Nesting)
	}
	attributes, err := newAttributes(from.Attributes)
	return &nested{Attributes: attributes, NestingMode: mode}, err
}

func newIdentity(from *tfprotov6.ResourceIdentitySchema) (identity, error) {
	found := identity{Version: from.Version, Attributes: map[string]identityAttribute{}}
	for _, each := range from.IdentityAttributes {
		typ, err := typeOf(each.Type)
		if err != nil {
			return identity{}, fmt.Errorf("%s: %w", each.Name, err)
		}
		found.Attributes[each.Name] = identityAttribute{
			Type: typ, Description: each.Description, RequiredForImport: each.RequiredForImport, OptionalForImport: each.OptionalForImport,
		}
	}
	return found, nil
}

func typeOf(typ tftypes.Type) (json.RawMessage, error) {
	return json.Marshal(typ)
}

func kindOf(kind tfprotov6.StringKind) string {
	if kind == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

// pages are the names of all pages by their folder, without the provider's prefix.
func (s *schemas) pages() map[string][]string {
	pages := map[string][]string{}
	for folder, kind := range map[string]map[string]schema{
		"resources": s.Resources, "data-sources": s.DataSources, "list-resources": s.ListResources, "actions": s.Actions,
	} {
		pages[folder] = slices.Sorted(maps.Keys(kind))
	}
	return pages
}
