package proxmox

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// GuestConfig is the configuration of a guest, whatever its kind. Numbers are
// text, as in PVE's own file.
type GuestConfig struct {
	Kind Kind
	Node string
	VMID int
	// Current are the values in force. Read by [VMService.Config], they have
	// pending changes merged in, and Pending is empty.
	Current map[string]string
	// Pending are the values that wait for the guest's next start.
	Pending map[string]string
	// PendingDelete are the keys that go away then, sorted.
	PendingDelete []string
	// Digest identifies this state of the configuration.
	Digest string
}

func newGuestConfig(kind Kind, node string, vmid int) *GuestConfig {
	return &GuestConfig{Kind: kind, Node: node, VMID: vmid, Current: map[string]string{}, Pending: map[string]string{}}
}

func (c *GuestConfig) set(key, value string) {
	if key == "digest" {
		c.Digest = value
		return
	}
	c.Current[key] = value
}

// The slots of a VM's devices. EFI variables and TPM state are not disks of the
// guest's.
var (
	diskSlot   = regexp.MustCompile(`^(ide|sata|scsi|virtio)\d+$`)
	unusedSlot = regexp.MustCompile(`^unused\d+$`)
	mountSlot  = regexp.MustCompile(`^(rootfs|mp\d+)$`)
	nicSlot    = regexp.MustCompile(`^net\d+$`)
)

// Get is the value of a key in force, "" when it is not set.
func (c *GuestConfig) Get(key string) string { return c.Current[key] }

// Wanted is the value of a key once pending changes are in force.
func (c *GuestConfig) Wanted(key string) string {
	if value, ok := c.Pending[key]; ok {
		return value
	}
	if slices.Contains(c.PendingDelete, key) {
		return ""
	}
	return c.Current[key]
}

// Disks are the disks by slot ("scsi0"), without CD-ROMs, unused volumes and the
// machine's own state.
func (c *GuestConfig) Disks() map[string]Disk {
	return c.drives(diskSlot, func(d Disk) bool { return !d.IsCDROM() })
}

// CDROMs are the CD-ROM drives by slot, the cloud-init drive included.
func (c *GuestConfig) CDROMs() map[string]Disk { return c.drives(diskSlot, Disk.IsCDROM) }

// Mounts are a container's root volume and mount points, by slot ("rootfs", "mp0").
func (c *GuestConfig) Mounts() map[string]Mount {
	found := map[string]Mount{}
	for key, value := range c.Current {
		if mountSlot.MatchString(key) {
			found[key] = ParseMount(value)
		}
	}
	return found
}

// SizeOf is the size of the volume in a slot, nil where PVE does not say; ok tells
// whether there is one.
func (c *GuestConfig) SizeOf(slot string) (size *Size, ok bool) {
	if mount, ok := c.Mounts()[slot]; ok {
		return mount.Size, true
	}
	disk, ok := c.Disks()[slot]
	return disk.Size, ok
}

// Unused are the volumes that are attached nowhere, by "unusedN".
func (c *GuestConfig) Unused() map[string]Disk { return c.drives(unusedSlot, anyDisk) }

func anyDisk(Disk) bool { return true }

func (c *GuestConfig) drives(slots *regexp.Regexp, wanted func(Disk) bool) map[string]Disk {
	found := map[string]Disk{}
	for key, value := range c.Current {
		if !slots.MatchString(key) {
			continue
		}
		disk, err := ParseDisk(value)
		if err != nil {
			// What cannot be read is not made to vanish.
			volume, _, _ := strings.Cut(value, ",")
			disk = Disk{Volume: volume}
		}
		if wanted(disk) {
			found[key] = disk
		}
	}
	return found
}

// NICs are the network devices by slot ("net0").
func (c *GuestConfig) NICs() map[string]NIC {
	found := map[string]NIC{}
	for key, value := range c.Current {
		if !nicSlot.MatchString(key) {
			continue
		}
		nic, err := ParseNIC(value)
		if err != nil {
			nic = NIC{}
		}
		found[key] = nic
	}
	return found
}

// Description is the description as PVE has it, marker and all.
func (c *GuestConfig) Description() string { return c.Current["description"] }

// Marker is the guest's own marker, if it carries one.
func (c *GuestConfig) Marker() (Marker, bool) { return ParseMarker(c.Description(), c.VMID) }

// Name is the guest's name: a container's is its host name.
func (c *GuestConfig) Name() string {
	if c.Kind == KindContainer {
		return c.Current["hostname"]
	}
	return c.Current["name"]
}

// Lock is the operation that holds the guest ("clone", "backup"), "" for none.
func (c *GuestConfig) Lock() string { return c.Current["lock"] }

// Template reports whether it is a template.
func (c *GuestConfig) Template() bool {
	template, _ := parseBool(c.Current["template"])
	return template
}

// BootDisk is the slot of the first disk in the boot order, never a CD-ROM or a
// network device. Where neither "boot" nor the old "bootdisk" names one, a disk
// that is the only one is meant.
func (c *GuestConfig) BootDisk() (slot string, ok bool) {
	disks := c.Disks()
	for _, slot := range c.bootOrder() {
		if _, ok := disks[slot]; ok {
			return slot, true
		}
	}
	if _, ok := disks[c.Current["bootdisk"]]; ok {
		return c.Current["bootdisk"], true
	}
	if len(disks) == 1 {
		for slot := range disks {
			return slot, true
		}
	}
	return "", false
}

// bootOrder are the devices of "boot: order=scsi0;ide2;net0". The old form,
// letters such as "cdn", names none.
func (c *GuestConfig) bootOrder() []string {
	props, err := ParseProps(c.Current["boot"])
	if err != nil {
		return nil
	}
	order, _ := props.Get("order")
	return strings.FieldsFunc(order, func(r rune) bool { return strings.ContainsRune(";, \t\x00", r) })
}

// SMBIOSUUID is the machine's UUID, "" when there is none.
func (c *GuestConfig) SMBIOSUUID() string {
	var smbios SMBIOS1
	if UnmarshalProps(c.Current["smbios1"], &smbios) != nil {
		return ""
	}
	return smbios.UUID
}

// MACs are the addresses of a container's network interfaces by slot, "" of a VM
// and where there are none. PVE makes them up, and a clone gets others, so that
// they tell containers apart.
func (c *GuestConfig) MACs() string {
	if c.Kind != KindContainer {
		return ""
	}
	var found []string
	for _, slot := range slices.Sorted(maps.Keys(c.Current)) {
		if !nicSlot.MatchString(slot) {
			continue
		}
		if props, err := ParseProps(c.Current[slot]); err == nil {
			mac, _ := props.Get("hwaddr")
			found = append(found, slot+"="+strings.ToUpper(mac))
		}
	}
	return strings.Join(found, ",")
}

// CTime is when PVE made the guest, seconds since 1970; 0 when it does not say.
// A clone keeps the time of its template.
func (c *GuestConfig) CTime() int64 {
	var meta Meta
	if UnmarshalProps(c.Current["meta"], &meta) != nil {
		return 0
	}
	return meta.CTime
}

// PendingKeys are the keys that wait for the next start, sorted.
func (c *GuestConfig) PendingKeys() []string {
	keys := slices.AppendSeq(slices.Clone(c.PendingDelete), maps.Keys(c.Pending))
	slices.Sort(keys)
	return slices.Compact(keys)
}
