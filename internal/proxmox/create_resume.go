package proxmox

import (
	"context"
	"errors"
	"fmt"
)

// ResumeClone goes on with a clone that [Client.CreateClone] was interrupted in:
// it waits for the task, if that was known, and for PVE to be done with the
// guest, and verifies the marker. A clone that failed meanwhile is an error, of
// the task or an [*OwnershipError] that says Gone, and then Created.Guest is
// empty. Interrupted again, it returns an [*InterruptedError] and the guest.
func (c *Client) ResumeClone(ctx context.Context, guest Guest, upid UPID) (Created, error) {
	node := guest.Node
	var warnings []string
	var failed *TaskError
	if !upid.IsZero() {
		node = upid.Node
		result, err := c.Tasks.Wait(ctx, upid, WaitOptions{})
		if ctx.Err() != nil {
			return Created{Guest: guest}, err
		}
		// A task that PVE has forgotten tells nothing; the guest does.
		errors.As(err, &failed)
		warnings = result.warnings()
	}
	s, err := c.settled(ctx, guest, node)
	if err != nil && ctx.Err() != nil {
		return Created{Guest: guest}, &InterruptedError{UPID: upid, Err: ctx.Err()}
	}
	if err != nil {
		return Created{Guest: guest}, err
	}
	left := Created{Guest: guest}
	if s.standing.Lost() {
		left = Created{}
	}
	if failed != nil {
		return left, fmt.Errorf("making of %s: %w", nameGuest(guest.kind(), guest.VMID, "", node), failed)
	}
	if s.standing.Owned() && s.config.Lock() != "" {
		return left, &LockedError{Kind: guest.kind(), VMID: guest.VMID, Node: s.node, Lock: s.config.Lock()}
	}
	own, err := c.Gate.granted(guest, s)
	if err != nil {
		return left, err
	}
	return created(guest, own, warnings), nil
}

// settled looks at a guest until PVE is done with making it, or with destroying
// it. node is where that task runs, if it does. What nobody works on is returned
// as it is.
func (c *Client) settled(ctx context.Context, guest Guest, node string) (sight, error) {
	idle := false
	for {
		s, err := c.Gate.look(ctx, guest)
		if err != nil || !unsettled(s) {
			return s, err
		}
		if s.node != "" {
			node = s.node
		}
		running, err := c.IDs.isBusy(ctx, node, guest.VMID)
		if err != nil {
			return sight{}, err
		}
		// It may have ended between the two looks: only a second one tells.
		if !running && idle {
			return s, nil
		}
		idle = !running
		if err := c.clock.Sleep(ctx, settlePause); err != nil {
			return sight{}, err
		}
	}
}

// unsettled reports whether a running task would explain what was seen. A
// token with rights through a pool may read a clone only when it is done.
func unsettled(s sight) bool {
	if s.standing.Owned() {
		return s.config.Lock() == "clone" || s.config.Lock() == "create"
	}
	return s.standing == Stub || s.standing == Unreadable
}
