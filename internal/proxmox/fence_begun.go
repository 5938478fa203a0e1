package proxmox

import (
	"context"
	"slices"
	"time"
)

// begunTimeout is how long is looked for what a failed fence has stopped.
const begunTimeout = 30 * time.Second

// begun adds to the error of a fence what is stopped by now. It looks even when
// the context has ended, which may be why the fence failed.
func (c *Client) begun(ctx context.Context, f Fence, before FenceBefore, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), begunTimeout)
	defer cancel()
	e := &FenceBegunError{Err: err}
	e.Taken, e.Unread = c.taken(ctx, f, before)
	return e
}

// taken names what a fence has stopped, or taken down, by now.
func (c *Client) taken(ctx context.Context, f Fence, before FenceBefore) ([]string, error) {
	switch {
	case f.Action.OfNode():
		return c.takenGuests(ctx, f, before)
	case f.Action == FenceLinkDown:
		return c.takenLinks(ctx, f, before)
	}
	status, err := c.VMs.Status(ctx, f.Node, f.VMID)
	if err != nil || status.Running() {
		return nil, err
	}
	return []string{f.guest().String()}, nil
}

func (c *Client) takenGuests(ctx context.Context, f Fence, before FenceBefore) (taken []string, err error) {
	guests, err := c.nodeGuests(ctx, f.Node)
	for _, g := range guests {
		ran := slices.ContainsFunc(before.Guests, func(b FencedGuest) bool { return b.VMID == g.VMID && b.Kind == g.kind })
		if ran && !g.Running() {
			taken = append(taken, g.String())
		}
	}
	return taken, err
}

func (c *Client) takenLinks(ctx context.Context, f Fence, before FenceBefore) (taken []string, err error) {
	config, err := c.VMs.Pending(ctx, f.Node, f.VMID)
	if err != nil {
		return nil, err
	}
	for slot, nic := range config.NICs() {
		if slices.Contains(before.LinksUp, slot) && nic.LinkDown != nil && *nic.LinkDown {
			taken = append(taken, slot)
		}
	}
	slices.Sort(taken)
	return taken, nil
}

// tellWanted tells which guests HA wants started: its manager is asked to stop
// them, and keeps them so.
func (f Fence) tellWanted(before FenceBefore) {
	for _, g := range before.WantedByHA() {
		f.tell("HA wants %s started, and is asked to stop it", g)
	}
}
