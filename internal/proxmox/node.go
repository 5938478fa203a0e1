package proxmox

import "context"

// NodeService reads nodes.
type NodeService struct{ c *Client }

// Node is an entry of the node list.
type Node struct {
	Name string
	// Status is "online", "offline" or "unknown".
	Status      string
	Fingerprint string
	MaxCPU      int
	// MaxMem and Mem are in bytes; they need Sys.Audit on the node.
	MaxMem, Mem int64
	Uptime      int64
}

// Online reports whether the node is online.
func (n Node) Online() bool { return n.Status == "online" }

// NodeStatus is a node's state; it needs Sys.Audit on the node.
type NodeStatus struct {
	PVEVersion    string
	KernelRelease string
	CPUs          int
	CPUModel      string
	// Sizes are in bytes, Uptime in seconds.
	MemoryTotal, MemoryUsed int64
	RootTotal, RootUsed     int64
	Uptime                  int64
}

// Interface is a network interface of a node.
type Interface struct {
	Name string
	// Type is "bridge", "OVSBridge", "eth", "bond", "vlan" …
	Type      string
	Active    bool
	Autostart bool
	CIDR      string
	Ports     string
	VLANAware bool
	Comments  string
}

// IsBridge reports whether guests can be attached to it.
func (i Interface) IsBridge() bool { return i.Type == "bridge" || i.Type == "OVSBridge" }

// List lists the nodes.
func (s *NodeService) List(ctx context.Context) ([]Node, error) { return nil, nil }

// Status reads a node's state.
func (s *NodeService) Status(ctx context.Context, node string) (NodeStatus, error) {
	return NodeStatus{}, nil
}

// Network lists a node's interfaces.
func (s *NodeService) Network(ctx context.Context, node string) ([]Interface, error) {
	return nil, nil
}

// Bridges lists the interfaces of a node that guests may be attached to,
// SDN VNets included, as far as the token may use them.
func (s *NodeService) Bridges(ctx context.Context, node string) ([]Interface, error) {
	return nil, nil
}
