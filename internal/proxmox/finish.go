package proxmox

import "context"

// Completion permits the write that ends a creation: "creating" goes from the
// marker, and nothing else changes. It is granted together with the start of
// the guest, on one read of the gate, and is the only permission that outlives
// another call: PVE does not change a configuration when it starts a guest, and
// the write carries that read's digest.
type Completion struct{ own *Owned }

// Config is the configuration that the gate read before the start.
func (c *Completion) Config() *GuestConfig { return c.own.Config() }

// StartNew starts a guest whose creation comes to its end with
// [Client.Complete]. One that runs already is left alone, and one that is
// paused goes on.
func (c *Client) StartNew(ctx context.Context, guest Guest, own *Owned, o PowerOptions) (*Completion, error) {
	config, err := c.start(ctx, guest, own, o)
	if err != nil {
		return nil, err
	}
	return &Completion{own: permit(config)}, nil
}

// Complete ends a creation: it has to be the last call of all. Until then a run
// that was killed leaves a guest that names itself as unfinished. Without a
// completion, or when somebody has changed the configuration since, the gate is
// asked anew. It returns what the gate read before.
func (c *Client) Complete(ctx context.Context, guest Guest, completion *Completion) (*GuestConfig, error) {
	var own *Owned
	if completion != nil {
		own = completion.own
	}
	return c.perform(ctx, guest, own, func(own *Owned) error {
		config := own.Config()
		if marker, _ := config.Marker(); !marker.Creating {
			return nil // The answer to an earlier try was lost.
		}
		description, err := JoinDescription(SplitDescription(config.Description()), Marker{UID: guest.UID, VMID: guest.VMID})
		if err != nil {
			return err
		}
		return c.of(guest.kind()).Update(ctx, own, ConfigUpdate{Set: map[string]string{"description": description}})
	})
}
