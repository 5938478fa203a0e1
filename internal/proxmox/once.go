package proxmox

import "context"

// once makes a call until it has succeeded once, one caller at a time. Whoever
// waits for its turn does so no longer than its own context.
type once struct {
	turn chan struct{}
	done bool
}

func newOnce() *once { return &once{turn: make(chan struct{}, 1)} }

func (o *once) do(ctx context.Context, call func() error) error {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-o.turn }()
	if o.done {
		return nil
	}
	err := call()
	o.done = err == nil
	return err
}
