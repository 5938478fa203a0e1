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
	tell := func(line string) {
		if p.Progress != nil {
			p.Progress(line)
		}
	}
	tell(fmt.Sprintf("%s %s", p.Verb, guest))
	if err := c.obeyOwn(ctx, guest, nil, p); err != nil {
		return err
	}
	if status, err = c.awaitPower(ctx, guest, p, guest.String()); err != nil {
		return err
	}
	tell(fmt.Sprintf("container %d is %s", p.VMID, status.Status))
	return nil
}
