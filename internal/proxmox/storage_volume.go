package proxmox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// SplitVolID splits a volume's id: "seeds:iso/x.iso" is "iso/x.iso" on the
// storage "seeds".
func SplitVolID(volid string) (storage, name string, err error) {
	storage, name, found := strings.Cut(volid, ":")
	if !found || storage == "" || name == "" || strings.Contains(storage, "/") {
		return "", "", fmt.Errorf("%q is no volume id such as seeds:iso/x.iso", volid)
	}
	return storage, name, nil
}

// Volume finds a volume in the content list of its storage, as the node sees
// it.
func (s *StorageService) Volume(ctx context.Context, node, volid string) (Volume, bool, error) {
	storage, name, err := SplitVolID(volid)
	if err != nil {
		return Volume{}, false, err
	}
	content, _, isFile := strings.Cut(name, "/")
	if !isFile || !slices.Contains([]string{"iso", "vztmpl", "import", "backup", "snippets"}, content) {
		content = ""
	}
	volumes, err := s.Content(ctx, node, storage, content)
	if err != nil {
		return Volume{}, false, err
	}
	i := slices.IndexFunc(volumes, func(v Volume) bool { return v.VolID == volid })
	if i < 0 {
		return Volume{}, false, nil
	}
	return volumes[i], true, nil
}

// Delete removes a file from a storage and waits until it is gone. One that is
// gone already is a success, for PVE too. It needs Datastore.Allocate on the
// storage. Disks of guests are refused: they go with the gate's permission.
func (s *StorageService) Delete(ctx context.Context, node, volid string) error {
	storage, name, err := SplitVolID(volid)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(name, "iso/") {
		return fmt.Errorf("%s is no ISO image: only these are deleted by name", volid)
	}
	defer s.c.View.dropImages(storage)
	for attempt := 0; ; attempt++ {
		err := s.remove(ctx, node, storage, volid)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return err
		}
		if stopped := s.c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
		// Deleting what is gone succeeds, so that a lost answer is resolved by
		// asking again: the name is never given to another file.
	}
}

func (s *StorageService) remove(ctx context.Context, node, storage, volid string) error {
	upid, err := s.c.startTask(ctx, http.MethodDelete, at("nodes", node, "storage", storage, "content", volid), nil)
	if err != nil {
		return err
	}
	_, err = s.c.Tasks.Wait(ctx, upid, WaitOptions{})
	return err
}

// VolumeUser is a VM that names a volume in its configuration.
type VolumeUser struct {
	VMID int
	Name string
	Node string
	// Slot is the drive that holds it.
	Slot string
	// UID is what the VM's marker says, "" where it is nobody's.
	UID string
	// Running is whether the VM ran when the cluster last said so.
	Running bool
}

func (u VolumeUser) String() string {
	state := "stopped"
	if u.Running {
		state = "running"
	}
	return fmt.Sprintf("%s (%s, at %s)", nameGuest(KindVM, u.VMID, u.Name, u.Node), state, u.Slot)
}

// VolumeUsers lists the VMs that name a volume, in force or pending, sorted. A
// volume of a storage that is not shared is used on its node alone. Guests that
// the token may not read are left out; a VM on a node that cannot be asked may
// use the volume, so that it is an error. Nothing comes from the view: what
// nobody uses may be deleted.
func (s *StorageService) VolumeUsers(ctx context.Context, node string, shared bool, volid string) ([]VolumeUser, error) {
	guests, err := s.c.Cluster.Resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	var users []VolumeUser
	for _, guest := range guests {
		if guest.Type != string(KindVM) || !shared && guest.Node != node {
			continue
		}
		config, err := s.c.VMs.Pending(ctx, guest.Node, guest.VMID)
		switch {
		case IsPermission(err) || IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("%s may use %s: %w", nameGuest(KindVM, guest.VMID, guest.Name, guest.Node), volid, err)
		}
		if slot := config.SlotOf(volid); slot != "" {
			marker, _ := config.Marker()
			users = append(users, VolumeUser{
				VMID: guest.VMID, Name: guest.Name, Node: guest.Node, Slot: slot, UID: marker.UID, Running: guest.Status == "running",
			})
		}
	}
	slices.SortFunc(users, func(a, b VolumeUser) int { return a.VMID - b.VMID })
	return users, nil
}

// SlotOf is the drive that holds a volume, in force or pending; "" for none.
func (c *GuestConfig) SlotOf(volid string) string {
	for _, values := range []map[string]string{c.Current, c.Pending} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !diskSlot.MatchString(key) {
				continue
			}
			if volume, _, _ := strings.Cut(values[key], ","); volume == volid || volume == "file="+volid {
				return key
			}
		}
	}
	return ""
}

// Eject takes a volume out of the CD-ROM drive of one of our own guests; the
// drive stays, empty. A guest without our marker is refused by the gate. Where
// the guest runs and its system holds the drive, PVE leaves the change pending
// or fails: then the volume is still in use.
func (c *Client) Eject(ctx context.Context, user VolumeUser, volid string) error {
	guest := Guest{Kind: KindVM, VMID: user.VMID, Node: user.Node, UID: user.UID}
	_, err := c.Configure(ctx, guest, nil, func(config *GuestConfig) (ConfigUpdate, error) {
		update := ConfigUpdate{Set: map[string]string{}}
		for slot, drive := range config.CDROMs() {
			if drive.Volume == volid {
				update.Set[slot] = "none,media=cdrom"
			}
		}
		return update, nil
	})
	return err
}

// Images lists the ISO images of a storage as a node sees them.
func (v *View) Images(ctx context.Context, node, storage string) ([]Volume, error) {
	key := viewKey{what: "images", node: node, id: storage}
	return shared(ctx, v, key, func(ctx context.Context) ([]Volume, error) {
		return v.c.Storage.Content(ctx, node, storage, "iso")
	})
}

// dropImages forgets the images of a storage, which may be shared by all nodes.
func (v *View) dropImages(storage string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.entries {
		if key.what == "images" && key.id == storage {
			delete(v.entries, key)
		}
	}
}
