package pvelab

// qemuState is what the guests' endpoints keep in the lab.
type qemuState struct {
	guests map[int]*guest
}

// guest is a VM or container.
type guest struct {
	kind string // qemu or lxc
	vmid int
	node string
}

func (l *Lab) initQemu() { l.guests = map[int]*guest{} }

func (l *Lab) routeQemu() {}
