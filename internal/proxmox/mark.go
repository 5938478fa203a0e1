package proxmox

import (
	"context"
	"errors"
	"fmt"
)

// Mark writes our marker into the description of a guest that lacks it: one that
// was ours and lost it, or one that is adopted. The guest is known by its smbios1
// UUID and its creation time ([Damaged]), and its id is in the client's range;
// nothing else is marked, and a guest that carries the marker already is left
// alone. This is the one change of a guest without a marker.
func (c *Client) Mark(ctx context.Context, guest Guest) error {
	for attempt := 0; ; attempt++ {
		own, err := c.Gate.unmarked(ctx, guest)
		if err != nil || own == nil {
			return err
		}
		description, err := JoinDescription(SplitDescription(own.Config().Description()), Marker{UID: guest.UID, VMID: guest.VMID})
		if err != nil {
			return err
		}
		err = c.of(guest.kind()).Update(ctx, own, ConfigUpdate{Set: map[string]string{"description": description}})
		if err == nil || !mayPass(err) && !IsDigestMismatch(err) {
			return err
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

// errTemplate says that a template is not to be adopted.
var errTemplate = errors.New("it is a template, not a machine")

// unmarked permits the write of the marker into a guest without one; nil where
// it has ours.
func (g *Gate) unmarked(ctx context.Context, guest Guest) (*Owned, error) {
	if err := g.checkRange(guest); err != nil {
		return nil, err
	}
	s, err := g.look(ctx, guest)
	switch {
	case err != nil:
		return nil, err
	case s.standing == Ours:
		return nil, nil
	case s.standing != Damaged:
		return nil, g.refuse(guest, s)
	case s.config.Template():
		return nil, errTemplate
	}
	return permit(s.config), nil
}
