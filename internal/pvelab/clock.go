package pvelab

import (
	"context"
	"sync"
	"time"
)

// clock is the lab's time. It shows the wall clock plus a skew; what it divides
// by its speed is only the waiting, so that time stamps stay comparable with a
// client's.
type clock struct {
	speed float64
	mu    sync.Mutex
	skew  time.Duration
	// thawed is closed when a frozen clock goes on, nil while it goes.
	thawed chan struct{}
}

func newClock(speed float64) *clock { return &clock{speed: speed} }

// Now is the time that PVE's answers show.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skew)
}

func (c *clock) setSkew(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = d
}

// scale turns a duration of PVE's into the time the lab takes for it.
func (c *clock) scale(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

// unscale turns a time of the lab's into the duration of PVE's that it stands for.
func (c *clock) unscale(d time.Duration) time.Duration {
	return time.Duration(float64(d) * c.speed)
}

// Sleep waits for a duration of PVE's, or until ctx ends, whose error it returns.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(c.scale(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return c.going(ctx)
	}
}

// freeze keeps every sleeper asleep until thaw, so that the middle of a task can
// be looked at.
func (c *clock) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thawed == nil {
		c.thawed = make(chan struct{})
	}
}

func (c *clock) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thawed != nil {
		close(c.thawed)
		c.thawed = nil
	}
}

// going waits for a frozen clock to go on.
func (c *clock) going(ctx context.Context) error {
	c.mu.Lock()
	thawed := c.thawed
	c.mu.Unlock()
	if thawed == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-thawed:
		return nil
	}
}
