package connection_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// impostor is a server with a certificate that signs itself, for an address,
// until a time. It answers nothing.
func impostor(t *testing.T, address net.IP, until time.Time) (url, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	acctest.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{address}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	acctest.Must(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Refused handshakes are the point.
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)

	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestAccConnection_tls: whatever is wrong with a certificate has a message of
// its own, with what to do about it.
func TestAccConnection_tls(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	here, tomorrow := net.IPv4(127, 0, 0, 1), time.Now().Add(24*time.Hour)
	named, namedCA := impostor(t, net.IPv4(192, 0, 2, 1), tomorrow)
	expired, expiredCA := impostor(t, here, time.Now().Add(-time.Hour))

	var configuration strings.Builder
	fmt.Fprintf(&configuration, "terraform {\n  required_providers {\n    proxmox = { source = %q }\n  }\n}\n", acctest.Source)
	for name, trust := range map[string]string{
		"pinned":  fmt.Sprintf("endpoint = %q\ntls_fingerprint = %q", target.Endpoint, strings.Repeat("AB", 32)),
		"unknown": fmt.Sprintf("endpoint = %q", target.Endpoint),
		"named":   fmt.Sprintf("endpoint = %q\nca_pem = <<-EOT\n%sEOT", named, namedCA),
		"expired": fmt.Sprintf("endpoint = %q\nca_pem = <<-EOT\n%sEOT", expired, expiredCA),
	} {
		fmt.Fprintf(&configuration, "provider \"proxmox\" {\nalias = %q\ntoken_id = %q\ntoken_secret = %q\n%s\n}\n"+
			"data \"proxmox_nodes\" %q {\nprovider = proxmox.%s\n}\n", name, target.TokenID, target.TokenSecret, trust, name, name)
	}
	acctest.Must(t, workspace.Write(configuration.String()))
	_, output, err := workspace.Plan(context.Background())
	if err == nil {
		t.Errorf("they are trusted:\n%s", output)
	}
	said(t, output,
		"certificate is not the pinned one", target.Lab.Fingerprint(), "If the node's certificate was renewed, set tls_fingerprint anew",
		"certificate was signed by an unknown authority", "Name the CA that signed it in ca_file or ca_pem",
		"certificate is for another name", "192.0.2.1", "Use a name that the certificate holds as endpoint",
		"certificate is expired or not yet valid", "pvecm updatecerts",
	)
	if strings.Contains(output, target.TokenSecret) {
		t.Error("the token's secret is shown")
	}
}
