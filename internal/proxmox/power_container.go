package proxmox

import (
	"context"
	"fmt"
)

// CommandContainer obeys a command about the power of a container of ours, and
// waits until it shows: HA takes a start or a stop as a request. PVE pauses no
// containers, and fencing reaches none of others.
func (c *Client) CommandContainer(ctx context.Context, p PowerCommand) error {
	if p.Verb == VerbPause || p.Verb == VerbResume {
		return &UnfitError{Command: string(p.Verb), Reason: ErrNoPause.Error()}
	}
	guest, err := c.Gate.Marked(ctx, KindContainer, p.VMID)
	if err != nil {
		return err
	}
	if p.UID != "" && p.UID != guest.UID {
		return &OwnershipError{
			Standing: Stranger, Kind: KindContainer, VMID: p.VMID, Node: guest.Node, UID: p.UID,
			Detail: "it carries another guest's marker, uid " + guest.UID,
		}
	}
	status, err := c.Containers.Status(ctx, guest.Node, p.VMID)
	if err != nil {
		return err
	}
	if p.Verb == VerbReboot && !status.Running() {
		return &UnfitError{Command: string(p.Verb), Reason: fmt.Sprintf("container %d does not run", p.VMID)}
	}
	if p.Progress != nil {
		p.Progress(fmt.Sprintf("%s %s", p.Verb, guest))
	}
	if err := c.obeyOwn(ctx, guest, p); err != nil {
		return err
	}
	return c.awaitContainer(ctx, guest, p)
}

// obeyOwn makes the call, with a permission of the gate's own.
func (c *Client) obeyOwn(ctx context.Context, guest Guest, p PowerCommand) error {
	o := p.PowerOptions
	var err error
	switch p.Verb {
	case VerbStop:
		o.ShutdownTimeout = 0
		_, err = c.Power(ctx, guest, nil, PowerStopped, o)
	case VerbShutdown:
		_, err = c.Power(ctx, guest, nil, PowerStopped, o)
	case VerbReboot:
		_, err = c.Reboot(ctx, guest, nil, o)
	case VerbStart, VerbPause, VerbResume:
		_, err = c.Power(ctx, guest, nil, PowerRunning, o)
	}
	return err
}

// awaitContainer looks until the container has the power that the command asked
// for.
func (c *Client) awaitContainer(ctx context.Context, guest Guest, p PowerCommand) error {
	for {
		status, err := c.Containers.Status(ctx, guest.Node, guest.VMID)
		if err != nil || p.done(status) {
			return err
		}
		if stopped := c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return fmt.Errorf("%s is %s after %s: %w", guest, status.Status, p.Verb, stopped)
		}
	}
}
