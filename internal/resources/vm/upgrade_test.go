package vm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
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

// TestStateOfAnEarlierRelease: attributes that it did not know make no
// difference, whether the state is refreshed first or not, and the next change
// goes on as ever.
func TestStateOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	given := block{"cpu": block{"cores": 2}, "disks": block{"scsi1": block{"size_gib": 1, "storage": "local-lvm"}}, "cloud_init": block{"user": "ops"}}
	kept := []string{
		"vmid", "uid", "node", "name", "template", "storage", "pool", "power", "provisioned", "status", "marked", "cpu", "disks", "network", "cloud_init", "timeouts",
	}
	d := newDevice(t, "9.2")
	d.apply(t, config(given))
	var newer []string
	for name := range d.State {
		if !slices.Contains(kept, name) {
			newer = append(newer, name)
		}
	}
	for _, refreshes := range []bool{false, true} {
		d.Forget(t, newer...)
		if refreshes {
			if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
				t.Fatal(diagnostics)
			}
		}
		plan, diagnostics := d.Plan(t, config(given))
		if plan == nil || !plan.Empty() || len(diagnostics) != 0 {
			t.Fatalf("refreshed: %t: the plan is not empty: %v %s", refreshes, plan.Changes(t), diagnostics)
		}
	}
	d.Forget(t, newer...)
	given["tags"] = []any{"a"}
	d.apply(t, config(given))
	if plan, diagnostics := d.Plan(t, nil); plan == nil {
		t.Fatalf("it cannot be destroyed: %s", diagnostics)
	} else if diagnostics := plan.Apply(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
}

// TestImportOfTwoWithOneUID: the line of one was written into the notes of
// another, with that one's id. Neither is taken for the one that is meant.
func TestImportOfTwoWithOneUID(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, config(block{}))
	must(t, d.lab.Hand.Clone(t.Context(), 9000, 20007, "forged", nil))
	must(t, d.lab.Hand.Configure(t.Context(), 20007, byhand.Params{"description": fmt.Sprintf("terraform-proxmox-uid=%v/20007", d.State["uid"])}))
	_, diagnostics := d.lab.Import(t, "proxmox_vm", fmt.Sprint(d.State["uid"]), nil)
	for _, word := range []string{"20000", "20007", "both carry the uid"} {
		if !strings.Contains(diagnostics.String(), word) {
			t.Errorf("%q is missing in %s", word, diagnostics)
		}
	}
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
