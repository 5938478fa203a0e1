package proxmox

// Link is what a network device of either kind of guest is attached to.
type Link struct {
	// MAC is in PVE's spelling; empty where the configuration names none.
	MAC      string
	Bridge   string
	LinkDown bool
}

// ParseDevice reads a guest's network device; ok is false for every other slot
// and for a value that cannot be read.
func ParseDevice(kind Kind, slot, value string) (link Link, ok bool) {
	if !nicSlot.MatchString(slot) {
		return Link{}, false
	}
	props, err := ParseProps(value)
	if err != nil {
		return Link{}, false
	}
	if kind == KindVM {
		nic, err := ParseNIC(value)
		if err != nil {
			return Link{}, false
		}
		if nic.MAC != nil {
			link.MAC = *nic.MAC
		}
	} else {
		link.MAC, _ = props.Get("hwaddr")
	}
	link.Bridge, _ = props.Get("bridge")
	down, _ := props.Get("link_down")
	link.LinkDown, _ = parseBool(down)
	return link, true
}
