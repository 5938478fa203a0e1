// Package protocol speaks Terraform's plugin protocol to a provider in the same
// process: for tests that need no CLI.
package protocol

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"terraform-provider-proxmox/internal/framework/packed"
)

// Server is a provider that is spoken to.
type Server struct {
	// Schemas are the provider's schemas.
	Schemas *tfprotov6.GetProviderSchemaResponse

	server tfprotov6.ProviderServer
}

// Diagnostics are the errors and warnings of an answer.
type Diagnostics []*tfprotov6.Diagnostic

// New serves a provider.
func New(t testing.TB, p provider.Provider) *Server {
	t.Helper()

	server := packed.Serve(t.Context(), p)
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	if errors := Diagnostics(schemas.Diagnostics).Errors(); len(errors) != 0 {
		t.Fatalf("the provider's schemas are not valid: %s", errors)
	}
	return &Server{Schemas: schemas, server: server}
}

// Configure sends a provider block, as the CLI does: it is validated, and
// configures the provider when it is valid.
func (s *Server) Configure(t testing.TB, block Object) Diagnostics {
	t.Helper()

	if block == nil {
		block = Object{}
	}
	config := encode(t, s.Schemas.Provider.ValueType(), block)
	validated, err := s.server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	must(t, err)
	if len(validated.Diagnostics) != 0 {
		return validated.Diagnostics
	}
	configured, err := s.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: config})
	must(t, err)
	return configured.Diagnostics
}

// ReadDataSource validates and reads a data source. The state is nil when it
// could not be read.
func (s *Server) ReadDataSource(t testing.TB, name string, block Object) (Object, Diagnostics) {
	t.Helper()

	schema := s.Schemas.DataSourceSchemas[name]
	if schema == nil {
		t.Fatalf("the provider has no data source %s", name)
	}
	config := encode(t, schema.ValueType(), block)
	validated, err := s.server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: config})
	must(t, err)
	if len(validated.Diagnostics) != 0 {
		return nil, validated.Diagnostics
	}
	read, err := s.server.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: config})
	must(t, err)
	if len(Diagnostics(read.Diagnostics).Errors()) != 0 || read.State == nil {
		return nil, read.Diagnostics
	}
	value, err := read.State.Unmarshal(schema.ValueType())
	must(t, err)
	state, _ := decode(t, value).(Object)
	return state, read.Diagnostics
}

// Errors are the errors among the diagnostics.
func (d Diagnostics) Errors() Diagnostics {
	return d.of(tfprotov6.DiagnosticSeverityError)
}

// Warnings are the warnings among the diagnostics.
func (d Diagnostics) Warnings() Diagnostics {
	return d.of(tfprotov6.DiagnosticSeverityWarning)
}

func (d Diagnostics) of(severity tfprotov6.DiagnosticSeverity) Diagnostics {
	var found Diagnostics
	for _, diagnostic := range d {
		if diagnostic.Severity == severity {
			found = append(found, diagnostic)
		}
	}
	return found
}

// String is what a user reads.
func (d Diagnostics) String() string {
	var text string
	for _, diagnostic := range d {
		text += diagnostic.Severity.String() + " " + Attribute(diagnostic) + ": " + diagnostic.Summary + "\n" + diagnostic.Detail + "\n"
	}
	return text
}

// Attribute names the attribute of the first level that a diagnostic points
// at, "" when it points at none.
func Attribute(diagnostic *tfprotov6.Diagnostic) string {
	if diagnostic.Attribute == nil || len(diagnostic.Attribute.Steps()) == 0 {
		return ""
	}
	name, _ := diagnostic.Attribute.Steps()[0].(tftypes.AttributeName)
	return string(name)
}

// Path tells where a diagnostic points, such as "rules.0.macro", "" when it points
// nowhere.
func Path(diagnostic *tfprotov6.Diagnostic) string {
	if diagnostic.Attribute == nil {
		return ""
	}
	var steps []string
	for _, step := range diagnostic.Attribute.Steps() {
		steps = append(steps, fmt.Sprint(step))
	}
	return strings.Join(steps, ".")
}

func must(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}
