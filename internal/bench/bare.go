package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// bare makes calls and nothing else.
type bare struct {
	endpoint, token string
	http            *http.Client
	// poll is the pause between two questions about a task.
	poll time.Duration
}

func (b *bench) bare() *bare {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.lab.CAPEM())
	id, secret := b.lab.Token("full")
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConnsPerHost: parallelism,
	}
	return &bare{endpoint: b.lab.URL(), token: id + "=" + secret, http: &http.Client{Transport: transport}, poll: 100 * time.Millisecond}
}

func (b *bare) get(ctx context.Context, format string, args ...any) error {
	return b.call(ctx, http.MethodGet, fmt.Sprintf(format, args...), nil, nil)
}

func (b *bare) call(ctx context.Context, method, path string, form url.Values, data any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, b.endpoint+"/api2/json"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "PVEAPIToken="+b.token)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return json.Unmarshal(raw, &struct {
		Data any `json:"data"`
	}{Data: data})
}

// task makes a call and waits for its task, asking as often as the client does
// at first.
func (b *bare) task(ctx context.Context, method, path string, form url.Values) error {
	var upid string
	if err := b.call(ctx, method, path, form, &upid); err != nil {
		return err
	}
	for {
		var status struct {
			Status     string `json:"status"`
			ExitStatus string `json:"exitstatus"`
		}
		if err := b.call(ctx, http.MethodGet, "/nodes/"+strings.Split(upid, ":")[1]+"/tasks/"+upid+"/status", nil, &status); err != nil {
			return err
		}
		if status.Status == "stopped" && status.ExitStatus != "OK" {
			return fmt.Errorf("%s %s: %s", method, path, status.ExitStatus)
		}
		if status.Status == "stopped" {
			return nil
		}
		time.Sleep(b.poll)
	}
}
