package proxmox

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// PVE's proxy gives the node or daemon behind it 30 seconds, then answers
	// 596.
	readTimeout  = 60 * time.Second
	writeTimeout = 3 * time.Minute
	// pveproxy closes a connection that was idle for 5 seconds. To be first
	// spares requests on connections that are about to close.
	idleTimeout = 4 * time.Second
	// maxAnswer bounds an answer's size in memory, in bytes.
	maxAnswer = 256 << 20
)

// wire is the innermost round tripper: it makes one attempt, and reads the
// answer to its end, so that a cut-off answer is an error of the attempt.
//
// A mutation has a connection of its own. PVE closes the connection after a
// protected call anyway, so that this costs nothing; and on a fresh connection
// an error can only mean that PVE may have seen the request, never that an idle
// connection had gone stale. It also rules out that net/http, which repeats
// requests on stale connections, sends a mutation twice.
type wire struct{ reads, writes *http.Transport }

func newWire(config *tls.Config, limits Limits) *wire {
	transport := func(headerTimeout time.Duration) *http.Transport {
		return &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:       config.Clone(),
			TLSHandshakeTimeout:   handshakeTimeout,
			ResponseHeaderTimeout: headerTimeout,
			MaxIdleConns:          limits.Requests,
			MaxIdleConnsPerHost:   limits.Requests,
			MaxConnsPerHost:       limits.Requests,
			IdleConnTimeout:       idleTimeout,
		}
	}
	w := &wire{reads: transport(readTimeout), writes: transport(writeTimeout)}
	w.writes.DisableKeepAlives = true
	return w
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := w.writes
	if isRead(req) {
		transport = w.reads
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func isRead(req *http.Request) bool { return req.Method == http.MethodGet }

// limiting bounds the requests in flight.
type limiting struct {
	next  http.RoundTripper
	slots chan struct{}
}

func (t *limiting) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case t.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-t.slots }()
	return t.next.RoundTrip(req)
}

// resend copies a request, its body anew, so that it can be sent once more.
func resend(req *http.Request) (*http.Request, error) {
	clone := req.Clone(req.Context())
	if req.GetBody == nil {
		return clone, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("repeating the request: %w", err)
	}
	clone.Body = body
	return clone, nil
}

type guardedKey struct{}

// guarded marks a mutation that the gate permitted: the permission holds for
// this very moment, so that the call is not repeated later.
func guarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardedKey{}, true)
}

func isGuarded(ctx context.Context) bool { return ctx.Value(guardedKey{}) != nil }
