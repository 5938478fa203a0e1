package vm

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// resourceSchema is the schema, validated as Terraform would.
func resourceSchema(t *testing.T) resource.SchemaResponse {
	t.Helper()
	var resp resource.SchemaResponse
	(&Resource{}).Schema(t.Context(), resource.SchemaRequest{}, &resp)
	if diags := resp.Schema.ValidateImplementation(context.Background()); diags.HasError() {
		t.Fatal(diags)
	}
	return resp
}

func TestSchema(t *testing.T) {
	t.Parallel()
	resp := resourceSchema(t)
	for name, attribute := range resp.Schema.Attributes {
		if attribute.GetMarkdownDescription() == "" && name != "timeouts" {
			t.Errorf("%s has no description", name)
		}
	}
	var identity resource.IdentitySchemaResponse
	(&Resource{}).IdentitySchema(t.Context(), resource.IdentitySchemaRequest{}, &identity)
	if diags := identity.IdentitySchema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Fatal(diags)
	}
}

func TestTableHasAPlaceForEverything(t *testing.T) {
	t.Parallel()
	var visit func(g *group)
	visit = func(g *group) {
		for i := range g.settings {
			s := &g.settings[i]
			needsPlace := s.source != local && s.source != reported && s.source != secret
			if needsPlace && s.place == nil {
				t.Errorf("%s.%s has no place", g.name, s.name)
			}
			if s.doc == "" {
				t.Errorf("%s.%s has no description", g.name, s.name)
			}
			if s.absent != nil && !s.absent.Type(t.Context()).Equal(s.form.typ()) {
				t.Errorf("%s.%s: absent is a %T", g.name, s.name, s.absent)
			}
		}
		for _, sub := range g.groups {
			visit(sub)
		}
	}
	visit(table)
}
