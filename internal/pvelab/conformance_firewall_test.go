package pvelab

// The recorder's unrecorded steps in the topic about the firewall. What PVE
// says of its macros is its own prose.
func init() {
	unrecorded["09"] = map[int][]step{
		1:  {createGuest("vmid=110&name=c110&memory=64&scsi0=local:1")},
		85: {asRoot("DELETE", "/nodes/pve1/qemu/110", "")},
	}
	tolerances = append(tolerances, tolerate(sameType, `^GET /cluster/firewall/macros$`, `data\[\w+\]\.descr`))
}
