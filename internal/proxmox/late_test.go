package proxmox

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLateCallIsNotSent: credentials that PVE refuses take it three seconds, in
// which the guest may have become another one. What carries no digest is not sent
// again on the old permission; what does is.
func TestLateCallIsNotSent(t *testing.T) {
	t.Parallel()
	const (
		renewed = "99999999-2222-3333-4444-555555555555"
		write   = "PUT /nodes/pve1/qemu/10000/config"
	)
	refused := func(call string) step { return on(call).fail(http.StatusUnauthorized, "") }
	for name, test := range map[string]struct {
		delay time.Duration
		steps func(wait func()) []step
		call  func(*Client) error
	}{
		"destruction": {3 * time.Second, func(wait func()) []step {
			return steps(oursHere, refused(destroy).and(wait), strangerHere)
		}, func(c *Client) error {
			destroyed, err := c.Destroy(t.Context(), ourGuest(), DestroyOptions{})
			if err == nil && destroyed.Stranger == nil {
				err = errors.New("nothing is said of the stranger")
			}
			return err
		}},
		"destruction of what is still ours": {3 * time.Second, func(wait func()) []step {
			return steps(oursHere, refused(destroy).and(wait), oursHere, ends(destroy, destroyUPID))
		}, func(c *Client) error {
			_, err := c.Destroy(t.Context(), ourGuest(), DestroyOptions{})
			return err
		}},
		"destruction in time": {time.Second, func(wait func()) []step {
			return steps(oursHere, refused(destroy).and(wait), ends(destroy, destroyUPID))
		}, func(c *Client) error {
			_, err := c.Destroy(t.Context(), ourGuest(), DestroyOptions{})
			return err
		}},
		"change with a digest": {3 * time.Second, func(wait func()) []step {
			return steps(oursHere, refused(write).with("digest", "d1").and(wait), on(write).with("digest", "d1").data200(nil))
		}, func(c *Client) error {
			_, err := c.Configure(t.Context(), ourGuest(), nil, func(*GuestConfig) (ConfigUpdate, error) {
				return ConfigUpdate{Set: map[string]string{"cores": "2"}}, nil
			})
			return err
		}},
		"firewall rule": {3 * time.Second, func(wait func()) []step {
			return steps(oursHere, refused("POST /nodes/pve1/qemu/10000/firewall/rules").and(wait))
		}, func(c *Client) error {
			own, err := c.Gate.Own(t.Context(), ourGuest())
			if err != nil {
				return err
			}
			scope := FirewallScope{Kind: FirewallVM, Node: "pve1", VMID: 10000}
			if err := c.Firewall.Insert(t.Context(), own, scope, FirewallRule{Type: "in", Action: "DROP"}); !IsNotBegun(err) || IsLostAnswer(err) {
				return errors.Join(errors.New("the rule was not refused as late"), err)
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "secret")
			clock := &idleClock{now: time.Unix(1796000000, 0)}
			c := script(t, test.steps(func() {
				_ = clock.Sleep(t.Context(), test.delay)
				_ = os.WriteFile(file, []byte(renewed), 0o600)
			})...)
			if err := os.WriteFile(file, []byte(testSecret), 0o600); err != nil {
				t.Fatal(err)
			}
			options := c.options
			options.TokenSecret, options.TokenSecretFile, options.clock = "", file, clock
			c, err := New(options)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.call(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLateAfterOtherRequests: the wait for other requests counts, too.
func TestLateAfterOtherRequests(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	sent := 0
	bound := &limiting{slots: make(chan struct{}, 1), clock: clock, next: answering(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}
	send := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://127.0.0.1/api2/json/x", nil)
		if err != nil {
			return err
		}
		resp, err := bound.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	ctx := timely(t.Context(), clock.Now().Add(permitLife))
	if err := send(ctx); err != nil || sent != 1 {
		t.Errorf("in time: %v after %d requests", err, sent)
	}
	bound.slots <- struct{}{}
	ended := make(chan error)
	go func() { ended <- send(ctx) }()
	clock.advance(permitLife + time.Millisecond)
	<-bound.slots
	var late *LateError
	if err := <-ended; !errors.As(err, &late) || !IsNotBegun(err) || sent != 1 {
		t.Errorf("late: %v after %d requests", err, sent)
	}
	if err := send(guarded(t.Context())); err != nil || sent != 2 {
		t.Errorf("with a digest: %v after %d requests", err, sent)
	}
}

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
