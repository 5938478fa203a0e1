package protocol

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/privileges"
	"terraform-provider-proxmox/internal/pvelab"
)

// labSpeed makes what takes seconds on Proxmox VE take milliseconds.
const labSpeed = 100

// Lab is a lab with a provider that is configured to use it.
type Lab struct {
	*Server
	*pvelab.Lab

	// Hand makes bare calls with all privileges.
	Hand *byhand.Hand
}

// NewLab starts a lab, and configures a provider with one of its tokens and
// what the block has beside.
func NewLab(t testing.TB, p provider.Provider, token string, block Object) *Lab {
	t.Helper()

	return NewLabOf(t, pvelab.Options{Speed: labSpeed}, p, token, block)
}

// NewLabOf is [NewLab] with another lab than the default one.
func NewLabOf(t testing.TB, options pvelab.Options, p provider.Provider, token string, block Object) *Lab {
	t.Helper()

	lab, err := pvelab.New(options)
	must(t, err)
	must(t, lab.Start())
	t.Cleanup(func() {
		privileges.Check(t, lab)
		must(t, lab.Close())
	})
	id, secret := lab.Token("full")
	hand, err := byhand.New(lab.URL(), id, secret, lab.CAPEM())
	must(t, err)

	id, secret = lab.Token(token)
	config := Object{"endpoint": lab.URL(), "ca_pem": string(lab.CAPEM()), "token_id": id, "token_secret": secret}
	maps.Copy(config, block)
	server := New(t, p)
	if diagnostics := server.Configure(t, config); len(diagnostics) != 0 {
		t.Fatalf("the provider is not configured: %s", diagnostics)
	}
	return &Lab{Server: server, Lab: lab, Hand: hand}
}
