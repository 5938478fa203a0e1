package proxmox

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// gatewayAttempts bounds the attempts at a node that PVE's proxy cannot reach:
// it waits for up to half a minute each time.
const gatewayAttempts = 2

// retrying repeats by meaning: a read always, a mutation only when it is known
// not to have begun, and one that the gate permitted never (its caller asks the
// gate again). An answer "already exists" to a repeated call is no success.
type retrying struct {
	next   http.RoundTripper
	policy RetryPolicy
	clock  clock
}

func (t *retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		current, err := resend(req)
		if err != nil {
			return nil, err
		}
		resp, err := t.next.RoundTrip(current)
		if err == nil || !t.repeatable(req, err) || attempt+1 >= t.attempts(err) {
			return resp, err
		}
		if t.clock.Sleep(req.Context(), t.policy.pause(attempt)) != nil {
			return nil, err
		}
	}
}

func (t *retrying) repeatable(req *http.Request, err error) bool {
	switch {
	case req.Context().Err() != nil:
		return false
	case isRead(req):
		return isTransient(err)
	default:
		return !isGuarded(req.Context()) && IsNotBegun(err)
	}
}

func (t *retrying) attempts(err error) int {
	if e, ok := answer(err); ok && isGateway(e.Status) {
		return min(gatewayAttempts, t.policy.Attempts)
	}
	return t.policy.Attempts
}

// pause is the time to wait after an attempt (0 is the first): doubling, with
// jitter, so that parallel callers do not meet again.
func (p RetryPolicy) pause(attempt int) time.Duration {
	pause := p.Max
	if attempt < 16 {
		pause = min(p.Max, p.Base<<attempt)
	}
	if pause < 2 {
		return pause
	}
	return pause/2 + rand.N(pause/2) //nolint:gosec // jitter needs no secrecy
}

// backoff waits before a repetition (attempt 0 is the first) and returns the
// context's error when that ends first.
func (c *Client) backoff(ctx context.Context, attempt int) error {
	return c.clock.Sleep(ctx, c.options.Retry.pause(attempt))
}
