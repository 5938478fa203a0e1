package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// page collects what the program writes, for two goroutines.
type page struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// variables waits for the program's export lines.
func variables(t *testing.T, out *page) map[string]string {
	t.Helper()
	re := regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`)
	for range 1000 {
		if strings.Contains(out.String(), "PVELAB_ADMIN_TOKEN") {
			vars := map[string]string{}
			for _, m := range re.FindAllStringSubmatch(out.String(), -1) {
				vars[m[1]] = m[2]
			}
			return vars
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no variables: %q", out)
	return nil
}

func TestServesWhatItPrints(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &page{}
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--listen", "127.0.0.1:0", "--version", "8.4", "--nodes", "1"}, out, io.Discard)
	}()
	v := variables(t, out)
	ca, err := os.ReadFile(v["PROXMOX_CA_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("the CA file is no PEM")
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
	for path, holds := range map[string]string{
		"/nodes/" + v["PROXMOX_NODE"] + "/qemu/" + v["PROXMOX_TEMPLATE_VMID"] + "/config": `"template":1`,
		"/pools?poolid=" + v["PROXMOX_POOL"]:                                              `"poolid":"` + guestPool + `"`,
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, v["PROXMOX_ENDPOINT"]+"/api2/json"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken="+v["PROXMOX_TOKEN_ID"]+"="+v["PROXMOX_TOKEN_SECRET"])
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), holds) {
			t.Errorf("%s: %s %s %v", path, resp.Status, body, err)
		}
	}
	if v["PROXMOX_VMID_RANGE"] != vmidRange || v["PVELAB_ADMIN_URL"] == "" {
		t.Errorf("variables: %v", v)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(v["PROXMOX_CA_FILE"]); !os.IsNotExist(err) {
		t.Errorf("the CA file stays behind: %v", err)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--nodes", "0"}, {"--version", "7"}, {"--speed", "-1"}, {"--listen", "nowhere"}, {"serve"}, {"--bogus"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if err := run(t.Context(), []string{"--help"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}
