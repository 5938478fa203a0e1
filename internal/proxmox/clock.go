package proxmox

import (
	"context"
	"time"
)

// clock is what the client knows of time, so that tests need not wait.
type clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the context's error when that ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
