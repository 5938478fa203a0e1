package proxmox

import (
	"fmt"
	"regexp"
	"strings"
)

// Disk is a "scsiN", "virtioN", "sataN", "ideN", "efidisk0", "tpmstate0" or
// "unusedN" of a VM. Pointers are optional: nil means that the property string
// does not mention the key, and PVE's default holds.
type Disk struct {
	Props

	// Volume is the volume's id ("local-lvm:vm-100-disk-0"), "storage:size" for
	// a new one (size in GiB), "none" for an empty drive.
	Volume string `pve:"file,default"`
	// Size is what PVE knows the volume to hold; it is ignored on a new one.
	Size      *Size   `pve:"size"`
	Media     *string `pve:"media"`
	Format    *string `pve:"format"`
	Discard   *OnOff  `pve:"discard"`
	SSD       *bool   `pve:"ssd"`
	Backup    *bool   `pve:"backup"`
	Replicate *bool   `pve:"replicate"`
	Shared    *bool   `pve:"shared"`
	Serial    *string `pve:"serial"`
}

// ParseDisk reads a drive's property string.
func ParseDisk(s string) (Disk, error) {
	var d Disk
	err := UnmarshalProps(s, &d)
	return d, err
}

// String writes the drive's property string; a value that cannot be written, for
// a comma in it, makes it empty.
func (d Disk) String() string { return marshalled(d) }

func marshalled(v any) string {
	s, err := MarshalProps(v)
	if err != nil {
		return ""
	}
	return s
}

// IsCDROM reports whether the drive is a CD-ROM, cloud-init drives included.
func (d Disk) IsCDROM() bool { return d.Media != nil && *d.Media == "cdrom" }

// IsCloudInit reports whether the drive is the one that PVE generates for
// cloud-init.
func (d Disk) IsCloudInit() bool { return cloudInitVolume.MatchString(d.Volume) }

var cloudInitVolume = regexp.MustCompile(`[:/](vm-\d+-)?cloudinit(\.(raw|qcow2|qed|vmdk|cow|cloop|qcow))?$`)

// Storage is the storage that holds the volume, "" for an empty drive, the
// node's own and a path of the node.
func (d Disk) Storage() string {
	storage, _, found := strings.Cut(d.Volume, ":")
	if !found || strings.HasPrefix(storage, "/") {
		return ""
	}
	return storage
}

// volumeFormats are the formats that PVE names in a volume's file name.
var volumeFormats = []string{"qcow2", "vmdk", "raw"}

// VolumeFormat is the format of the volume: the one that its name ends with,
// else "raw", which is all that most block storages know.
func (d Disk) VolumeFormat() string {
	for _, format := range volumeFormats {
		if strings.HasSuffix(d.Volume, "."+format) {
			return format
		}
	}
	return "raw"
}

// NIC is a "netN" of a VM.
type NIC struct {
	Props

	// Model is "virtio", "e1000" …
	Model string `pve:"model,default,names=macaddr"`
	// MAC is what PVE writes as the value of the model ("virtio=BC:24:…").
	MAC      *string  `pve:"macaddr"`
	Bridge   *string  `pve:"bridge"`
	Tag      *int     `pve:"tag"`
	Firewall *bool    `pve:"firewall"`
	LinkDown *bool    `pve:"link_down"`
	Rate     *float64 `pve:"rate"`
}

// ParseNIC reads a network device's property string.
func ParseNIC(s string) (NIC, error) {
	var n NIC
	err := UnmarshalProps(s, &n)
	return n, err
}

// String writes the device's property string; a value that cannot be written,
// for a comma in it, makes it empty.
func (n NIC) String() string { return marshalled(n) }

// OnOff is a switch that a drive writes as "on" or "ignore".
type OnOff bool

// MarshalText writes "on" or "ignore".
func (o OnOff) MarshalText() ([]byte, error) {
	if o {
		return []byte("on"), nil
	}
	return []byte("ignore"), nil
}

// UnmarshalText reads "on" and "ignore", and PVE's spellings of a truth.
func (o *OnOff) UnmarshalText(text []byte) error {
	if string(text) == "ignore" {
		*o = false
		return nil
	}
	truth, ok := parseBool(string(text))
	if !ok {
		return fmt.Errorf("%q is neither on nor ignore", text)
	}
	*o = OnOff(truth)
	return nil
}
