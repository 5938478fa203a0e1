package proxmox

// Agent is the "agent" key of a VM.
type Agent struct {
	Props

	Enabled bool    `pve:"enabled,default"`
	Type    *string `pve:"type"`
}

// CPU is the "cpu" key of a VM.
type CPU struct {
	Props

	Type   string  `pve:"cputype,default"`
	Flags  *string `pve:"flags"`
	Hidden *bool   `pve:"hidden"`
}

// IPConfig is an "ipconfigN" of a VM's cloud-init. IPv4 is an address with its
// prefix length or "dhcp"; IPv6 knows "auto" too.
type IPConfig struct {
	Props

	IPv4     *string `pve:"ip"`
	Gateway4 *string `pve:"gw"`
	IPv6     *string `pve:"ip6"`
	Gateway6 *string `pve:"gw6"`
}

// Startup is the "startup" key: the order at the node's boot, and the delays in
// seconds after start and stop.
type Startup struct {
	Props

	Order *int `pve:"order,default"`
	Up    *int `pve:"up"`
	Down  *int `pve:"down"`
}

// SMBIOS1 is the "smbios1" key. PVE gives every VM, clones too, a UUID of its
// own.
type SMBIOS1 struct {
	Props

	UUID string `pve:"uuid"`
}

// Meta is the "meta" key, which PVE writes when a VM is made.
type Meta struct {
	Props

	// CTime is the creation time, seconds since 1970.
	CTime        int64  `pve:"ctime"`
	CreationQEMU string `pve:"creation-qemu"`
}

// Memory is the "memory" key of a VM, in MiB.
type Memory struct {
	Props

	Current int64 `pve:"current,default"`
}
