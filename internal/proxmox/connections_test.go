package proxmox

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type connectionKey struct{}

// newClosingPVE keeps connections as pveproxy does: an unprotected call's for 100
// requests, a protected call's not at all. It counts those that are opened.
func newClosingPVE(t *testing.T) (pve *recordedPVE, opened *atomic.Int32) {
	t.Helper()
	opened = &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served, ok := r.Context().Value(connectionKey{}).(*atomic.Int32)
		if !ok || served.Add(1) >= 100 || protectedRead.MatchString(apiPath(r)) {
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		opened.Add(1)
		return context.WithValue(ctx, connectionKey{}, &atomic.Int32{})
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return &recordedPVE{Server: server}, opened
}

// TestConnectionsOfARefresh has the calls of a refresh of a thousand guests on
// three nodes, ten at a time.
func TestConnectionsOfARefresh(t *testing.T) {
	t.Parallel()
	pve, opened := newClosingPVE(t)
	c := pve.client(t)
	guests := make(chan int)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for vmid := range guests {
				node := "pve" + string(rune('1'+vmid%3))
				_, _, viewErr := c.View.Guest(t.Context(), vmid)
				_, listErr := c.View.LiveGuests(t.Context(), node, KindVM)
				_, err := c.VMs.Pending(t.Context(), node, vmid)
				if err := errors.Join(viewErr, listErr, err); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for vmid := range 1000 {
		guests <- 100 + vmid
	}
	close(guests)
	wg.Wait()
	if n := opened.Load(); n > 16 {
		t.Errorf("1004 calls opened %d connections", n)
	}
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *Client) error{
		"shared connections": func(ctx context.Context, c *Client) error { return second(c.Pools.List(ctx)) },
		"protected reads":    func(ctx context.Context, c *Client) error { return second(c.VMs.List(ctx, "pve1")) },
		"mutations":          func(ctx context.Context, c *Client) error { return c.Pools.Create(ctx, "x", "") },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entered, leave := make(chan struct{}, 12), make(chan struct{})
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				entered <- struct{}{}
				<-leave
				_, _ = w.Write([]byte(`{"data":[]}`))
			}))
			t.Cleanup(server.Close)
			// One shared connection, four single ones; the other way round three
			// and twelve.
			limit, bound := 5, 4
			if name == "shared connections" {
				limit, bound = 16, 3
			}
			c := (&recordedPVE{Server: server}).client(t, func(o *Options) { o.Limits.Requests = limit })
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					if err := call(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
			for range bound {
				<-entered
			}
			for range 12 - bound {
				time.Sleep(2 * time.Millisecond)
				if n := len(entered); n != 0 {
					t.Errorf("%d requests beside %d others", n, bound)
				}
				leave <- struct{}{}
				<-entered
			}
			close(leave)
			wg.Wait()
		})
	}
}

func TestWaitingForASlotIsCancellable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	blocked := &limiting{next: http.DefaultTransport, slots: make(chan struct{})}
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocked.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	pve, opened := newClosingPVE(t)
	c := pve.client(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if _, err := c.Pools.List(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > 3 {
		t.Errorf("80 reads opened %d connections", n)
	}
}

func TestProtectedReads(t *testing.T) {
	t.Parallel()
	paths := map[bool][]string{
		true: {
			"/cluster/status", "/nodes/pve1/qemu", "/nodes/pve1/lxc", "/nodes/pve1/storage", "/nodes/pve1/storage/local/content",
			"/nodes/pve1/tasks/" + startUPID + "/status", "/nodes/pve1/qemu/110/status/current", "/nodes/pve1/qemu/110/agent/network-get-interfaces",
			"/nodes/pve1/firewall/log", "/nodes/pve1/lxc/110/firewall/log", "/nodes/pve1/qemu/110/firewall/ipset/admins/10.0.0.0%2F8",
			"/cluster/firewall/ipset/admins/10.0.0.0%2F8",
		},
		false: {
			"/nodes/pve1/qemu/110/firewall/rules", "/nodes/pve1/qemu/110/firewall/ipset/admins", "/cluster/firewall/ipset/admins",
			"/version", "/cluster/resources", "/cluster/nextid", "/nodes", "/nodes/pve1/network", "/nodes/pve1/tasks", "/nodes/pve1/status",
			"/nodes/pve1/qemu/110/config", "/nodes/pve1/qemu/110/pending", "/access/permissions", "/pools",
		},
	}
	for protected, list := range paths {
		for _, path := range list {
			if protectedRead.MatchString(path) != protected {
				t.Errorf("%s is taken for protected: %v", path, !protected)
			}
		}
	}
}

// TestTransportOfACall holds that a poll of a task does not wait as long as a
// write, and that only what PVE keeps a connection for has one that is kept.
func TestTransportOfACall(t *testing.T) {
	t.Parallel()
	w := newWire(&tls.Config{MinVersion: tls.VersionTLS12}, Limits{Requests: 16})
	for _, call := range []struct {
		method, path string
		timeout      time.Duration
		kept         bool
	}{
		{http.MethodGet, "/nodes/pve1/qemu/100/pending", readTimeout, true},
		{http.MethodGet, "/nodes/pve1/tasks/UPID:x/status", readTimeout, false},
		{http.MethodPut, "/nodes/pve1/qemu/100/config", writeTimeout, false},
	} {
		req := httptest.NewRequestWithContext(t.Context(), call.method, apiPrefix+call.path, nil)
		transport := w.of(req)
		if transport.ResponseHeaderTimeout != call.timeout || transport.DisableKeepAlives == call.kept {
			t.Errorf("%s %s: %s, kept %t", call.method, call.path, transport.ResponseHeaderTimeout, !transport.DisableKeepAlives)
		}
	}
}
