package proxmox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const versionData = `{"version":"9.2.11","release":"9.2","repoid":"14a22df35955d97d"}`

// deadHost is an address that nobody listens at.
func deadHost(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestAnswerOfPVE(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /version", data(versionData)).
		on("GET /nodes/pve1/qemu/999/config", failure(500, "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist")).
		on("GET /cluster/nextid", reply{status: 400, text: "Parameter verification failed.", params: map[string]string{"vmid": "VM 9000 already exists"}}).
		on("GET /nodes/pve1/status", failure(403, "Permission check failed (/nodes/pve1, Sys.Audit)"))
	c := pve.client(t, func(o *Options) { o.UserAgent = "test/1" })
	ctx := t.Context()
	v, err := c.Cluster.Version(ctx)
	if err != nil || v.Release != "9.2" || v.Patch != 11 {
		t.Errorf("version %+v (%v)", v, err)
	}
	header := pve.last(t, "GET /version").header
	if got := header.Get("Authorization"); got != "PVEAPIToken="+testTokenID+"="+testSecret {
		t.Errorf("authorized as %q", got)
	}
	if got := header.Get("User-Agent"); got != "test/1" {
		t.Errorf("user agent %q", got)
	}
	_, err = c.VMs.Config(ctx, "pve1", 999)
	var e *Error
	if !errors.As(err, &e) || e.Status != 500 || e.Method != http.MethodGet || e.Path != "/nodes/pve1/qemu/999/config" || !IsNotFound(err) {
		t.Errorf("an absent VM: %v", err)
	}
	if free, err := c.Cluster.VMIDFree(ctx, 9000); free || err != nil {
		t.Errorf("a taken id is free: %v (%v)", free, err)
	}
	if _, err := c.Nodes.Status(ctx, "pve1"); !IsPermission(err) {
		t.Errorf("a refusal: %v", err)
	}
	if n := len(pve.calls()); n != 4 {
		t.Errorf("%d calls: answers were asked for again: %q", n, pve.calls())
	}
	if _, err := c.Cluster.Version(ctx); err != nil || pve.count("GET /version") != 1 {
		t.Errorf("the version was read %d times (%v)", pve.count("GET /version"), err)
	}
}

func TestNoAnswerOfPVE(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>welcome</html>"))
	}))
	t.Cleanup(server.Close)
	c := (&recordedPVE{Server: server}).client(t)
	if err := c.Pools.Create(t.Context(), "x", ""); !IsLostAnswer(err) {
		t.Errorf("a web page as answer to a mutation: %v", err)
	}
	if _, err := c.Nodes.List(t.Context()); err == nil || !strings.Contains(err.Error(), "not one of PVE's API") {
		t.Errorf("a web page: %v", err)
	}
}

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first []reply
		calls int
		fails bool
	}{
		"connection lost":      {[]reply{lost(), lost()}, 3, false},
		"lost too often":       {[]reply{lost(), lost(), lost(), lost(), lost()}, 5, true},
		"node restarts":        {[]reply{failure(595, "Connection refused")}, 2, false},
		"node is away":         {[]reply{failure(596, "Connection timed out"), failure(596, "Connection timed out")}, 2, true},
		"proxy":                {[]reply{failure(502, "Bad Gateway")}, 2, false},
		"lock":                 {[]reply{failure(500, "can't lock file '/var/lock/x' - got timeout")}, 2, false},
		"an answer is final":   {[]reply{failure(500, "pool 'x' does not exist")}, 1, true},
		"a refusal too":        {[]reply{failure(403, "Permission check failed (/, Sys.Audit)")}, 1, true},
		"unauthorized as well": {[]reply{failure(401, "Authentication failed!")}, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on("GET /version", append(test.first, data(versionData))...)
			clock := newFakeClock()
			_, err := pve.client(t, func(o *Options) { o.clock = clock }).Cluster.Version(t.Context())
			if (err != nil) != test.fails || len(pve.calls()) != test.calls {
				t.Errorf("%d calls, %v", len(pve.calls()), err)
			}
			if len(clock.pauses()) != test.calls-1 {
				t.Errorf("paused %v between %d calls", clock.pauses(), test.calls)
			}
		})
	}
}

func TestPauseGrowsWithJitter(t *testing.T) {
	t.Parallel()
	policy := RetryPolicy{Base: 200 * time.Millisecond, Max: 5 * time.Second}
	for attempt, millis := range []int{200, 400, 800, 1600, 3200, 5000, 5000} {
		full := time.Duration(millis) * time.Millisecond
		for range 50 {
			if got := policy.pause(attempt); got < full/2 || got > full {
				t.Fatalf("attempt %d: pause %v is not between %v and %v", attempt, got, full/2, full)
			}
		}
	}
	if got := policy.pause(100); got > policy.Max {
		t.Errorf("a late pause of %v", got)
	}
}

func TestMutations(t *testing.T) {
	t.Parallel()
	const (
		clone  = "POST /nodes/pve1/qemu/9000/clone"
		update = "PUT /nodes/pve1/qemu/110/config"
		upid   = `"UPID:pve1:00002148:0003D6F1:6B0CC050:qmclone:9000:root@pam!lab:"`
	)
	cloning := func(ctx context.Context, c *Client) error {
		_, err := c.VMs.Clone(ctx, CloneRequest{TemplateNode: "pve1", Template: 9000, NewID: 110})
		return err
	}
	updating := func(ctx context.Context, c *Client) error {
		return c.VMs.Update(ctx, owned(110), ConfigUpdate{Set: map[string]string{"memory": "128"}})
	}
	timeout := failure(500, "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout")
	tests := map[string]struct {
		call    string
		do      func(context.Context, *Client) error
		answers []reply
		calls   int
		is      func(error) bool
	}{
		"no task in the answer":      {clone, cloning, []reply{data("null")}, 1, IsLostAnswer},
		"a task that cannot be read": {clone, cloning, []reply{data(`"UPID:pve1"`)}, 1, IsLostAnswer},
		"lost answer":                {clone, cloning, []reply{lost(), data(upid)}, 1, IsLostAnswer},
		"proxy gave up":              {clone, cloning, []reply{failure(596, "Connection timed out"), data(upid)}, 1, IsLostAnswer},
		"gateway in front":           {clone, cloning, []reply{failure(504, "Gateway Timeout"), data(upid)}, 1, IsLostAnswer},
		"not begun":                  {clone, cloning, []reply{failure(595, "No route to host"), data(upid)}, 2, nil},
		"lock before the task":       {clone, cloning, []reply{timeout, timeout, data(upid)}, 3, nil},
		"exists is never success":    {clone, cloning, []reply{timeout, failure(500, "unable to create VM 110: config file already exists")}, 2, IsExists},
		"no worker":                  {clone, cloning, []reply{failure(500, "got no worker upid - start worker failed"), data(upid)}, 1, IsNoWorker},
		"guarded, lost":              {update, updating, []reply{lost(), data("null")}, 1, IsLostAnswer},
		"guarded, lock":              {update, updating, []reply{timeout, data("null")}, 1, IsNotBegun},
		"guarded, node not reached":  {update, updating, []reply{failure(595, "No route to host"), data("null")}, 1, IsNotBegun},
		"guarded, changed meanwhile": {update, updating, []reply{failure(500, "checksum mismatch (file change by other user?)")}, 1, IsDigestMismatch},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on(test.call, test.answers...)
			err := test.do(t.Context(), pve.client(t))
			if test.is == nil && err != nil || test.is != nil && !test.is(err) {
				t.Errorf("error %v", err)
			}
			if n := pve.count(test.call); n != test.calls {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestMutationIsNeverResentByNetHTTP has a server that keeps connections and
// closes one of them after it has read a request, the moment at which net/http
// repeats a request on its own.
func TestMutationIsNeverResentByNetHTTP(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			var mutations, reads atomic.Int32
			var dropReads atomic.Bool
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				drop := r.Method != http.MethodGet
				if drop {
					mutations.Add(1)
				} else {
					reads.Add(1)
					drop = dropReads.Swap(false)
				}
				if drop {
					connection, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						_ = connection.Close()
					}
					return
				}
				_, _ = fmt.Fprintf(w, `{"data":%s}`, versionData)
			}))
			t.Cleanup(server.Close)
			c := (&recordedPVE{Server: server}).client(t)
			// Leaves a connection to be reused.
			if _, err := c.Cluster.Version(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := c.call(t.Context(), method, "/pools", url.Values{"poolid": {"x"}}, nil)
			if !IsLostAnswer(err) || mutations.Load() != 1 {
				t.Errorf("sent %d times, error %v", mutations.Load(), err)
			}
			dropReads.Store(true)
			if _, err := c.Nodes.Version(t.Context(), "pve1"); err != nil || reads.Load() != 3 {
				t.Errorf("a read was made %d times (%v)", reads.Load()-1, err)
			}
		})
	}
}

func TestTruncatedAnswer(t *testing.T) {
	t.Parallel()
	listener := newRecordedPVE(t)
	listener.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		writeTruncated(buffer.Writer)
		_ = connection.Close()
	})
	err := listener.client(t).Pools.Create(t.Context(), "x", "")
	if !IsLostAnswer(err) {
		t.Errorf("a mutation whose answer was cut off: %v", err)
	}
	_, err = listener.client(t).Pools.List(t.Context())
	if !IsUnavailable(err) || IsLostAnswer(err) {
		t.Errorf("a read whose answer was cut off: %v", err)
	}
}

func writeTruncated(w *bufio.Writer) {
	_, _ = w.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":")
	_ = w.Flush()
}

func TestCancelledBeforeAndAfterSending(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	pve := newRecordedPVE(t)
	pve.on("POST /pools", reply{status: 200, data: "null", before: func() {
		cancel()
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
	}})
	c := pve.client(t)
	err := c.Pools.Create(ctx, "x", "")
	if !IsLostAnswer(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while PVE was at work: %v", err)
	}
	err = c.Pools.Create(ctx, "x", "")
	if IsLostAnswer(err) || IsUnavailable(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if n := len(pve.calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on("GET /version", data(versionData)).on("POST /pools", data("null"))
	dead, deadToo := deadHost(t), deadHost(t)
	var asked []string
	c := pve.client(t, func(o *Options) {
		o.Endpoint, o.FallbackEndpoints = "https://"+dead, []string{"https://" + deadToo, pve.URL}
		o.Log = func(_ context.Context, _ string, fields map[string]any) {
			asked = append(asked, fields["endpoint"].(string))
		}
	})
	if err := c.Pools.Create(t.Context(), "x", ""); err != nil {
		t.Fatal(err)
	}
	live := strings.TrimPrefix(pve.URL, "https://")
	if want := []string{dead, deadToo, live}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if _, err := c.Cluster.Version(t.Context()); err != nil || len(asked) != 4 || asked[3] != live {
		t.Errorf("then asked %q (%v): the one that answers stays", asked[3:], err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t)
	first, second := deadHost(t), deadHost(t)
	c := pve.client(t, func(o *Options) {
		o.Endpoint, o.FallbackEndpoints = "https://"+first, []string{"https://" + second}
		o.Retry.Attempts = 2
	})
	_, err := c.Cluster.Version(t.Context())
	if !IsUnavailable(err) || !IsNotBegun(err) || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Errorf("error %v", err)
	}
}

func TestLostMutationIsNotTriedElsewhere(t *testing.T) {
	t.Parallel()
	first, second := newRecordedPVE(t), newRecordedPVE(t)
	first.on("POST /pools", lost()).on("GET /version", lost())
	second.on("POST /pools", data("null")).on("GET /version", data(versionData))
	c := first.client(t, func(o *Options) {
		o.FallbackEndpoints = []string{second.URL}
		o.CAPEM = append(o.CAPEM, caPEM(second.Certificate())...)
	})
	if err := c.Pools.Create(t.Context(), "x", ""); !IsLostAnswer(err) || len(second.calls()) != 0 {
		t.Errorf("error %v, the other endpoint saw %q", err, second.calls())
	}
	if _, err := c.Cluster.Version(t.Context()); err != nil || first.count("GET /version") != 1 || second.count("GET /version") != 1 {
		t.Errorf("a lost read: %v, %q, %q", err, first.calls(), second.calls())
	}
}

func TestClusterIdentity(t *testing.T) {
	t.Parallel()
	const (
		alone   = `[{"online":1,"name":"pve1","level":"","local":1,"type":"node","ip":"10.99.0.1","nodeid":0,"id":"node/pve1"}]`
		cluster = `[{"type":"cluster","id":"cluster","name":"dc1","nodes":2,"quorate":"1","version":2},
			{"online":1,"name":"pve1","local":1,"type":"node","id":"node/pve1"},{"online":0,"name":"pve2","local":0,"type":"node","id":"node/pve2"}]`
	)
	tests := map[string]struct {
		status reply
		want   string
		fails  string
	}{
		"the same":           {data(cluster), "dc1", ""},
		"another":            {data(cluster), "dc2", `belongs to cluster "dc1", not to "dc2"`},
		"alone":              {data(alone), "standalone:pve1", ""},
		"another node alone": {data(alone), "standalone:pve2", `"standalone:pve1"`},
		"has joined since":   {data(cluster), "standalone:pve2", ""},
		"joined another":     {data(cluster), "standalone:pve9", `"dc1"`},
		"may not be read":    {failure(403, "Permission check failed (/, Sys.Audit)"), "dc1", "Sys.Audit on /"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on("GET /cluster/status", test.status).on("GET /version", data(versionData)).on("POST /pools", data("null"))
			c := pve.client(t, func(o *Options) { o.Cluster = test.want })
			err := c.Pools.Create(t.Context(), "x", "")
			if test.fails == "" {
				if err != nil || pve.count("POST /pools") != 1 {
					t.Errorf("%v, calls %q", err, pve.calls())
				}
				_, _ = c.Cluster.Version(t.Context())
				if n := pve.count("GET /cluster/status"); n != 1 {
					t.Errorf("checked %d times", n)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.fails) || pve.count("POST /pools") != 0 {
				t.Errorf("%v, calls %q", err, pve.calls())
			}
		})
	}
}

// TestEndpointIsLostWhileChecked: nothing of a mutation was sent when the check
// before it fails, so that it may be made elsewhere, or later.
func TestEndpointIsLostWhileChecked(t *testing.T) {
	t.Parallel()
	const check, cluster = "GET /cluster/status", `[{"type":"cluster","name":"dc1","quorate":1}]`
	for name, trouble := range map[string]reply{"cut off": lost(), "a gateway": failure(http.StatusServiceUnavailable, "Service Unavailable")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newRecordedPVE(t), newRecordedPVE(t)
			first.on(check, trouble, trouble, data(cluster)).on("POST /pools", data("null"))
			second.on(check, data(cluster)).on("POST /pools", data("null"))
			elsewhere := first.client(t, func(o *Options) {
				o.Cluster, o.FallbackEndpoints = "dc1", []string{second.URL}
				o.CAPEM = append(o.CAPEM, caPEM(second.Certificate())...)
			})
			if err := elsewhere.Pools.Create(t.Context(), "x", ""); err != nil || second.count("POST /pools") != 1 || first.count("POST /pools") != 0 {
				t.Errorf("elsewhere: %v, %q, %q", err, first.calls(), second.calls())
			}
			alone := first.client(t, func(o *Options) { o.Cluster, o.Retry.Attempts = "dc1", 1 })
			if err := alone.Pools.Create(t.Context(), "x", ""); !IsNotBegun(err) || !IsUnavailable(err) || first.count("POST /pools") != 0 {
				t.Errorf("alone: %v, %q", err, first.calls())
			}
			if err := alone.Pools.Create(t.Context(), "x", ""); err != nil || first.count("POST /pools") != 1 {
				t.Errorf("again: %v, %q", err, first.calls())
			}
		})
	}
}

func TestRotatedSecret(t *testing.T) {
	t.Parallel()
	const renewed = "99999999-2222-3333-4444-555555555555"
	file := filepath.Join(t.TempDir(), "secret")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(testSecret)
	pve := newRecordedPVE(t)
	pve.on("POST /pools", reply{status: 401, text: "Authentication failed!", before: func() { write(renewed) }}, data("null"), failure(401, "Authentication failed!"))
	c := pve.client(t, func(o *Options) { o.TokenSecret, o.TokenSecretFile = "", file })
	if err := c.Pools.Create(t.Context(), "x", "a comment"); err != nil {
		t.Fatal(err)
	}
	last := pve.last(t, "POST /pools")
	if !strings.HasSuffix(last.header.Get("Authorization"), renewed) || last.params.Get("comment") != "a comment" {
		t.Errorf("the second request had %v and %v", last.header.Get("Authorization"), last.params)
	}
	if err := c.Pools.Create(t.Context(), "y", ""); !IsUnauthorized(err) || pve.count("POST /pools") != 3 {
		t.Errorf("an unchanged secret: %v after %d calls", err, pve.count("POST /pools"))
	}
}

func TestLogHidesSecrets(t *testing.T) {
	t.Parallel()
	const password = "correct horse battery"
	pve := newRecordedPVE(t).on("PUT /nodes/pve1/qemu/110/config", failure(500, "cannot set '"+password+"'"))
	var lines []string
	c := pve.client(t, func(o *Options) {
		o.Log = func(_ context.Context, msg string, fields map[string]any) {
			lines = append(lines, fmt.Sprint(msg, fields))
		}
	})
	err := c.VMs.Update(t.Context(), owned(110), ConfigUpdate{Set: map[string]string{"cipassword": password, "ciuser": "ops"}})
	all := strings.Join(append(lines, err.Error()), "\n")
	if strings.Contains(all, password) || strings.Contains(all, testSecret) {
		t.Errorf("a secret is told: %s", all)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "ciuser:ops") || !strings.Contains(lines[0], "/nodes/pve1/qemu/110/config") {
		t.Errorf("the log says %q", lines)
	}
}

func TestReadData(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"data":["a","b"],"total":2}`:                "[a b]",
		`{"total":2,"note":{"data":["x"]},"data":[]}`: "[]",
		`{"data":null}`:                               "[]",
		`{"total":1}`:                                 "no object with data",
		`{"note":{"data":[]}}`:                        "no object with data",
		`["a"]`:                                       "no object with data",
		`{"data":["a"]`:                               "EOF",
		`{"data":{"a":1}}`:                            "cannot unmarshal",
		`<html>Sign in</html>`:                        "invalid character",
		``:                                            "EOF",
	} {
		var got []string
		err := readData([]byte(content), &got)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", content, text, want)
		}
	}
}
