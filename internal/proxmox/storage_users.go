package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// VolumeUser is a VM that names a volume in its configuration.
type VolumeUser struct {
	VMID int
	Name string
	Node string
	// Slot is the drive that holds it.
	Slot string
	// UID is what the VM's marker says, "" where it is nobody's.
	UID string
}

func (u VolumeUser) String() string {
	return fmt.Sprintf("%s (at %s)", nameGuest(KindVM, u.VMID, u.Name, u.Node), u.Slot)
}

// UnaskedError says that VMs may use a volume: they are on a node that cannot be
// asked.
type UnaskedError struct{ Err error }

func (e *UnaskedError) Error() string { return e.Err.Error() }

// Unwrap returns how each of them was not to be asked.
func (e *UnaskedError) Unwrap() error { return e.Err }

// IsUnasked reports whether all that is wrong is that some VMs could not be asked.
func IsUnasked(err error) bool {
	var unasked *UnaskedError
	return errors.As(err, &unasked)
}

// drivesLife is how long a VM's word that it does not name a volume is good for
// that volume to be deleted.
const drivesLife = 5 * time.Second

// VolumeUsers lists the VMs that name a volume, in force or pending, sorted. A
// volume of a storage that is not shared is used on its node alone. Guests that
// the token may not read are left out. Where VMs could not be asked the error is
// an [*UnaskedError], beside the users that were found.
//
// What nobody uses may be deleted, so that the list of guests is always read,
// and a VM's configuration is at most five seconds old: those who delete many
// volumes at once read each VM once. One that names the volume, or whose lock
// says that it is being changed, is asked again, and our own changes are seen at
// once.
func (s *StorageService) VolumeUsers(ctx context.Context, node string, shared bool, volid string) ([]VolumeUser, error) {
	guests, err := s.c.Cluster.Resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	census := &volumeCensus{c: s.c, volid: volid}
	slots := make(chan struct{}, findLimit)
	var all sync.WaitGroup
	for _, guest := range guests {
		if guest.Type != string(KindVM) || !shared && guest.Node != node {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			census.ask(ctx, guest)
		})
	}
	all.Wait()
	return census.result()
}

// volumeCensus asks VMs whether they name a volume.
type volumeCensus struct {
	c     *Client
	volid string

	mu            sync.Mutex
	users         []VolumeUser
	unasked, errs []error
}

func (v *volumeCensus) ask(ctx context.Context, guest Resource) {
	config, err := v.c.View.drives(ctx, guest.Node, guest.VMID)
	if err == nil && config != nil && (config.Lock() != "" || config.SlotOf(v.volid) != "") {
		config, err = v.c.readDrives(ctx, guest.Node, guest.VMID)
	}
	if IsNotFound(err) {
		config, err = v.c.configElsewhere(ctx, guest)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%s may use %s: %w", nameGuest(KindVM, guest.VMID, guest.Name, guest.Node), v.volid, err)
	}
	switch {
	case IsUnavailable(err), hasStanding(err, Unreachable):
		v.unasked = append(v.unasked, err)
	case err != nil:
		v.errs = append(v.errs, err)
	case config == nil:
	case config.SlotOf(v.volid) != "":
		marker, _ := config.Marker()
		v.users = append(v.users, VolumeUser{
			VMID: guest.VMID, Name: guest.Name, Node: config.Node, Slot: config.SlotOf(v.volid), UID: marker.UID,
		})
	}
}

func (v *volumeCensus) result() ([]VolumeUser, error) {
	slices.SortFunc(v.users, func(a, b VolumeUser) int { return a.VMID - b.VMID })
	if err := errors.Join(v.errs...); err != nil {
		return nil, err
	}
	if err := errors.Join(v.unasked...); err != nil {
		return v.users, &UnaskedError{err}
	}
	return v.users, nil
}

// drives is a VM's configuration as it was at most five seconds ago; nil where the
// token may not read it. That there is no such VM is an error, which is not kept:
// another one may get the id.
func (v *View) drives(ctx context.Context, node string, vmid int) (*GuestConfig, error) {
	return shared(ctx, v, drivesKey(node, vmid), func(ctx context.Context) (*GuestConfig, error) {
		return v.c.readDrives(ctx, node, vmid)
	})
}

func drivesKey(node string, vmid int) viewKey {
	return viewKey{what: "drives", node: node, id: strconv.Itoa(vmid), life: drivesLife}
}

func (c *Client) readDrives(ctx context.Context, node string, vmid int) (*GuestConfig, error) {
	config, err := c.VMs.Pending(ctx, node, vmid)
	if IsPermission(err) {
		return nil, nil
	}
	return config, err
}

// configElsewhere is the configuration of a guest that has left its node since the
// list was read, as one does that migrates; nil where it is gone, or the token may
// not read it.
func (c *Client) configElsewhere(ctx context.Context, guest Resource) (*GuestConfig, error) {
	where := Guest{Kind: Kind(guest.Type), VMID: guest.VMID}
	s, err := c.Gate.look(ctx, where)
	if err == nil && s.standing == Unreachable {
		err = c.Gate.refuse(where, s)
	}
	return s.config, err
}

// SlotOf is the drive that holds a volume, in force or pending; "" for none.
func (c *GuestConfig) SlotOf(volid string) string {
	for _, values := range []map[string]string{c.Current, c.Pending} {
		if slots := slotsOf(values, volid); len(slots) > 0 {
			return slots[0]
		}
	}
	return ""
}

func slotsOf(values map[string]string, volid string) []string {
	var slots []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !diskSlot.MatchString(key) {
			continue
		}
		if volume, _, _ := strings.Cut(values[key], ","); volume == volid || volume == "file="+volid {
			slots = append(slots, key)
		}
	}
	return slots
}

// Eject takes a volume out of the CD-ROM drives of one of our own guests; a drive
// that has it stays, empty, and one that is to get it at the next start does not.
// A guest without our marker is refused by the gate. Where the guest runs and
// QEMU does not let go of the volume, it fails: then the volume is still in use.
func (c *Client) Eject(ctx context.Context, user VolumeUser, volid string) error {
	guest := Guest{Kind: KindVM, VMID: user.VMID, Node: user.Node, UID: user.UID}
	_, err := c.Configure(ctx, guest, nil, func(config *GuestConfig) (ConfigUpdate, error) {
		update := ConfigUpdate{Set: map[string]string{}, Revert: slotsOf(config.Pending, volid)}
		for _, slot := range slotsOf(config.Current, volid) {
			update.Set[slot] = "none,media=cdrom"
		}
		update.Revert = slices.DeleteFunc(update.Revert, func(slot string) bool { return update.Set[slot] != "" })
		return update, nil
	})
	return err
}
