package pvelab

import (
	"context"
	"sync"
)

// holding is a place where a task or an answer stands until it is let go.
type holding struct {
	reached     chan struct{}
	reachedOnce sync.Once
	released    chan struct{}
	releaseOnce sync.Once
}

func newHolding() *holding {
	return &holding{reached: make(chan struct{}), released: make(chan struct{})}
}

// stand waits until it is let go.
func (h *holding) stand(ctx context.Context) error {
	h.reachedOnce.Do(func() { close(h.reached) })
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *holding) release() { h.releaseOnce.Do(func() { close(h.released) }) }
