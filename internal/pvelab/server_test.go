package pvelab

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// startLab starts a lab without furniture, with root's token "root@pam!t".
func startLab(t *testing.T, o Options) *Lab {
	t.Helper()
	if o.Speed == 0 {
		o.Speed = 1000
	}
	o.Empty = true
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	addToken(l, rootUser, "tok", "secret", false)
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func addToken(l *Lab, owner, name, secret string, privsep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.access.users[owner]
	if u == nil {
		u = &user{id: owner, enabled: true, tokens: map[string]*token{}}
		l.access.users[owner] = u
	}
	u.tokens[name] = &token{secret: secret, privsep: privsep}
}

func roots(t *testing.T, l *Lab) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(l.CAPEM()) {
		t.Fatal("the CA is no PEM")
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// answer is what a client sees.
type answer struct {
	status  int
	reason  string
	header  http.Header
	closed  bool
	raw     string
	data    any
	message string
	errors  map[string]string
	total   int
}

// client asks a lab as one token.
type client struct {
	t    *testing.T
	base string
	auth string
	http *http.Client
}

func newClient(t *testing.T, l *Lab, auth string) *client {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: roots(t, l)}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{t: t, base: l.URL(), auth: auth, http: &http.Client{Transport: tr}}
}

func rootClient(t *testing.T, l *Lab) *client {
	t.Helper()
	return newClient(t, l, "PVEAPIToken=root@pam!tok=secret")
}

func (c *client) call(method, path string, form url.Values) answer {
	c.t.Helper()
	a, err := c.try(method, path, form)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c *client) try(method, path string, form url.Values) (answer, error) {
	var body io.Reader
	target := c.base + apiPrefix + path
	if form != nil && (method == http.MethodGet || method == http.MethodDelete) {
		target += "?" + form.Encode()
	} else if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, target, body)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return c.do(req)
}

func (c *client) do(req *http.Request) (answer, error) {
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, header: resp.Header, closed: resp.Close, raw: string(raw)}
	_, a.reason, _ = strings.Cut(resp.Status, " ")
	body := struct {
		Data    any               `json:"data"`
		Message string            `json:"message"`
		Errors  map[string]string `json:"errors"`
		Total   int               `json:"total"`
	}{}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &body); err != nil {
			return answer{}, fmt.Errorf("%s: %w", raw, err)
		}
	}
	a.data, a.message, a.errors, a.total = body.Data, body.Message, body.Errors, body.Total
	return a, nil
}

func TestReasonPhraseCarriesTheText(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	for _, tc := range []struct {
		method, path, reason, message string
		status                        int
	}{
		{"GET", "/no/such/path", "Method 'GET /no/such/path' not implemented", "Method 'GET /no/such/path' not implemented", 501},
		{"GET", "/nodes/nope/tasks", noLookup("nope"), noLookup("nope") + "\n", 500},
		{"GET", "/nodes/pve1/tasks/UPID:foo/status", "Parameter verification failed.", "Parameter verification failed.\n", 400},
		{"PATCH", "/version", "method 'PATCH' not available", "", 501},
	} {
		a := c.call(tc.method, tc.path, nil)
		if a.status != tc.status || a.reason != tc.reason || a.message != tc.message {
			t.Errorf("%s %s: %d %q %q", tc.method, tc.path, a.status, a.reason, a.message)
		}
		if !a.closed {
			t.Errorf("%s %s: the connection stays open", tc.method, tc.path)
		}
	}
}

func noLookup(node string) string {
	return "hostname lookup '" + node + "' failed - failed to get address info for: " + node +
		": Temporary failure in name resolution"
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	l.mu.Lock()
	ticket, csrf := l.issueTicket(rootUser)
	l.mu.Unlock()
	cookie := "PVEAuthCookie=" + url.QueryEscape(ticket)
	for _, tc := range []struct {
		name, header, value, csrf, method string
		status                            int
		reason                            string
	}{
		{"nothing", "", "", "", "GET", 401, "No ticket"},
		{"bearer", "Authorization", "Bearer abc", "", "GET", 401, "No ticket"},
		{"token", "Authorization", "PVEAPIToken=root@pam!tok=secret", "", "GET", 200, "OK"},
		{"token with a blank", "Authorization", "PVEAPIToken root@pam!tok=secret", "", "GET", 200, "OK"},
		{"wrong secret", "Authorization", "PVEAPIToken=root@pam!tok=wrong", "", "GET", 401, "Authentication failed!"},
		{"unknown token", "Authorization", "PVEAPIToken=root@pam!none=secret", "", "GET", 401, "Authentication failed!"},
		{"malformed token", "Authorization", "PVEAPIToken=root@pam=secret", "", "GET", 401, "Authentication failed!"},
		{"ticket", "Cookie", cookie, "", "GET", 200, "OK"},
		{"write without csrf", "Cookie", cookie, "", "DELETE", 401, "Permission denied - invalid csrf token"},
		{"write with csrf", "Cookie", cookie, csrf, "DELETE", 400, "Parameter verification failed."},
		{"forged ticket", "Cookie", "PVEAuthCookie=PVE:root@pam:00000000::x", "", "GET", 401, "Authentication failed!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, l, "")
			path := "/cluster/tasks"
			if tc.method == "DELETE" {
				path = "/nodes/pve1/tasks/UPID:x"
			}
			req, err := http.NewRequestWithContext(t.Context(), tc.method, l.URL()+apiPrefix+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.header != "" {
				req.Header.Set(tc.header, tc.value)
			}
			req.Header.Set("CSRFPreventionToken", tc.csrf)
			a, err := c.do(req)
			if err != nil {
				t.Fatal(err)
			}
			if a.status != tc.status || a.reason != tc.reason {
				t.Errorf("got %d %q", a.status, a.reason)
			}
			if tc.status == 401 && a.raw != "" {
				t.Errorf("a refusal has a body: %q", a.raw)
			}
		})
	}
}

func TestTicketsExpire(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	l.mu.Lock()
	ticket, _ := l.issueTicket(rootUser)
	before := l.ticketUser(ticket)
	l.mu.Unlock()
	l.Faults().SkewClock(ticketLife + time.Second)
	l.mu.Lock()
	old := l.ticketUser(ticket)
	ticket, _ = l.issueTicket(rootUser)
	l.mu.Unlock()
	if err := l.Faults().ExpireTickets(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if revoked := l.ticketUser(ticket); before != rootUser || old != "" || revoked != "" {
		t.Errorf("fresh %q, two hours old %q, revoked %q", before, old, revoked)
	}
}

func TestConnectionsAreKeptForAHundredRequests(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	for range keepAlive {
		c.call("GET", "/cluster/tasks", nil)
	}
	if n := l.Counters().Snapshot().Connections; n != 1 {
		t.Errorf("%d connections for %d requests", n, keepAlive)
	}
	c.call("GET", "/cluster/tasks", nil)
	if n := l.Counters().Snapshot().Connections; n != 2 {
		t.Errorf("%d connections after one more request", n)
	}
}

func TestProtectedMethodsCloseTheConnection(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	l.mu.Lock()
	upid := l.startTask(nil, "pve1", "test", "1", func(*task) error { return nil })
	l.mu.Unlock()
	c := rootClient(t, l)
	for range 3 {
		a := c.call("GET", "/nodes/pve1/tasks/"+upid+"/log", nil)
		if a.status != 200 || !a.closed {
			t.Fatalf("%d, closed: %v", a.status, a.closed)
		}
	}
	if n := l.Counters().Snapshot().Connections; n != 3 {
		t.Errorf("%d connections for 3 protected calls", n)
	}
}

func TestTLSSessionsAreResumed(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	config := roots(t, l)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	resumed := []bool{}
	for range 2 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(l.URL(), "https://"), config)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprint(conn, "GET /api2/json/x HTTP/1.1\r\nHost: x\r\nAuthorization: PVEAPIToken=root@pam!tok=secret\r\n\r\n")
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		resumed = append(resumed, conn.ConnectionState().DidResume)
		_ = conn.Close()
	}
	if resumed[0] || !resumed[1] {
		t.Errorf("resumed: %v", resumed)
	}
}

func TestEveryNodeAnswersForTheOthers(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	c.base = l.NodeURL("pve2")
	if a := c.call("GET", "/nodes/pve3/tasks", nil); a.status != 200 {
		t.Errorf("pve3 through pve2: %d %s", a.status, a.reason)
	}
	if l.NodeFingerprint("pve2") == l.Fingerprint() {
		t.Error("two nodes share a certificate")
	}
	if err := l.Faults().NodeOffline("pve3"); err != nil {
		t.Fatal(err)
	}
	if a := c.call("GET", "/nodes/pve3/tasks", nil); a.status != 595 || a.reason != "No route to host" || a.raw != "" {
		t.Errorf("an offline node: %d %q %q", a.status, a.reason, a.raw)
	}
	c.base = l.NodeURL("pve3")
	if _, err := c.try("GET", "/cluster/tasks", nil); err == nil {
		t.Error("the endpoint of an offline node answers")
	}
	if err := l.Faults().NodeOnline("pve3"); err != nil {
		t.Fatal(err)
	}
	if a := c.call("GET", "/nodes/pve3/tasks", nil); a.status != 200 {
		t.Errorf("a node that came back: %d %s", a.status, a.reason)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ version, typ, body, reason string }{
		{"9.2", "text/plain", "groupid=x", "upload 'Content-Type 'text/plain' not implemented"},
		{"9.2", "application/json", "{broken", `'"' expected, at character offset 1 (before "broken") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.`},
		{"8.4", "application/json", "{broken", `'"' expected, at character offset 1 (before "broken") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 917.`},
	} {
		l := startLab(t, Options{Version: tc.version})
		c := rootClient(t, l)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL()+apiPrefix+"/version", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", tc.typ)
		a, err := c.do(req)
		if err != nil {
			t.Fatal(err)
		}
		if a.reason != tc.reason {
			t.Errorf("%s %q: %q", tc.typ, tc.body, a.reason)
		}
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for pveproxy's idle time")
	}
	l := startLab(t, Options{})
	conn, err := tls.Dial("tcp", strings.TrimPrefix(l.URL(), "https://"), roots(t, l))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(4 * idleTimeout))
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // a bare EOF.
		t.Errorf("an idle connection ends with %v", err)
	}
}
