package vm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

// TestUpgradeOnNodesThatDoNotKnowIt: the rest is written without it, and a
// warning says so.
func TestUpgradeOnNodesThatDoNotKnowIt(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	old := httptest.NewTLSServer(withoutUpgrade(t, d.lab))
	t.Cleanup(old.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Certificate().Raw})
	server := protocol.New(t, provider.New("test")())
	id, secret := d.lab.Token("full")
	settings := block{"endpoint": old.URL, "ca_pem": string(authority), "token_id": id, "token_secret": secret, "vmid_range": idRange["vmid_range"]}
	if diagnostics := server.Configure(t, settings); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	guest := &device{server.Manage(t, "proxmox_vm"), d.lab}
	diagnostics := guest.try(t, config(block{"cloud_init": block{"user": "ops", "upgrade": false}, "tags": []any{"a"}}))
	if len(diagnostics.Errors()) != 0 || !strings.Contains(diagnostics.String(), "does not know this setting") {
		t.Fatalf("got %s", diagnostics)
	}
	guest.has(t, map[string]string{"ciuser": "ops", "tags": "a", "ciupgrade": ""})
}

// withoutUpgrade is the lab's API as of a node that does not know ciupgrade.
func withoutUpgrade(t *testing.T, lab *protocol.Lab) http.Handler {
	t.Helper()
	target, err := url.Parse(lab.URL())
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(lab.CAPEM())
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if bytes.Contains(body, []byte("ciupgrade")) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"data":null,"errors":{"ciupgrade":"property is not defined in schema and the schema does not allow additional properties"},`+
				`"message":"Parameter verification failed.\n"}`)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, req)
	})
}
