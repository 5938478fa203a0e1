package proxmox

import (
	"context"
	"fmt"
	"time"
)

// haPowerPatience is how long HA may take for a start or a stop that it was asked
// for, beside what the guest may take to shut down: manager and agent act in rounds
// of 10 s each, and a start with much memory or PCI devices takes its time.
const haPowerPatience = 3 * time.Minute

// haPower are the states that the tasks bring about which ask the HA manager for a
// start or a stop, and end when they have asked.
var haPower = map[string]PowerState{"hastart": PowerRunning, "hastop": PowerStopped}

// awaitHA waits until HA has started or stopped a guest, on whatever node, or has
// failed or let too much time go by. Of another task it asks nothing.
func (c *Client) awaitHA(ctx context.Context, guest Guest, upid UPID, o PowerOptions) error {
	want, asked := haPower[upid.Type]
	if !asked {
		return nil
	}
	since, patience := c.clock.Now(), haPowerPatience+o.ShutdownTimeout
	for {
		status, err := c.statusAnywhere(ctx, guest)
		switch {
		case err != nil && !passes(err):
			return err
		case err != nil || status.Status == "":
		case status.Running() == (want == PowerRunning):
			return nil
		case status.HA.State == HAError:
			return fmt.Errorf("the HA manager failed to have %s %s: it is in HA's error state, which ends when its state in HA is set to disabled", guest, want)
		}
		if c.clock.Now().Sub(since) > patience {
			return fmt.Errorf("the HA manager was asked to have %s %s and has not done it after %s: see the HA status for its state and the manager's", guest, want, patience)
		}
		if err := c.clock.Sleep(ctx, fencePoll); err != nil {
			return err
		}
	}
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
