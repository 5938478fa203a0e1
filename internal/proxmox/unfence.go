package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Unfence brings back what a fence took: it starts the guests that ran before,
// which also sets HA's requested state to started again, and takes the links up.
// A start waits for the node to be online and quorate, as long as the context
// lives. It stops nothing. What is gone, and what has left a fenced node, is not
// brought back: left says so.
func (c *Client) Unfence(ctx context.Context, f Fence, before FenceBefore) (left []string, err error) {
	f = f.inTurn()
	if f.Action.OfNode() {
		return c.unfenceNode(ctx, f, before)
	}
	permit, err := c.permitUnfence(ctx, f, before)
	if isGone(err) {
		return []string{err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, c.unfenceGuest(ctx, f, permit, before)
}

func (c *Client) unfenceGuest(ctx context.Context, f Fence, permit fencePermit, before FenceBefore) error {
	if f.Action == FenceLinkDown {
		return c.linksUp(ctx, f, permit, before.LinksUp)
	}
	if len(before.Guests) == 0 {
		return nil
	}
	if err := c.awaitNode(ctx, f, permit.config.Node); err != nil {
		return err
	}
	f.tell("starting VM %d on %s", f.VMID, permit.config.Node)
	return c.startAgain(ctx, KindVM, func(ctx context.Context) (PowerPermission, string, error) {
		permit, err := c.permitUnfence(ctx, f, before)
		if err != nil {
			return nil, "", err
		}
		return permit, permit.config.Node, nil
	}, f.VMID)
}

// permitUnfence is permitFence, which for a start asks again as long as the VM
// is on a node that does not answer: the node may come back, or HA may recover
// the VM elsewhere.
func (c *Client) permitUnfence(ctx context.Context, f Fence, before FenceBefore) (fencePermit, error) {
	starts := f.Action == FenceStop && len(before.Guests) > 0
	for {
		permit, err := c.permitFence(ctx, f)
		if !starts || !IsUnavailable(err) && !hasStanding(err, Unreachable) {
			return permit, err
		}
		f.tell("waiting for the node of VM %d to answer", f.VMID)
		if stopped := c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return permit, fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

func isGone(err error) bool { return hasStanding(err, Gone) }

func hasStanding(err error, standing Standing) bool {
	var refused *OwnershipError
	return errors.As(err, &refused) && refused.Standing == standing
}

// linksUp takes those devices up that are still there.
func (c *Client) linksUp(ctx context.Context, f Fence, permit fencePermit, slots []string) error {
	nics := permit.config.NICs()
	slots = slices.DeleteFunc(slices.Clone(slots), func(slot string) bool {
		_, there := nics[slot]
		return !there
	})
	if len(slots) == 0 {
		return nil
	}
	f.tell("taking %v of VM %d up", slots, f.VMID)
	return c.setLinks(ctx, f, permit, slots, false)
}

// awaitNode waits until a node is online and the cluster quorate. A token that
// may not see that (Sys.Audit on /) has the start itself tell.
func (c *Client) awaitNode(ctx context.Context, f Fence, node string) error {
	for {
		status, err := c.Cluster.Status(ctx)
		switch {
		case IsPermission(err):
			return nil
		case err != nil && !IsUnavailable(err):
			return err
		case err == nil && status.Quorate && status.online(node):
			return nil
		}
		f.tell("waiting for node %s to be online and quorate", node)
		if stopped := c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return fmt.Errorf("node %s is not online, or not quorate: %w", node, stopped)
		}
	}
}

func (s ClusterStatus) online(node string) bool {
	return slices.ContainsFunc(s.Nodes, func(n ClusterNode) bool { return n.Name == node && n.Online })
}

// startAgain starts a guest and waits until it runs. A start of what HA manages is
// only a request, and is made again where the manager has let too much time go by:
// a stop that was asked of it before may have undone the first.
func (c *Client) startAgain(ctx context.Context, kind Kind, permit func(context.Context) (PowerPermission, string, error), vmid int) error {
	for attempt := 0; ; attempt++ {
		p, node, err := permit(ctx)
		if err != nil {
			return err
		}
		running, err := c.startOnce(ctx, c.of(kind), p, node, vmid)
		switch {
		case running || err != nil && !mayPass(err) && !IsNoQuorum(err) && !IsUnavailable(err):
			return err
		case err == nil:
			continue
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

// startOnce asks for a start and waits for it, for a while.
func (c *Client) startOnce(ctx context.Context, service *guestService, p PowerPermission, node string, vmid int) (running bool, err error) {
	upid, err := service.Start(ctx, p)
	if err == nil {
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{})
	}
	switch {
	case IsRunning(err):
		return true, nil
	case err != nil:
		return false, err
	}
	return c.awaitStarted(ctx, service, node, vmid)
}

// awaitStarted waits until a guest runs that was asked to start, for a while. One
// that HA manages and that runs at once may still be stopped, by what the manager
// was asked for before: it has to be running when that would have shown.
func (c *Client) awaitStarted(ctx context.Context, service *guestService, node string, vmid int) (running bool, err error) {
	asked, steady := c.clock.Now(), true
	for {
		status, err := service.Status(ctx, node, vmid)
		if err != nil {
			return false, err
		}
		passed := c.clock.Now().Sub(asked)
		doubtful := steady && bool(status.HA.Managed)
		switch {
		case status.Running() && !doubtful:
			return true, nil
		case status.Running() && passed > haSettled:
			return status.HA.State == HAStarted, nil
		case passed > haPatience:
			return false, nil
		}
		steady = steady && status.Running()
		if stopped := c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return false, fmt.Errorf("%s was started and does not run: %w", nameGuest(service.kind, vmid, "", node), stopped)
		}
	}
}
