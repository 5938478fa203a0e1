package provider

import (
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestConnection holds what a user reads when the first request fails: the
// configuration itself makes none.
func TestConnection(t *testing.T) {
	t.Parallel()

	lab, err := pvelab.New(pvelab.Options{Speed: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Close() })
	id, key := lab.Token("full")
	ca := string(lab.CAPEM())
	const userPassword = "correct horse"
	lab.SetPassword("terraform@pve", userPassword)
	lab.Faults().SecondFactor("terraform@pve", true)

	for name, test := range map[string]struct {
		block protocol.Object
		says  []string
	}{
		"a CA": {protocol.Object{"token_id": id, "token_secret": key, "ca_pem": ca}, nil},
		"the fingerprint": {
			protocol.Object{"token_id": id, "token_secret": key, "tls_fingerprint": lab.Fingerprint()}, nil,
		},
		"the cluster's name": {
			protocol.Object{"token_id": id, "token_secret": key, "ca_pem": ca, "cluster": clusterName(t, lab)}, nil,
		},
		"another fingerprint": {
			protocol.Object{"token_id": id, "token_secret": key, "tls_fingerprint": strings.Repeat("AB:", 31) + "AB"},
			[]string{"certificate is not the pinned one", lab.Fingerprint()},
		},
		"a CA that nobody told of": {
			protocol.Object{"token_id": id, "token_secret": key},
			[]string{"signed by an unknown authority", "ca_file"},
		},
		"a wrong secret": {
			protocol.Object{"token_id": id, "token_secret": secret, "ca_pem": ca},
			[]string{"token is not accepted", "expired"},
		},
		"a user's password": {
			protocol.Object{"username": "root@pam", "password": lab.RootPassword(), "ca_pem": ca}, nil,
		},
		"a wrong password": {
			protocol.Object{"username": "root@pam", "password": secret, "ca_pem": ca},
			[]string{"user or password is not accepted", "root@pam", "realm"},
		},
		"a second factor": {
			protocol.Object{"username": "terraform@pve", "password": userPassword, "ca_pem": ca},
			[]string{"second factor", "pveum user token add terraform@pve"},
		},
		"a token that does not exist": {
			protocol.Object{"token_id": "nobody@pve!none", "token_secret": key, "ca_pem": ca},
			[]string{"token is not accepted", "token_id"},
		},
		"another cluster": {
			protocol.Object{"token_id": id, "token_secret": key, "ca_pem": ca, "cluster": "elsewhere"},
			[]string{"another cluster", "elsewhere"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.block["endpoint"] = lab.URL()
			server := protocol.New(t, New("test")())
			if diagnostics := server.Configure(t, test.block); len(diagnostics) != 0 {
				t.Fatalf("the configuration alone fails: %s", diagnostics)
			}
			_, diagnostics := server.ReadDataSource(t, "proxmox_node", protocol.Object{"name": "pve1"})
			if failed := len(diagnostics.Errors()) != 0; failed != (len(test.says) != 0) {
				t.Fatalf("errors: %s", diagnostics)
			}
			for _, text := range test.says {
				if !strings.Contains(diagnostics.String(), text) {
					t.Errorf("the error does not say %q: %s", text, diagnostics)
				}
			}
			if strings.Contains(diagnostics.String(), key) || strings.Contains(diagnostics.String(), secret) ||
				strings.Contains(diagnostics.String(), userPassword) {
				t.Errorf("the error holds a secret: %s", diagnostics)
			}
		})
	}
}

func clusterName(t *testing.T, lab *pvelab.Lab) string {
	t.Helper()

	id, key := lab.Token("full")
	hand, err := byhand.New(lab.URL(), id, key, lab.CAPEM())
	if err != nil {
		t.Fatal(err)
	}
	var status []struct{ Type, Name string }
	if err := hand.Call(t.Context(), http.MethodGet, "/cluster/status", nil, &status); err != nil {
		t.Fatal(err)
	}
	for _, entry := range status {
		if entry.Type == "cluster" {
			return entry.Name
		}
	}
	t.Fatal("the lab is no cluster")
	return ""
}
