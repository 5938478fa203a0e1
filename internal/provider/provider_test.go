package provider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"terraform-provider-proxmox/internal/acctest/protocol"
)

const (
	secret  = "6f1c0d1e-1111-4222-8333-944445555566"
	tokenID = "terraform@pve!ci"
)

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
	good := protocol.Object{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret}

	for name, test := range map[string]struct {
		block  protocol.Object
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
			block: protocol.Object{"endpoint": "https://pve1.example.com", "token": tokenID + "=" + secret},
		},
		"all errors at once": {
			block: protocol.Object{
				"endpoint": "http://pve1.example.com", "token_id": secret, "tls_fingerprint": "AA:BB",
				"vmid_range": protocol.Object{"first": 20999, "last": 20000},
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
			block: protocol.Object{"endpoint": "https://pve1.example.com", "token_secret": secret},
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
			block:  protocol.Object{"endpoint": "https://pve1.example.com", "token": tokenID + "=" + secret, "token_id": tokenID},
			errors: []complaint{{"token", []string{"token_id"}}},
		},
		"a token without a secret": {
			block:  protocol.Object{"endpoint": "https://pve1.example.com", "token": tokenID},
			errors: []complaint{{"token", nil}},
		},
		"the secret and a file of it": {
			block: protocol.Object{
				"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "token_secret_file": caFile,
			},
			errors: []complaint{{"token_secret_file", nil}},
		},
		"a CA that is none": {
			block:  protocol.Object{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "ca_file": caFile},
			errors: []complaint{{"ca_file", nil}},
		},
		"the block's endpoint does not take the environment's fallbacks": {
			block: good,
			env:   map[string]string{"PROXMOX_FALLBACK_ENDPOINTS": "http://refused.example.com"},
		},
		"the block's CA does not take the environment's insecure": {
			block: protocol.Object{"endpoint": "https://pve1.example.com", "token_id": tokenID, "token_secret": secret, "tls_fingerprint": strings.Repeat("ab", 32)},
			env:   map[string]string{"PROXMOX_INSECURE": "true"},
		},
		"the block's token id does not take the environment's whole token": {
			block: protocol.Object{"endpoint": "https://pve1.example.com", "token_id": tokenID},
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

	diagnostics := configure(t, protocol.Object{"endpoint": "https://pve1", "token_id": tokenID, "token_secret": secret, "insecure": true}, nil)
	if len(diagnostics) != 1 || len(diagnostics.Warnings()) != 1 || protocol.Attribute(diagnostics[0]) != "insecure" {
		t.Errorf("want one warning at insecure, got:\n%s", diagnostics)
	}
}

func TestConfigureWithUnknownValues(t *testing.T) {
	t.Parallel()

	unknown := protocol.Object{"endpoint": protocol.Unknown, "token_id": secret}
	if diagnostics := configure(t, unknown, nil); len(diagnostics) != 0 {
		t.Errorf("an endpoint that is not known yet gives errors at once:\n%s", diagnostics)
	}
}

func TestSchemaDescribesEverything(t *testing.T) {
	t.Parallel()

	schemas := protocol.New(t, New("test")()).Schemas
	described(t, "provider", schemas.Provider.Block.Attributes)
	for name, schema := range schemas.ResourceSchemas {
		described(t, name, schema.Block.Attributes)
	}
	for name, schema := range schemas.DataSourceSchemas {
		described(t, name, schema.Block.Attributes)
	}
	for name, schema := range schemas.ListResourceSchemas {
		described(t, "list "+name, schema.Block.Attributes)
	}
	for name, schema := range schemas.ActionSchemas {
		described(t, "action "+name, schema.Schema.Block.Attributes)
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

// configure configures a provider that sees a certain environment.
func configure(t *testing.T, block protocol.Object, env map[string]string) protocol.Diagnostics {
	t.Helper()

	p := &proxmoxProvider{version: "test", env: func(name string) string { return env[name] }}
	return protocol.New(t, p).Configure(t, block)
}

func checkErrors(t *testing.T, got protocol.Diagnostics, want []complaint) {
	t.Helper()

	got = got.Errors()
	for _, w := range want {
		index := slices.IndexFunc(got, func(d *tfprotov6.Diagnostic) bool { return protocol.Attribute(d) == w.attribute })
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
	if len(got) != len(want) {
		t.Errorf("got %d errors, want %d:\n%s", len(got), len(want), got)
	}
}
