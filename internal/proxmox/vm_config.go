package proxmox

// VMConfig is a VM's configuration. Numbers are text, as in PVE's own file.
type VMConfig struct {
	Node string
	VMID int
	// Current are the values in force. Read by [VMService.Config], they have
	// pending changes merged in, and Pending is nil.
	Current map[string]string
	// Pending are the values that wait for the guest's next start.
	Pending map[string]string
	// PendingDelete are the keys that go away then, sorted.
	PendingDelete []string
	// Digest identifies this state of the configuration.
	Digest string
}

// Get is the value of a key in force, "" when it is not set.
func (c *VMConfig) Get(key string) string { return c.Current[key] }

// Wanted is the value of a key once pending changes are in force.
func (c *VMConfig) Wanted(key string) string { return "" }

// Disks are the disks by slot ("scsi0"), without CD-ROMs and unused volumes.
func (c *VMConfig) Disks() map[string]Disk { return nil }

// CDROMs are the CD-ROM drives by slot, the cloud-init drive included.
func (c *VMConfig) CDROMs() map[string]Disk { return nil }

// Unused are the volumes that are attached nowhere, by "unusedN".
func (c *VMConfig) Unused() map[string]Disk { return nil }

// NICs are the network devices by slot ("net0").
func (c *VMConfig) NICs() map[string]NIC { return nil }

// Description is the description as PVE has it, marker and all.
func (c *VMConfig) Description() string { return c.Current["description"] }

// Marker is the guest's own marker, if it carries one.
func (c *VMConfig) Marker() (Marker, bool) { return ParseMarker(c.Description(), c.VMID) }

// Lock is the operation that holds the guest ("clone", "backup"), "" for none.
func (c *VMConfig) Lock() string { return c.Current["lock"] }

// Template reports whether it is a template.
func (c *VMConfig) Template() bool { return false }

// BootDisk is the slot of the first disk in the boot order, never a CD-ROM or a
// network device.
func (c *VMConfig) BootDisk() (slot string, ok bool) { return "", false }

// SMBIOSUUID is the machine's UUID, "" when there is none.
func (c *VMConfig) SMBIOSUUID() string { return "" }

// CTime is when PVE made the guest, seconds since 1970; 0 when it does not say.
func (c *VMConfig) CTime() int64 { return 0 }

// PendingKeys are the keys that wait for the next start, sorted.
func (c *VMConfig) PendingKeys() []string { return nil }
