package vm

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework/settings"
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
	var visit func(g *settings.Group)
	visit = func(g *settings.Group) {
		for i := range g.Settings {
			s := &g.Settings[i]
			needsPlace := s.Source != settings.Local && s.Source != settings.Reported && s.Source != settings.Secret
			if needsPlace && s.Place == nil {
				t.Errorf("%s.%s has no place", g.Name, s.Name)
			}
			if s.Doc == "" {
				t.Errorf("%s.%s has no description", g.Name, s.Name)
			}
			if s.Absent != nil && !s.Absent.Type(t.Context()).Equal(s.Form.Typ()) {
				t.Errorf("%s.%s: absent is a %T", g.Name, s.Name, s.Absent)
			}
		}
		for _, sub := range g.Groups {
			visit(sub)
		}
	}
	visit(table)
}
