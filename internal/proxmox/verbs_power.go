package proxmox

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoPause says that containers are neither paused nor resumed. PVE has calls for
// it, which its documentation calls experimental; the kernel's freezer, which would
// do, it keeps for backups.
var ErrNoPause = errors.New("PVE suspends containers by checkpointing them with CRIU, which it does not ship, so that the call fails; what works is to stop the container")

// Power brings a guest to the power wanted. A guest that has it is left alone.
// It returns what the gate read before the first call.
func (c *Client) Power(ctx context.Context, guest Guest, own *Owned, want PowerState, o PowerOptions) (*GuestConfig, error) {
	switch want {
	case PowerRunning:
		return c.start(ctx, guest, own, o)
	case PowerStopped:
		return c.stop(ctx, guest, own, o)
	case PowerPaused:
		if guest.kind() == KindContainer {
			return nil, ErrNoPause
		}
		return c.pause(ctx, guest, own, o)
	default:
		return nil, fmt.Errorf("no such power state: %q", want)
	}
}

// command makes one power call and waits for it, and where HA manages the guest
// until HA has done it.
func (c *Client) command(ctx context.Context, guest Guest, own *Owned, o PowerOptions,
	call func(context.Context, PowerPermission) (UPID, error),
) (*GuestConfig, error) {
	return c.perform(ctx, guest, own, func(own *Owned) error {
		upid, err := call(ctx, own)
		if err != nil {
			return err
		}
		if _, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: o.Progress}); err != nil {
			return err
		}
		return c.awaitHA(ctx, guest, upid, o)
	})
}

// start starts a guest. PVE refuses to start one that runs, paused or not; a
// paused one goes on.
func (c *Client) start(ctx context.Context, guest Guest, own *Owned, o PowerOptions) (*GuestConfig, error) {
	config, err := c.command(ctx, guest, own, o, c.of(guest.kind()).Start)
	if !IsRunning(err) {
		return config, err
	}
	if guest.kind() == KindContainer {
		return config, nil // Nothing pauses one.
	}
	status, err := c.VMs.Status(ctx, config.Node, config.VMID)
	if err != nil || !status.Paused() {
		return config, err
	}
	_, err = c.command(ctx, guest, nil, o, c.VMs.Resume)
	return config, err
}

// stop stops a guest. That a container is stopped already is an error of PVE's and
// no error here.
func (c *Client) stop(ctx context.Context, guest Guest, own *Owned, o PowerOptions) (*GuestConfig, error) {
	service := c.of(guest.kind())
	halt := service.Stop
	if o.ShutdownTimeout > 0 {
		halt = func(ctx context.Context, p PowerPermission) (UPID, error) {
			return service.Shutdown(ctx, p, ShutdownOptions{Timeout: o.ShutdownTimeout, ForceStop: o.ForceStop})
		}
	}
	config, err := c.command(ctx, guest, own, o, halt)
	if IsStopped(err) {
		err = nil
	}
	return config, err
}

func (c *Client) pause(ctx context.Context, guest Guest, own *Owned, o PowerOptions) (*GuestConfig, error) {
	if own == nil {
		var err error
		if own, err = c.Gate.Own(ctx, guest); err != nil {
			return nil, err
		}
	}
	config := own.Config()
	status, err := c.VMs.Status(ctx, own.Node(), own.VMID())
	if err != nil || status.Paused() {
		return config, err
	}
	if !status.Running() {
		if _, err := c.start(ctx, guest, own, o); err != nil {
			return config, err
		}
	}
	_, err = c.command(ctx, guest, nil, o, c.VMs.Suspend)
	return config, err
}
