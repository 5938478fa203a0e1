package proxmox

import (
	"context"
	"fmt"
)

// order is the making of one guest, of whatever kind and by whatever call.
type order struct {
	kind Kind
	// node is where the guest is to be, taskNode where the task runs that makes it.
	node, taskNode string
	// storages are those that the task writes to.
	storages               []string
	name, description, uid string
	// source and rests are the marker's.
	source string
	rests  bool
	// vmid is 0 to allocate one.
	vmid     int
	progress func(line string)
	// what says what is made from what: clone template 9000.
	what string
	// capability is what the token needs, scope the objects that it needs it on.
	capability string
	scope      Scope
	// call asks PVE to make the guest, the marker in its description.
	call func(ctx context.Context, vmid int, description string) (UPID, error)
}

func (o order) say(format string, args ...any) {
	if o.progress != nil {
		o.progress(fmt.Sprintf(format, args...))
	}
}

// checkOrder refuses, before any call, an id or a description that cannot be.
func (c *Client) checkOrder(o order) error {
	bounds := c.options.VMIDRange
	switch {
	case !bounds.Configured():
		return ErrNoRange
	case o.vmid != 0 && !bounds.Contains(o.vmid):
		return c.Gate.checkRange(Guest{Kind: o.kind, VMID: o.vmid, UID: o.uid})
	}
	// The longest id, so that a description that fits here fits every id.
	_, err := JoinDescription(o.description, o.marker(bounds.Last))
	return err
}

// marker is the one that the guest has under an id until it is finished.
func (o order) marker(vmid int) Marker {
	return Marker{UID: o.uid, VMID: vmid, Creating: true, Source: o.source, Rests: o.rests}
}

// carryOut makes what is ordered.
func (c *Client) carryOut(ctx context.Context, o order) (Created, error) {
	if err := c.checkOrder(o); err != nil {
		return Created{}, err
	}
	seen, warnings, err := c.settle(ctx, o)
	if err != nil {
		return Created{}, err
	}
	release, err := c.limits.hold(ctx, o.taskNode, o.storages...)
	if err != nil {
		return Created{}, err
	}
	defer release()
	k := &making{c: c, order: o, found: seen.census, warnings: warnings}
	return k.run(ctx)
}
