package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// taskMove is the type of the task that hands a volume over. Its id names both
// containers: "20001-mp0>20000-mp0".
const taskMove = "move_volume"

// errProtectedMove says why a volume is not moved. PVE takes it out of the one
// configuration before the other one's protection refuses it, and then nobody has it.
// That neither is protected meanwhile the digests of both see to.
var errProtectedMove = errors.New("one of them is protected, and PVE would lose the volume: set protection to off first")

// misplacedError says that a volume is in both containers or in neither: by two
// reads, between which PVE may have moved it.
type misplacedError struct{ text string }

func (e *misplacedError) Error() string { return e.text }

// moveVolume hands a volume from one container to another, under the same slot. It
// is done already if only the other one has it.
func (c *Client) moveVolume(ctx context.Context, from, to Guest, slot string) error {
	idle := false
	for attempt := 0; ; attempt++ {
		err := c.tryMove(ctx, from, to, slot)
		var misplaced *misplacedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &misplaced):
			moving, lookErr := c.isMoving(ctx, from)
			if lookErr != nil {
				return fmt.Errorf("%w: %w", err, lookErr)
			}
			// A move may have ended between the two reads: only a second pair tells.
			if !moving && idle {
				return err
			}
			idle = !moving
		case !mayPass(err) && !IsDigestMismatch(err):
			return err
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

// isMoving reports whether a volume is being moved from the container or to it.
func (c *Client) isMoving(ctx context.Context, guest Guest) (bool, error) {
	running, err := c.IDs.running(ctx, guest.Node, taskMove)
	if err != nil {
		return false, err
	}
	vmid := strconv.Itoa(guest.VMID) + "-"
	return slices.ContainsFunc(running, func(upid UPID) bool {
		source, target, _ := strings.Cut(upid.ID, ">")
		return strings.HasPrefix(source, vmid) || strings.HasPrefix(target, vmid)
	}), nil
}

func (c *Client) tryMove(ctx context.Context, from, to Guest, slot string) error {
	source, err := c.Gate.Own(ctx, from)
	if err != nil {
		return err
	}
	target, err := c.Gate.Own(ctx, to)
	if err != nil {
		return err
	}
	here, there := source.Config().Get(slot), target.Config().Get(slot)
	switch {
	case here != "" && (source.Config().protected() || target.Config().protected()):
		return fmt.Errorf("move %s from %s to %s: %w", slot, from, to, errProtectedMove)
	case here == "" && there != "":
		return nil
	case here == "":
		return &misplacedError{fmt.Sprintf("%s is in neither %s nor %s", slot, from, to)}
	case there != "":
		return &misplacedError{fmt.Sprintf("%s is in %s, and %s has another volume in its place", slot, from, to)}
	}
	upid, err := c.Containers.Move(ctx, source, slot, target, slot)
	if err == nil {
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{})
	}
	if err != nil {
		return fmt.Errorf("move %s to %s: %w", slot, to, err)
	}
	return nil
}
