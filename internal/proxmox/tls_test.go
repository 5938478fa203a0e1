package proxmox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// certificate makes one that signs itself, for a host name, until a time.
func certificate(t *testing.T, name string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	if name == "127.0.0.1" {
		template.DNSNames, template.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// withCertificate serves versions over TLS and counts resumed sessions.
func withCertificate(t *testing.T, c tls.Certificate) (pve *recordedPVE, resumed *atomic.Int32) {
	t.Helper()
	resumed = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		_, _ = fmt.Fprintf(w, `{"data":%s}`, versionData)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Refused handshakes are the point.
	server.TLS = &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return &recordedPVE{Server: server}, resumed
}

func TestTrust(t *testing.T) {
	t.Parallel()
	good := certificate(t, "127.0.0.1", time.Now().Add(24*time.Hour))
	sum := sha256.Sum256(good.Certificate[0])
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, caPEM(good.Leaf), 0o600); err != nil {
		t.Fatal(err)
	}
	other := hex.EncodeToString(make([]byte, sha256.Size))
	tests := map[string]struct {
		certificate tls.Certificate
		trust       func(*Options)
		problem     string
		remedy      string
	}{
		"CA":                {good, func(o *Options) { o.CAPEM = caPEM(good.Leaf) }, "", ""},
		"CA file":           {good, func(o *Options) { o.CAFile = file }, "", ""},
		"fingerprint":       {good, func(o *Options) { o.Fingerprint = formatFingerprint(sum) }, "", ""},
		"plain, lower case": {good, func(o *Options) { o.Fingerprint = hex.EncodeToString(sum[:]) }, "", ""},
		"insecure":          {good, func(o *Options) { o.Insecure = true }, "", ""},
		"system roots":      {good, func(*Options) {}, "unknown authority", "ca_file"},
		"its fingerprint":   {good, func(*Options) {}, formatFingerprint(sum), "tls_fingerprint"},
		"another pinned":    {good, func(o *Options) { o.Fingerprint = other }, formatFingerprint(sum), "somebody else answers"},
		"wrong name":        wrongName(t),
		"expired":           expired(t),
		"pinned and expired": {
			certificate(t, "elsewhere", time.Now().Add(-time.Hour)), nil, "", "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trust := test.trust
			if trust == nil {
				trust = func(o *Options) { o.Fingerprint = formatFingerprint(sha256.Sum256(test.certificate.Certificate[0])) }
			}
			pve, _ := withCertificate(t, test.certificate)
			c := pve.client(t, func(o *Options) { o.CAPEM = nil }, trust)
			_, err := c.Cluster.Version(t.Context())
			if test.problem == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var refused *TLSError
			if !errors.As(err, &refused) || !strings.Contains(refused.Problem, test.problem) || !strings.Contains(refused.Remedy, test.remedy) {
				t.Errorf("error %v", err)
			}
			if IsUnavailable(err) || IsNotBegun(err) {
				t.Error("a certificate that is not trusted passes for a node that is away")
			}
		})
	}
}

// TestPinnedEndpoints: each node has a certificate of its own, so that one is
// pinned for each endpoint.
func TestPinnedEndpoints(t *testing.T) {
	t.Parallel()
	here, there := certificate(t, "127.0.0.1", time.Now().Add(time.Hour)), certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	sum := func(c tls.Certificate) string { return formatFingerprint(sha256.Sum256(c.Certificate[0])) }
	first, _ := withCertificate(t, here)
	second, _ := withCertificate(t, there)
	open := func(pins string) *Client {
		return second.client(t, func(o *Options) {
			o.Endpoint, o.FallbackEndpoints = first.URL, []string{second.URL}
			o.CAPEM, o.Fingerprint = nil, pins
		})
	}
	both, one := open(sum(here)+", "+sum(there)), open(sum(here))
	for _, c := range []*Client{both, one} {
		if _, err := c.Cluster.Version(t.Context()); err != nil {
			t.Error(err)
		}
	}
	first.Close()
	if err := both.Pools.Create(t.Context(), "x", ""); err != nil {
		t.Errorf("the other endpoint: %v", err)
	}
	var refused *TLSError
	if err := one.Pools.Create(t.Context(), "x", ""); !errors.As(err, &refused) || !strings.Contains(refused.Remedy, "those of all endpoints") {
		t.Errorf("one pin for two endpoints: %v", err)
	}
}

type trustTest = struct {
	certificate tls.Certificate
	trust       func(*Options)
	problem     string
	remedy      string
}

func wrongName(t *testing.T) trustTest {
	c := certificate(t, "pve1.example.com", time.Now().Add(time.Hour))
	return trustTest{c, func(o *Options) { o.CAPEM = caPEM(c.Leaf) }, "127.0.0.1", "name that the certificate holds"}
}

func expired(t *testing.T) trustTest {
	c := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
	return trustTest{c, func(o *Options) { o.CAPEM = caPEM(c.Leaf) }, "expired", "clock"}
}

func TestPlainHTTPServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	o := Options{Endpoint: strings.Replace(server.URL, "http:", "https:", 1), TokenID: testTokenID, TokenSecret: testSecret, clock: newFakeClock()}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Cluster.Version(t.Context())
	var refused *TLSError
	if !errors.As(err, &refused) || !strings.Contains(refused.Problem, "does not speak TLS") {
		t.Errorf("error %v", err)
	}
}

// TestSessionsAreResumed matters since PVE closes the connection after every
// protected call; a pinned certificate must hold for resumed sessions too.
func TestSessionsAreResumed(t *testing.T) {
	t.Parallel()
	c := certificate(t, "127.0.0.1", time.Now().Add(time.Hour))
	pve, resumed := withCertificate(t, c)
	client := pve.client(t, func(o *Options) {
		o.CAPEM, o.Fingerprint = nil, formatFingerprint(sha256.Sum256(c.Certificate[0]))
	})
	for range 3 {
		if err := client.Pools.Create(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := resumed.Load(); n != 2 {
		t.Errorf("%d of the 2 later connections resumed a session", n)
	}
}
