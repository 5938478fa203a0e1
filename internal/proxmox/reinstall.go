package proxmox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PVE has no call that rebuilds a container's root volume: "force" overwrites
// nothing, a template is no backup, and the root volume cannot be handed to
// another container. So the volumes that are kept move to a second container, the
// holder; the container is destroyed and made anew under its id; and the volumes
// move back.
//
// At every step each kept volume is named by the configuration of a container that
// is ours, and that says why it has it: the holder's description names the
// container. What is left to do shows in the two containers alone, so that the
// next run goes on where one was killed. This is what they say:
//
//	container                        holder    what is next
//	finished, or made from another   –         make the holder
//	finished, or made from another   there     move what is kept out, destroy the container
//	gone                             there     make the container
//	unfinished, from this source     there     move what is kept back, destroy the holder
//	unfinished, from this source     –         nothing: configure it, start it, complete it

// ReinstallSpec asks to rebuild a container.
type ReinstallSpec struct {
	Guest Guest
	// Keep are the mount points whose volumes stay ("mp0").
	Keep []string
	// New is the container to make. Its id, uid and node are the guest's, and its
	// settings do not name the mount points that are kept.
	New ContainerSpec
	// Ran says that the container is known to have run, whatever it does now.
	Ran bool
	// Check is asked right before the container is destroyed, with what is left in
	// it, and refuses by its error. It may be nil.
	Check func(*GuestConfig) error
	// Power is how to stop the container.
	Power PowerOptions
}

// Reinstall rebuilds a container from a template and brings the volumes that are
// kept back into it. Its marker says "creating" until the caller's last write, and
// whether the container is to rest since it did not run. What an earlier run began
// is finished; it may be repeated after any error.
func (c *Client) Reinstall(ctx context.Context, spec ReinstallSpec) (Created, error) {
	spec.New.VMID, spec.New.UID = spec.Guest.VMID, spec.Guest.UID
	r := &reinstallation{c: c, spec: spec, guest: spec.Guest, wasRunning: spec.Ran}
	err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("reinstall %s: %w", r.guest, err)
	}
	return r.created, err
}

type reinstallation struct {
	c    *Client
	spec ReinstallSpec
	// guest is the container, holder the other one; its vmid is 0 where there is none.
	guest, holder Guest
	created       Created
	// wasRunning tells whether the container ran when the reinstallation began.
	wasRunning bool
}

func (r *reinstallation) run(ctx context.Context) error {
	// The container that is being made is not the one that was seen before.
	r.guest.MACs = ""
	r.created.Guest = r.guest
	if err := r.findHolder(ctx); err != nil {
		return err
	}
	err := r.goOn(ctx)
	// A killed run may have left PVE destroying the container, which is there, and
	// ours, until the moment when it is not.
	if r.holder.VMID != 0 && r.isGone(err) {
		err = r.goOn(ctx)
	}
	return err
}

// isGone reports whether an error says that the container is no more.
func (r *reinstallation) isGone(err error) bool {
	var refused *OwnershipError
	return IsNotFound(err) || errors.As(err, &refused) && refused.VMID == r.guest.VMID && refused.Standing == Gone
}

// goOn does what is left to do, by what the two containers say.
func (r *reinstallation) goOn(ctx context.Context) error {
	s, err := r.c.settled(ctx, r.guest, r.guest.Node)
	if err != nil {
		return err
	}
	if s.standing != Gone && s.node != "" {
		r.guest.Node = s.node
	}
	switch {
	case s.standing == Unfinished && r.isNew(s.config):
		return r.moveBack(ctx)
	case s.standing.Owned():
		return r.replace(ctx, s.config)
	case s.standing == Gone && r.holder.VMID == 0:
		return r.c.Gate.refuse(r.guest, s)
	case s.standing == Gone:
		return r.build(ctx)
	case unsettled(s):
		return &AbandonedError{Kind: KindContainer, VMID: r.guest.VMID, Node: s.node, Err: r.c.Gate.refuse(r.guest, s)}
	}
	return r.c.Gate.refuse(r.guest, s)
}

// isNew reports whether the container was made from what is wanted now.
func (r *reinstallation) isNew(config *GuestConfig) bool {
	marker, _ := config.Marker()
	return marker.Creating && marker.Source == r.spec.New.Source && r.spec.New.Source != ""
}

// replace takes what is kept out of the container and destroys it.
func (r *reinstallation) replace(ctx context.Context, config *GuestConfig) error {
	if config.protected() {
		return ErrProtected
	}
	if err := r.demandKept(ctx, config); err != nil {
		return err
	}
	status, err := r.c.Containers.Status(ctx, r.guest.Node, r.guest.VMID)
	if err != nil {
		return err
	}
	marker, _ := config.Marker()
	toRun := marker.Creating && !marker.Rests // It was not started yet.
	r.wasRunning = r.wasRunning || status.Running() || toRun
	if len(r.spec.Keep) > 0 && r.holder.VMID == 0 {
		if err := r.makeHolder(ctx); err != nil {
			return err
		}
	}
	if _, err := r.c.stop(ctx, r.guest, nil, r.spec.Power); err != nil {
		return fmt.Errorf("stop it: %w", err)
	}
	for _, slot := range r.spec.Keep {
		if err := r.move(ctx, r.guest, r.holder, slot); err != nil {
			return err
		}
	}
	destroyed, err := r.c.Destroy(ctx, r.guest, DestroyOptions{
		ShutdownTimeout: r.spec.Power.ShutdownTimeout, ForceStop: r.spec.Power.ForceStop,
		Check: r.mayDestroy, Progress: r.spec.New.Progress,
	})
	r.created.Warnings = append(r.created.Warnings, destroyed.Warnings...)
	if err != nil {
		return err
	}
	if destroyed.Stranger != nil {
		return destroyed.Stranger
	}
	return r.build(ctx)
}

// mayDestroy refuses to destroy a container that still holds what is kept.
func (r *reinstallation) mayDestroy(config *GuestConfig) error {
	for _, slot := range r.spec.Keep {
		if config.Get(slot) != "" || config.Pending[slot] != "" {
			return fmt.Errorf("%s is to be kept and is still in it", slot)
		}
	}
	if r.spec.Check == nil {
		return nil
	}
	return r.spec.Check(config)
}

// KeptLostError is a volume that a reinstallation is to keep and that is in neither
// container: somebody destroyed the one that had it, or took it out.
type KeptLostError struct {
	// Slot is the mount point, such as mp0.
	Slot string
}

func (e *KeptLostError) Error() string {
	return e.Slot + " is to be kept, but neither it nor the container that holds its volumes has it"
}

// demandKept refuses to begin, or to go on, where a volume that is to be kept is
// nowhere to be found.
func (r *reinstallation) demandKept(ctx context.Context, config *GuestConfig) error {
	held := map[string]Mount{}
	if r.holder.VMID != 0 {
		holder, err := r.c.Containers.Pending(ctx, r.holder.Node, r.holder.VMID)
		if err != nil {
			return err
		}
		held = holder.Mounts()
	}
	for _, slot := range r.spec.Keep {
		mount, here := config.Mounts()[slot]
		_, there := held[slot]
		switch {
		case !here && !there:
			return &KeptLostError{Slot: slot}
		case here && !mount.IsVolume():
			return fmt.Errorf("%s is to be kept, but it is %s, no volume", slot, mount.Volume)
		}
	}
	return nil
}

// build makes the container anew, under its id.
func (r *reinstallation) build(ctx context.Context) error {
	spec := r.spec.New
	spec.Node, spec.Rests = r.guest.Node, !r.wasRunning
	// What is kept could not come back into a protected one: the caller's last write
	// protects it.
	spec.Settings = maps.Clone(spec.Settings)
	delete(spec.Settings, "protection")
	if r.holder.VMID != 0 {
		spec.Node = r.holder.Node // The volumes are there.
		if err := r.demandHeld(ctx); err != nil {
			return err
		}
	}
	created, err := r.c.CreateContainer(ctx, spec)
	created.Warnings = append(r.created.Warnings, created.Warnings...)
	r.created = created
	r.created.Guest.VMID, r.created.Guest.UID = r.guest.VMID, r.guest.UID
	r.created.Guest.Node = cmp.Or(r.created.Guest.Node, spec.Node) // Where it failed is where it goes on.
	if err != nil {
		return err
	}
	r.guest = created.Guest
	return r.moveBack(ctx)
}

// demandHeld refuses to build while the holder lacks a volume that is to be kept.
func (r *reinstallation) demandHeld(ctx context.Context) error {
	return r.demandKept(ctx, newGuestConfig(KindContainer, r.guest.Node, r.guest.VMID))
}

// moveBack brings the kept volumes back and destroys the holder.
func (r *reinstallation) moveBack(ctx context.Context) error {
	r.created.Guest = r.guest
	if r.holder.VMID != 0 {
		r.created.Own = nil // The moves spend others.
		for _, slot := range r.spec.Keep {
			if err := r.move(ctx, r.holder, r.guest, slot); err != nil {
				return err
			}
		}
		if err := r.destroyHolder(ctx); err != nil {
			return err
		}
	}
	return nil
}

// move hands a volume over. A container that somebody has started meanwhile, or HA,
// is stopped once more.
func (r *reinstallation) move(ctx context.Context, from, to Guest, slot string) error {
	err := r.c.moveVolume(ctx, from, to, slot)
	if !IsRunning(err) {
		return err
	}
	if _, err := r.c.stop(ctx, from, nil, r.spec.Power); err != nil {
		return fmt.Errorf("stop %s: %w", from, err)
	}
	return r.c.moveVolume(ctx, from, to, slot)
}

// errHolding says that a holder is not empty.
var errHolding = errors.New("it still holds volumes")

// leftIn names the volumes that a holder has beside its own root.
func leftIn(config *GuestConfig) []string {
	slots := slices.Sorted(maps.Keys(config.Unused()))
	for _, slot := range slices.Sorted(maps.Keys(config.Mounts())) {
		if slot != "rootfs" {
			slots = append(slots, slot)
		}
	}
	return slots
}

func mustBeEmpty(config *GuestConfig) error {
	if left := leftIn(config); len(left) > 0 {
		return fmt.Errorf("%w: %s", errHolding, strings.Join(left, ", "))
	}
	return nil
}
