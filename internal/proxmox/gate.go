package proxmox

import "errors"

// Kind is the kind of a guest.
type Kind string

// The kinds of guests, as PVE's paths name them.
const (
	KindVM        Kind = "qemu"
	KindContainer Kind = "lxc"
)

// Permissions of the gate that are refused before any call.
var (
	ErrNoPermission    = errors.New("no permission of the ownership gate was given")
	ErrPermissionSpent = errors.New("the permission of the ownership gate was used before")
)

// grant is what one permission lets one call do.
type grant struct {
	node   string
	vmid   int
	digest string
}

// PowerPermission permits one power operation.
type PowerPermission interface{ spend() (grant, error) }

// Owned permits one mutation of one guest.
type Owned struct{}

func (o *Owned) spend() (grant, error) { return grant{}, ErrNoPermission }

// Gate grants permissions.
type Gate struct{}

// Allocator allocates guest ids.
type Allocator struct{}

// Marker is a guest's marker.
type Marker struct {
	UID      string
	VMID     int
	Creating bool
}

// ParseMarker finds the marker in a description.
func ParseMarker(description string, vmid int) (Marker, bool) { return Marker{}, false }
