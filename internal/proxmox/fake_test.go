package proxmox

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testTokenID = "root@pam!lab"
	testSecret  = "11111111-2222-3333-4444-555555555555"
	testDigest  = "4167e44d6c64b6693ee4227cad6667ee30048f75"
)

// recordedPVE answers requests as recorded of PVE, in the order given for each
// "METHOD /path"; the last answer of a list is repeated.
type recordedPVE struct {
	*httptest.Server

	mu      sync.Mutex
	answers map[string][]reply
	seen    []seenCall
}

// reply is an answer. With a status of 0 the connection is closed instead, after
// the request has been read.
type reply struct {
	status int
	// text is PVE's message, in the reason and in the body; data the data of a
	// success, as JSON.
	text   string
	data   string
	params map[string]string
	// before is called before the answer is sent.
	before func()
}

type seenCall struct {
	call   string
	params url.Values
	header http.Header
}

func newRecordedPVE(t *testing.T) *recordedPVE {
	t.Helper()
	s := &recordedPVE{answers: map[string][]reply{}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

// on adds answers to a call.
func (s *recordedPVE) on(call string, replies ...reply) *recordedPVE {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[call] = append(s.answers[call], replies...)
	return s
}

func data(json string) reply { return reply{status: http.StatusOK, data: json} }

func failure(status int, text string) reply { return reply{status: status, text: text} }

func lost() reply { return reply{} }

func (s *recordedPVE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	params := r.URL.Query()
	if len(body) > 0 {
		params, _ = url.ParseQuery(string(body))
	}
	call := r.Method + " " + strings.TrimPrefix(r.URL.Path, apiPrefix)
	s.mu.Lock()
	s.seen = append(s.seen, seenCall{call: call, params: params, header: r.Header.Clone()})
	answer := failure(http.StatusNotImplemented, fmt.Sprintf("Method '%s' not implemented", call))
	if list := s.answers[call]; len(list) > 0 {
		answer = list[0]
		if len(list) > 1 {
			s.answers[call] = list[1:]
		}
	}
	s.mu.Unlock()
	answer.write(w)
}

func (a reply) write(w http.ResponseWriter) {
	if a.before != nil {
		a.before()
	}
	connection, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = connection.Close() }()
	if a.status == 0 {
		return
	}
	// The reason phrase carries PVE's text; net/http would not send it.
	reason := strings.ReplaceAll(a.text, "\n", " ")
	body := `{"data":` + a.data + `}`
	if a.status >= http.StatusBadRequest {
		content, _ := json.Marshal(map[string]any{"data": nil, "message": a.text + "\n", "errors": a.params})
		body = string(content)
	}
	if a.status == http.StatusUnauthorized {
		body = ""
	}
	_, _ = fmt.Fprintf(buffer, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", a.status, reason, len(body), body)
	_ = buffer.Flush()
}

// calls lists the calls made so far.
func (s *recordedPVE) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]string, len(s.seen))
	for i, one := range s.seen {
		calls[i] = one.call
	}
	return calls
}

func (s *recordedPVE) count(call string) int {
	n := 0
	for _, one := range s.calls() {
		if one == call {
			n++
		}
	}
	return n
}

// last is the last request of a call.
func (s *recordedPVE) last(t *testing.T, call string) seenCall {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.seen) - 1; i >= 0; i-- {
		if s.seen[i].call == call {
			return s.seen[i]
		}
	}
	t.Fatalf("no call %s was made", call)
	return seenCall{}
}

func caPEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

// options are those of a client of the server, with a clock that never waits.
func (s *recordedPVE) options() Options {
	return Options{
		Endpoint: s.URL, TokenID: testTokenID, TokenSecret: testSecret, CAPEM: caPEM(s.Certificate()),
		VMIDRange: VMIDRange{First: 100, Last: 199}, clock: newFakeClock(),
	}
}

func (s *recordedPVE) client(t *testing.T, change ...func(*Options)) *Client {
	t.Helper()
	o := s.options()
	for _, c := range change {
		c(&o)
	}
	client, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fakeClock moves only when somebody sleeps.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	slept  []time.Duration
	onWake func(n int)
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Unix(1796000000, 0)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	c.advance(d)
	c.mu.Lock()
	c.slept = append(c.slept, d)
	n, wake := len(c.slept), c.onWake
	c.mu.Unlock()
	if wake != nil {
		wake(n)
	}
	return ctx.Err()
}

func (c *fakeClock) pauses() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.slept...)
}

// owned is a permission as the gate grants it.
func owned(vmid int) *Owned {
	return &Owned{permission: permission{grant: grant{kind: KindVM, node: "pve1", vmid: vmid, digest: testDigest}, granted: true}}
}

func vmPath(node string, vmid int, rest ...string) string {
	return at(append([]string{"nodes", node, "qemu", itoa(vmid)}, rest...)...)
}
