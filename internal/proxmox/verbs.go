package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The verbs change a guest of ours: each asks the gate, makes one call, waits
// for its task, and does so again while PVE's refusal is one that passes. A
// permission that the caller holds already saves the first question; nil does
// not. They go on as long as the context lives.

// LockedError says that the guest is held by an operation of PVE.
type LockedError struct {
	Kind Kind
	VMID int
	Node string
	Lock string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is locked (%s)", nameGuest(e.Kind, e.VMID, "", e.Node), e.Lock)
}

// mayPass reports whether a mutation failed for a reason that passes by itself,
// or may not have failed at all: the guest has to be looked at, and the same
// may be tried again.
func mayPass(err error) bool {
	return IsLocked(err) || IsLockTimeout(err) || IsNotBegun(err) || IsNoWorker(err) || IsLostAnswer(err)
}

// perform makes one mutation with a permission each time it is tried. It
// returns the configuration that the last permission was granted on.
func (c *Client) perform(ctx context.Context, guest Guest, own *Owned, call func(*Owned) error) (*GuestConfig, error) {
	for attempt := 0; ; attempt++ {
		if own == nil || own.config == nil {
			var err error
			if own, err = c.Gate.Own(ctx, guest); err != nil {
				return nil, err
			}
		}
		config := own.Config()
		err := call(own)
		if err == nil || !mayPass(err) && !IsDigestMismatch(err) {
			return config, err
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return config, fmt.Errorf("%w: %w", stopped, err)
		}
		own = nil
	}
}

// Configure changes a guest's configuration. build is given what the gate read
// and says what to change, anew each time somebody else was faster; an empty
// change makes no call. A change that PVE refuses on a running guest would stay
// pending all the same: what it left is reverted. It returns what the gate read
// before the change.
func (c *Client) Configure(ctx context.Context, guest Guest, own *Owned, build func(*GuestConfig) (ConfigUpdate, error)) (*GuestConfig, error) {
	var tried ConfigUpdate
	before, err := c.perform(ctx, guest, own, func(own *Owned) error {
		update, err := build(own.Config())
		if err != nil || update.empty() {
			return err
		}
		tried = update
		return c.of(guest.kind()).Update(ctx, own, update)
	})
	if _, refused := answer(err); !refused || before == nil || ctx.Err() != nil {
		return before, err
	}
	return before, errors.Join(err, c.revert(ctx, guest, before, tried))
}

func (u ConfigUpdate) empty() bool {
	return len(u.Set) == 0 && len(u.Delete) == 0 && len(u.Revert) == 0
}

// revert drops what a refused change has left pending and was not before.
func (c *Client) revert(ctx context.Context, guest Guest, before *GuestConfig, tried ConfigUpdate) error {
	var left, made []string
	_, err := c.perform(ctx, guest, nil, func(own *Owned) error {
		left = nil
		for _, key := range own.Config().PendingKeys() {
			_, set := tried.Set[key]
			if (set || slices.Contains(tried.Delete, key)) && !slices.Contains(before.PendingKeys(), key) {
				left = append(left, key)
			}
		}
		if len(left) == 0 {
			return nil
		}
		made = append(made, newVolumes(before, own.Config(), left)...)
		return c.of(guest.kind()).Update(ctx, own, ConfigUpdate{Revert: left})
	})
	if err != nil && len(left) > 0 {
		return fmt.Errorf("the refused change stays pending (%v) until it is reverted: %w", left, err)
	}
	return c.discard(ctx, guest, made)
}

// Grow makes a volume as large as asked. One of that size is left alone; a
// larger one is refused before any call that changes something. It returns what
// the gate read before.
func (c *Client) Grow(ctx context.Context, guest Guest, own *Owned, slot string, size Size, progress func(line string)) (*GuestConfig, error) {
	return c.perform(ctx, guest, own, func(own *Owned) error {
		has, ok := own.Config().SizeOf(slot)
		switch {
		case !ok:
			return fmt.Errorf("%s has no volume %s", guest, slot)
		case has != nil && *has == size:
			return nil
		case has != nil && *has > size:
			return fmt.Errorf("volume %s of %s has %s, more than the %s asked for: volumes never shrink", slot, guest, has, size)
		}
		upid, err := c.of(guest.kind()).Resize(ctx, own, slot, size)
		if err != nil {
			return err
		}
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: progress})
		return err
	})
}

// PowerState is the power that a guest is wanted to have.
type PowerState string

// The states of power.
const (
	PowerRunning PowerState = "running"
	PowerStopped PowerState = "stopped"
	PowerPaused  PowerState = "paused"
)

// PowerOptions is how to change a guest's power.
type PowerOptions struct {
	// ShutdownTimeout is how long a guest may take to shut down by itself; with
	// zero it is stopped at once.
	ShutdownTimeout time.Duration
	// ForceStop stops a guest that has not shut down in time. Without it that
	// is an error.
	ForceStop bool
	// Progress receives the lines of the task's log. It may be nil.
	Progress func(line string)
}
