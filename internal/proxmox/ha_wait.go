package proxmox

import (
	"context"
	"fmt"
	"time"
)

// taskHAMigrate is the type of the task that asks the HA manager for a migration,
// and ends when it has asked.
const taskHAMigrate = "hamigrate"

// haPower are the states that the tasks bring about which ask the HA manager for a
// start or a stop, and end when they have asked.
var haPower = map[string]PowerState{"hastart": PowerRunning, "hastop": PowerStopped}

// haPowerPatience is how long HA may take for a start or a stop that it was asked
// for, beside what the guest may take to shut down: manager and agent act in rounds
// of 10 s each, and a start with much memory or PCI devices takes its time.
const haPowerPatience = 3 * time.Minute

// haProgress is how far HA has come with what it was asked for.
type haProgress int

const (
	haWaiting haProgress = iota
	haActing
	haDone
)

// untilHA looks until HA has done what it was asked for. Late is the error where it
// lets its patience pass without acting. A look that fails in passing is repeated.
func (c *Client) untilHA(ctx context.Context, patience time.Duration, look func() (haProgress, error), late error) error {
	since := c.clock.Now()
	for {
		progress, err := look()
		switch {
		case err != nil && !passes(err):
			return err
		case err != nil:
		case progress == haDone:
			return nil
		case progress == haActing:
			since = c.clock.Now()
		}
		if c.clock.Now().Sub(since) > patience {
			return late
		}
		if err := c.clock.Sleep(ctx, fencePoll); err != nil {
			return err
		}
	}
}

// awaitMove waits until HA has moved a guest, or has let too much time go by
// without beginning.
func (c *Client) awaitMove(ctx context.Context, guest Guest, target string) error {
	look := func() (haProgress, error) {
		s, err := c.Gate.look(ctx, guest)
		switch {
		case err != nil || s.config == nil:
			return haWaiting, err
		case s.config.Lock() != "":
			return haActing, nil
		case s.node == target:
			return haDone, nil
		}
		return haWaiting, nil
	}
	return c.untilHA(ctx, haPatience, look,
		fmt.Errorf("the HA manager was asked to move %s and has not begun: its rules may bind it to other nodes", guest))
}

// awaitHA waits until HA has started or stopped a guest, on whatever node, or has
// failed or let too much time go by. Of another task it asks nothing.
func (c *Client) awaitHA(ctx context.Context, guest Guest, upid UPID, o PowerOptions) error {
	want, asked := haPower[upid.Type]
	if !asked {
		return nil
	}
	look := func() (haProgress, error) {
		status, err := c.statusAnywhere(ctx, guest)
		switch {
		case err != nil || status.Status == "":
			return haWaiting, err
		case status.Running() == (want == PowerRunning):
			return haDone, nil
		case status.HA.State == HAError:
			return haWaiting, fmt.Errorf("the HA manager failed to have %s %s: it is in HA's error state, which ends when its state in HA is set to disabled", guest, want)
		}
		return haWaiting, nil
	}
	patience := haPowerPatience + o.ShutdownTimeout
	return c.untilHA(ctx, patience, look,
		fmt.Errorf("the HA manager was asked to have %s %s and has not done it after %s: see the HA status for its state and the manager's", guest, want, patience))
}

// statusAnywhere reads a guest's status wherever it is by now: HA may start it on
// another node. It is empty while the guest is not found.
func (c *Client) statusAnywhere(ctx context.Context, guest Guest) (GuestStatus, error) {
	s, err := c.Gate.look(ctx, guest)
	if err != nil || s.config == nil {
		return GuestStatus{}, err
	}
	return c.of(guest.kind()).Status(ctx, s.node, guest.VMID)
}
