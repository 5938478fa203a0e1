package proxmox

import (
	"context"
	"fmt"
)

// lookRounds bounds the search for a guest that moves while it is looked for.
const lookRounds = 4

// look reads a guest wherever it is and judges it. Nothing comes from a cache.
// An error means that nothing was learnt.
func (g *Gate) look(ctx context.Context, guest Guest) (sight, error) {
	node := guest.Node
	var missed error
	for round := range lookRounds {
		if node != "" {
			config, err := g.c.of(guest.kind()).Pending(ctx, node, guest.VMID)
			if err == nil {
				return judge(guest, config), nil
			}
			if !IsNotFound(err) && !IsPermission(err) && !IsUnavailable(err) {
				return sight{}, err
			}
			missed = err
		}
		s, next, err := g.place(ctx, guest, node, missed)
		if err != nil || s.standing != 0 {
			return s, err
		}
		if next == node {
			if err := g.c.backoff(ctx, round); err != nil {
				return sight{}, err
			}
		}
		node = next
	}
	return sight{}, fmt.Errorf("%s keeps moving while it is looked for: %w", nameGuest(guest.kind(), guest.VMID, "", node), missed)
}

// place finds out where a guest is that could not be read on node: missed says
// why, nil that it was not tried. It returns what is certain, or the node to
// look at next.
//
// /cluster/resources knows a guest's node at once (what lags are its name and
// its status), but leaves out what the token may not read, so that absence is
// proven otherwise: rights through a pool end with the guest's membership, and
// a guest deleted by hand then answers 403.
func (g *Gate) place(ctx context.Context, guest Guest, node string, missed error) (sight, string, error) {
	resource, listed, err := g.listed(ctx, guest.VMID)
	if err != nil {
		return sight{}, "", err
	}
	if listed && resource.Type != string(guest.kind()) {
		return sight{standing: Stranger, node: resource.Node, detail: "the id is a " + Kind(resource.Type).String() + "'s now"}, "", nil
	}
	if listed && (resource.Node != node || missed == nil) {
		return sight{}, resource.Node, nil
	}
	silent := sight{standing: Unreachable, node: node, detail: textOf(missed)}
	if listed && IsUnavailable(missed) {
		return silent, "", nil
	}
	free, err := g.c.Cluster.VMIDFree(ctx, guest.VMID)
	switch {
	case err != nil:
		return sight{}, "", err
	case free:
		return sight{standing: Gone}, "", nil
	case listed && IsNotFound(missed):
		return sight{}, node, nil
	case IsUnavailable(missed):
		return silent, "", nil
	default:
		return sight{standing: Unreadable, detail: textOf(missed)}, "", nil
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (g *Gate) listed(ctx context.Context, vmid int) (Resource, bool, error) {
	resources, err := g.c.Cluster.Resources(ctx, "vm")
	if err != nil {
		return Resource{}, false, err
	}
	for _, r := range resources {
		if r.VMID == vmid {
			return r, true, nil
		}
	}
	return Resource{}, false, nil
}
