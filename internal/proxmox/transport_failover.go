package proxmox

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// failingOver sends a request to the endpoint that answered last, and, in their
// order, to the others when that cannot be reached. A read is also asked of
// another endpoint when its connection was lost.
type failingOver struct {
	next  http.RoundTripper
	hosts []string
	// check is called for each endpoint before its first use.
	check func(ctx context.Context, host string) error

	mu      sync.Mutex
	current int
	checks  map[string]*once
}

func (t *failingOver) RoundTrip(req *http.Request) (*http.Response, error) {
	var failures []error
	for _, index := range t.order() {
		resp, err := t.ask(req, t.hosts[index])
		if err == nil {
			t.prefer(index)
			return resp, nil
		}
		if !elsewhere(req, err) {
			return nil, err
		}
		failures = append(failures, err)
	}
	if len(failures) == 1 {
		return nil, failures[0]
	}
	return nil, errors.Join(failures...)
}

// elsewhere reports whether another endpoint may be asked.
func elsewhere(req *http.Request, err error) bool {
	if req.Context().Err() != nil {
		return false
	}
	return unreached(err) || isRead(req) && isConnection(err)
}

func (t *failingOver) ask(req *http.Request, host string) (*http.Response, error) {
	if err := t.checked(req.Context(), host); err != nil {
		return nil, unchecked(req, host, err)
	}
	req, err := resend(req)
	if err != nil {
		return nil, err
	}
	req.URL.Host = host
	req.Host = host
	return t.next.RoundTrip(req)
}

// order lists the endpoints, the current one first.
func (t *failingOver) order() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := []int{t.current}
	for i := range t.hosts {
		if i != t.current {
			order = append(order, i)
		}
	}
	return order
}

func (t *failingOver) prefer(index int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = index
}

// checked checks an endpoint before its first use.
func (t *failingOver) checked(ctx context.Context, host string) error {
	if t.check == nil {
		return nil
	}
	return t.once(host).do(ctx, func() error { return t.check(ctx, host) })
}

func (t *failingOver) once(host string) *once {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checks == nil {
		t.checks = map[string]*once{}
	}
	if t.checks[host] == nil {
		t.checks[host] = newOnce()
	}
	return t.checks[host]
}

// unchecked is why a request was not sent to an endpoint. A connection that was
// had and lost, or a gateway's answer, is the check's: for the request it means
// that the endpoint was not reached.
func unchecked(req *http.Request, host string, err error) error {
	if !isTransient(err) {
		return err
	}
	return &ConnectionError{Method: req.Method, Path: apiPath(req), Endpoint: host, Err: err}
}
