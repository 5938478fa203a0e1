package provider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const (
	secret  = "6f1c0d1e-1111-4222-8333-944445555566"
	tokenID = "terraform@pve!ci"
)

// block is a provider block: attributes by name. What it leaves out is null.
type block map[string]any

// complaint is what a test expects of one diagnostic.
type complaint struct {
	attribute string
	contains  []string
}

func TestConfigure(t *testing.T) {
	t.Parallel()

	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := block{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret}

	for name, test := range map[string]struct {
		block  block
		env    map[string]string
		errors []complaint
	}{
		"attributes suffice": {block: good},
		"the environment suffices": {
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve1.example.com:8006", "PROXMOX_TOKEN_ID": tokenID, "PROXMOX_TOKEN_SECRET": secret,
				"PROXMOX_VMID_RANGE": "20000-20999", "PROXMOX_FALLBACK_ENDPOINTS": "https://pve2.example.com, https://pve3.example.com",
			},
		},
		"one string suffices": {
			block: block{"endpoint": "https://pve1.example.com", "token": tokenID + "=" + secret},
		},
		"all errors at once": {
			block: block{
				"endpoint": "http://pve1.example.com", "token_id": secret, "tls_fingerprint": "AA:BB",
				"vmid_range": block{"first": 20999, "last": 20000},
			},
			errors: []complaint{
				{"endpoint", []string{"https"}},
				{"token_id", nil},
				{"token_secret", []string{"PROXMOX_TOKEN_SECRET"}},
				{"tls_fingerprint", nil},
				{"vmid_range", nil},
			},
		},
		"nothing at all": {
			errors: []complaint{
				{"endpoint", []string{"PROXMOX_ENDPOINT"}},
				{"token_id", []string{"PROXMOX_TOKEN_ID"}},
				{"token_secret", []string{"PROXMOX_TOKEN_SECRET"}},
			},
		},
		"errors name the variable that they came from": {
			block: block{"endpoint": "https://pve1.example.com", "token_secret": secret},
			env: map[string]string{
				"PROXMOX_TOKEN_ID": "terraform@pve", "PROXMOX_VMID_RANGE": "20000", "PROXMOX_INSECURE": "perhaps",
			},
			errors: []complaint{
				{"token_id", []string{"PROXMOX_TOKEN_ID"}},
				{"vmid_range", []string{"PROXMOX_VMID_RANGE", "20000-20999"}},
				{"insecure", []string{"PROXMOX_INSECURE", "perhaps"}},
			},
		},
		"two forms of the token": {
			block:  block{"endpoint": "https://pve1.example.com", "token": tokenID + "=" + secret, "token_id": tokenID},
			errors: []complaint{{"token", []string{"token_id"}}},
		},
		"a token without a secret": {
			block:  block{"endpoint": "https://pve1.example.com", "token": tokenID},
			errors: []complaint{{"token", nil}},
		},
		"the secret and a file of it": {
			block: block{
				"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "token_secret_file": caFile,
			},
			errors: []complaint{{"token_secret_file", nil}},
		},
		"a CA that is none": {
			block:  block{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "ca_file": caFile},
			errors: []complaint{{"ca_file", nil}},
		},
		"the block's endpoint does not take the environment's fallbacks": {
			block: good,
			env:   map[string]string{"PROXMOX_FALLBACK_ENDPOINTS": "http://refused.example.com"},
		},
		"the block's CA does not take the environment's insecure": {
			block: block{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "tls_fingerprint": strings.Repeat("ab", 32)},
			env:   map[string]string{"PROXMOX_INSECURE": "true"},
		},
		"the block's token id does not take the environment's whole token": {
			block: block{"endpoint": "https://pve1.example.com", "token_id": tokenID},
			env:   map[string]string{"PROXMOX_TOKEN": "else@pve!x=" + secret, "PROXMOX_TOKEN_SECRET": secret},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diagnostics := configure(t, test.block, test.env)
			checkErrors(t, diagnostics, test.errors)
			for _, d := range diagnostics {
				if strings.Contains(d.Summary+d.Detail, secret) {
					t.Errorf("a diagnostic holds the secret: %s: %s", d.Summary, d.Detail)
				}
			}
		})
	}
}

func TestConfigureWarnsOfInsecure(t *testing.T) {
	t.Parallel()

	diagnostics := configure(t, block{"endpoint": "https://pve1", "token_id": tokenID, "token_secret": secret, "insecure": true}, nil)
	if len(diagnostics) != 1 || diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning || attribute(diagnostics[0]) != "insecure" {
		t.Errorf("got %d diagnostics, want one warning at insecure: %+v", len(diagnostics), diagnostics)
	}
}

func TestConfigureWithUnknownValues(t *testing.T) {
	t.Parallel()

	unknown := block{"endpoint": tftypes.NewValue(tftypes.String, tftypes.UnknownValue), "token_id": secret}
	if diagnostics := configure(t, unknown, nil); len(diagnostics) != 0 {
		t.Errorf("an endpoint that is not known yet gives %+v, want nothing until it is", diagnostics)
	}
}

func TestSchemaDescribesEverything(t *testing.T) {
	t.Parallel()

	schemas, err := server(t, nil).GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(schemas.Diagnostics) != 0 {
		t.Fatalf("the schemas are not valid: %+v", schemas.Diagnostics)
	}
	described(t, "provider", schemas.Provider.Block.Attributes)
	for name, schema := range schemas.ResourceSchemas {
		described(t, name, schema.Block.Attributes)
	}
	for name, schema := range schemas.DataSourceSchemas {
		described(t, name, schema.Block.Attributes)
	}
}

func described(t *testing.T, at string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()

	for _, a := range attributes {
		here := at + "." + a.Name
		if a.Description == "" && a.Name != "timeouts" && !strings.Contains(at, ".timeouts") {
			t.Errorf("%s has no description", here)
		}
		if a.NestedType != nil {
			described(t, here, a.NestedType.Attributes)
		}
	}
}

func server(t *testing.T, env map[string]string) tfprotov6.ProviderServer {
	t.Helper()

	p := &proxmoxProvider{version: "test", env: func(name string) string { return env[name] }}
	server, err := providerserver.NewProtocol6WithError(p)()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// configure sends a provider block through the protocol, as the CLI does:
// validated, then configured.
func configure(t *testing.T, config block, env map[string]string) []*tfprotov6.Diagnostic {
	t.Helper()

	s := server(t, env)
	schemas, err := s.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	objectType := schemas.Provider.ValueType()
	value, err := tfprotov6.NewDynamicValue(objectType, value(t, objectType, config))
	if err != nil {
		t.Fatal(err)
	}
	validated, err := s.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: &value})
	if err != nil {
		t.Fatal(err)
	}
	if len(validated.Diagnostics) != 0 {
		return validated.Diagnostics
	}
	configured, err := s.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: &value})
	if err != nil {
		t.Fatal(err)
	}
	return configured.Diagnostics
}

// value builds a value of a type, null where nothing is given.
func value(t *testing.T, of tftypes.Type, given any) tftypes.Value {
	t.Helper()

	switch v := given.(type) {
	case nil:
		return tftypes.NewValue(of, nil)
	case tftypes.Value:
		return v
	case block:
		object, ok := of.(tftypes.Object)
		if !ok {
			t.Fatalf("%s takes no object", of)
		}
		attributes := map[string]tftypes.Value{}
		for name, attributeType := range object.AttributeTypes {
			attributes[name] = value(t, attributeType, v[name])
		}
		return tftypes.NewValue(of, attributes)
	default:
		return tftypes.NewValue(of, v)
	}
}

func checkErrors(t *testing.T, got []*tfprotov6.Diagnostic, want []complaint) {
	t.Helper()

	var attributes []string
	for _, d := range got {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			attributes = append(attributes, attribute(d))
		}
	}
	for _, w := range want {
		index := slices.IndexFunc(got, func(d *tfprotov6.Diagnostic) bool { return attribute(d) == w.attribute })
		if index < 0 {
			t.Errorf("no error at %s", w.attribute)
			continue
		}
		for _, text := range w.contains {
			if !strings.Contains(got[index].Detail, text) {
				t.Errorf("the error at %s does not say %q: %s", w.attribute, text, got[index].Detail)
			}
		}
	}
	if len(attributes) != len(want) {
		t.Errorf("errors at %v, want %d", attributes, len(want))
		for _, d := range got {
			t.Logf("%s: %s", attribute(d), d.Detail)
		}
	}
}

// attribute is the root attribute that a diagnostic points at.
func attribute(d *tfprotov6.Diagnostic) string {
	if d.Attribute == nil || len(d.Attribute.Steps()) == 0 {
		return ""
	}
	name, _ := d.Attribute.Steps()[0].(tftypes.AttributeName)
	return string(name)
}
