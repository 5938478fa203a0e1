package protocol

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Listed is one resource that a list resource found.
type Listed struct {
	Name     string
	Identity Object
	// Resource is nil unless it was asked for.
	Resource Object
}

// List validates a list block and asks for what it lists, as `terraform query`
// does. A limit of 0 is none.
func (s *Server) List(t testing.TB, name string, block Object, limit int64, includeResource bool) (found []Listed, diagnostics Diagnostics) {
	t.Helper()

	server, ok := s.server.(tfprotov6.ListResourceServer)
	schema := s.Schemas.ListResourceSchemas[name]
	if !ok || schema == nil {
		t.Fatalf("the provider has no list resource %s", name)
	}
	if block == nil {
		block = Object{}
	}
	config := encode(t, schema.ValueType(), block)
	validated, err := server.ValidateListResourceConfig(t.Context(), &tfprotov6.ValidateListResourceConfigRequest{
		TypeName: name, Config: config, IncludeResourceObject: encode(t, tftypes.Bool, includeResource), Limit: encode(t, tftypes.Number, limit),
	})
	must(t, err)
	if len(Diagnostics(validated.Diagnostics).Errors()) != 0 {
		return nil, validated.Diagnostics
	}
	stream, err := server.ListResource(t.Context(), &tfprotov6.ListResourceRequest{TypeName: name, Config: config, Limit: limit, IncludeResource: includeResource})
	must(t, err)
	for each := range stream.Results {
		diagnostics = append(diagnostics, each.Diagnostics...)
		if each.Identity != nil {
			found = append(found, s.listed(t, name, each))
		}
	}
	return found, diagnostics
}

func (s *Server) listed(t testing.TB, name string, result tfprotov6.ListResourceResult) Listed {
	t.Helper()

	listed := Listed{Name: result.DisplayName, Identity: s.identity(t, name, result.Identity)}
	if result.Resource != nil {
		value, err := result.Resource.Unmarshal(s.Schemas.ResourceSchemas[name].ValueType())
		must(t, err)
		listed.Resource = objectOf(t, value)
	}
	return listed
}

// identitySchema is that of a resource's identity.
func (s *Server) identitySchema(t testing.TB, name string) *tfprotov6.ResourceIdentitySchema {
	t.Helper()

	schemas, err := s.server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	must(t, err)
	if errors := Diagnostics(schemas.Diagnostics).Errors(); len(errors) != 0 {
		t.Fatalf("the provider's identities are not valid: %s", errors)
	}
	return schemas.IdentitySchemas[name]
}

// identity decodes a resource's identity, nil where there is none.
func (s *Server) identity(t testing.TB, name string, data *tfprotov6.ResourceIdentityData) Object {
	t.Helper()

	if data == nil || data.IdentityData == nil {
		return nil
	}
	value, err := data.IdentityData.Unmarshal(s.identitySchema(t, name).ValueType())
	must(t, err)
	return objectOf(t, value)
}

// Identity is the resource's identity, nil where it has none.
func (r *Resource) Identity(t testing.TB) Object {
	t.Helper()
	return r.server.identity(t, r.name, r.identity)
}

// Import imports a resource by its id, or by its identity where the id is "", and
// refreshes it.
func (s *Server) Import(t testing.TB, name, id string, identity Object) (*Resource, Diagnostics) {
	t.Helper()

	request := &tfprotov6.ImportResourceStateRequest{TypeName: name, ID: id}
	if id == "" {
		request.Identity = &tfprotov6.ResourceIdentityData{IdentityData: encode(t, s.identitySchema(t, name).ValueType(), identity)}
	}
	imported, err := s.server.ImportResourceState(t.Context(), request)
	must(t, err)
	if len(Diagnostics(imported.Diagnostics).Errors()) != 0 {
		return nil, imported.Diagnostics
	}
	r := s.Manage(t, name)
	one := imported.ImportedResources[0]
	r.keep(t, one.State, one.Private, one.Identity)
	return r, append(Diagnostics(imported.Diagnostics), r.Refresh(t)...)
}

// IdentityAttributes are the attributes of a resource's identity, with whether an
// import has to name them.
func (s *Server) IdentityAttributes(t testing.TB, name string) map[string]bool {
	t.Helper()

	required := map[string]bool{}
	for _, attribute := range s.identitySchema(t, name).IdentityAttributes {
		required[attribute.Name] = attribute.RequiredForImport
	}
	return required
}

// ForgetIdentity makes the resource one that a CLI keeps without identity.
func (r *Resource) ForgetIdentity() { r.identity = nil }

// Generated is the configuration that a newer CLI writes for the resource as it is.
func (r *Resource) Generated(t testing.TB) Object {
	t.Helper()

	generated, err := r.server.server.GenerateResourceConfig(t.Context(), &tfprotov6.GenerateResourceConfigRequest{TypeName: r.name, State: dynamic(t, r.state)})
	must(t, err)
	if len(generated.Diagnostics) != 0 {
		t.Fatal(Diagnostics(generated.Diagnostics))
	}
	return objectOf(t, r.decode(t, generated.Config))
}
