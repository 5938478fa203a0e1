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
	checks  map[string]*onceDone
}

// onceDone runs a check until it has succeeded once, one caller at a time.
type onceDone struct {
	turn chan struct{}
	done bool
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
		return nil, err
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

func (t *failingOver) checked(ctx context.Context, host string) error {
	if t.check == nil {
		return nil
	}
	once := t.once(host)
	select {
	case once.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-once.turn }()
	if once.done {
		return nil
	}
	if err := t.check(ctx, host); err != nil {
		return err
	}
	once.done = true
	return nil
}

func (t *failingOver) once(host string) *onceDone {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checks == nil {
		t.checks = map[string]*onceDone{}
	}
	once, ok := t.checks[host]
	if !ok {
		once = &onceDone{turn: make(chan struct{}, 1)}
		t.checks[host] = once
	}
	return once
}
