package proxmox

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
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
// Unprotected reads share a few connections. Every other call has a connection
// of its own, since PVE closes that after a protected call anyway. For a
// mutation it means more: on a fresh connection an error can only mean that PVE
// may have seen the request, never that an idle connection had gone stale; and
// net/http, which repeats requests on stale connections, sends none twice.
type wire struct{ pool, read, write *http.Transport }

func newWire(config *tls.Config, limits Limits) *wire {
	transport := func(headerTimeout time.Duration) *http.Transport {
		return &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:       config.Clone(),
			TLSHandshakeTimeout:   handshakeTimeout,
			ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout:       idleTimeout,
		}
	}
	w := &wire{pool: transport(readTimeout), read: transport(readTimeout), write: transport(writeTimeout)}
	w.pool.MaxConnsPerHost = limits.pooled()
	w.pool.MaxIdleConnsPerHost = limits.pooled()
	w.read.DisableKeepAlives = true
	w.write.DisableKeepAlives = true
	return w
}

// of is the transport for a request.
func (w *wire) of(req *http.Request) *http.Transport {
	switch {
	case isPooled(req):
		return w.pool
	case isRead(req):
		return w.read
	default:
		return w.write
	}
}

// pooled is the number of connections that unprotected reads share: 3 of 16 by
// default, one for each worker of pveproxy, which answers such calls by itself.
// PVE closes a connection after 100 requests: more of them in use means more of
// them opened.
func (l Limits) pooled() int { return max(1, l.Requests/5) }

// single is the number of connections for other calls.
func (l Limits) single() int { return max(1, l.Requests-l.pooled()) }

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.of(req).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readWhole(io.LimitReader(resp.Body, maxAnswer), resp.ContentLength)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// readWhole reads to the end. The length in bytes, where it is told, only spares
// growing: it is not believed beyond a megabyte.
func readWhole(from io.Reader, length int64) ([]byte, error) {
	var content bytes.Buffer
	content.Grow(int(min(max(length, 0), 1<<20)) + bytes.MinRead)
	_, err := content.ReadFrom(from)
	return content.Bytes(), err
}

func isRead(req *http.Request) bool { return req.Method == http.MethodGet }

// protectedRead tells the reads that PVE's schema marks as protected.
var protectedRead = regexp.MustCompile(`^/(cluster/status|cluster/firewall/ipset/[^/]+/.+|access/(users|tfa).*` +
	`|nodes/[^/]+/(qemu|lxc|replication|storage.*|tasks/.+|firewall/log` +
	`|(qemu|lxc)/\d+/(firewall/log|firewall/ipset/[^/]+/.+|(status|agent|snapshot|feature|migrate|interfaces).*)))$`)

func isPooled(req *http.Request) bool { return isRead(req) && !protectedRead.MatchString(apiPath(req)) }

// limiting bounds the requests in flight that do not wait for one of the shared
// connections.
// It is the last to see a request before that is sent, and refuses one that waited
// longer than it may.
type limiting struct {
	next  http.RoundTripper
	slots chan struct{}
	clock clock
}

func (t *limiting) RoundTrip(req *http.Request) (*http.Response, error) {
	if isPooled(req) {
		return t.next.RoundTrip(req)
	}
	select {
	case t.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-t.slots }()
	if isLate(req.Context(), t.clock.Now()) {
		return nil, &unsentError{&LateError{Method: req.Method, Path: apiPath(req)}}
	}
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

// permitLife is how long after the gate's read a call without a digest may be sent.
// What could delay it for longer are credentials that PVE refuses, for which it
// takes three seconds, an endpoint that does not answer before another one does, and
// other requests.
const permitLife = 2 * time.Second

type guardedKey struct{}

// guarded marks a mutation that the gate permitted: the permission holds for
// this very moment, so that the call is not repeated later.
func guarded(ctx context.Context) context.Context { return timely(ctx, time.Time{}) }

// timely is guarded for a call that carries no digest, so that nothing but the
// time tells that the guest is still the one that the gate has read: past its end
// the call fails with a [*LateError].
func timely(ctx context.Context, end time.Time) context.Context {
	return context.WithValue(ctx, guardedKey{}, end)
}

func isGuarded(ctx context.Context) bool { return ctx.Value(guardedKey{}) != nil }

func isLate(ctx context.Context, now time.Time) bool {
	end, _ := ctx.Value(guardedKey{}).(time.Time)
	return !end.IsZero() && now.After(end)
}
