package proxmox

import "strings"

// Mount is the "rootfs" or an "mpN" of a container. Pointers are optional: nil
// means that the property string does not mention the key.
type Mount struct {
	Props

	// Volume is the volume's id, "storage:size" for a new one (size in GiB), a
	// folder of the node (a bind mount) or a device of the node.
	Volume string `pve:"volume,default"`
	// Path is where it is mounted; a root volume has none.
	Path *string `pve:"mp"`
	// Size is what PVE knows the volume to hold.
	Size   *Size `pve:"size"`
	Backup *bool `pve:"backup"`
}

// ParseMount reads a mount point's property string. Of what cannot be read there
// is the volume at least.
func ParseMount(s string) Mount {
	var m Mount
	if UnmarshalProps(s, &m) != nil {
		volume, _, _ := strings.Cut(s, ",")
		return Mount{Volume: volume}
	}
	return m
}

// IsVolume reports whether it is a volume of a storage: neither a bind mount nor a
// device.
func (m Mount) IsVolume() bool { return !strings.HasPrefix(m.Volume, "/") }

// Storage is the storage that holds the volume, "" of what is none.
func (m Mount) Storage() string {
	storage, _, _ := strings.Cut(m.Volume, ":")
	if !m.IsVolume() {
		return ""
	}
	return storage
}
