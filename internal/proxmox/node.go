package proxmox

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// NodeService reads nodes.
type NodeService struct{ c *Client }

// Node is an entry of the node list.
type Node struct {
	Node string `json:"node"`
	// Status is "online", "offline" or "unknown".
	Status string `json:"status"`
	// SSLFingerprint is the SHA-256 fingerprint of the node's own certificate.
	SSLFingerprint string `json:"ssl_fingerprint"`
	// What follows needs Sys.Audit on the node and is 0 otherwise. CPU is the
	// share of MaxCPU in use, from 0 to 1; memory is in bytes, Uptime in
	// seconds.
	CPU    Float `json:"cpu"`
	MaxCPU Int   `json:"maxcpu"`
	Mem    Int   `json:"mem"`
	MaxMem Int   `json:"maxmem"`
	Uptime Int   `json:"uptime"`
}

// nodeOnline is the status of a node that is a live member of the cluster.
const nodeOnline = "online"

// Online reports whether the node is online.
func (n Node) Online() bool { return n.Status == nodeOnline }

// NodeStatus is a node's state; it needs Sys.Audit on the node. Sizes are in
// bytes, Uptime in seconds.
type NodeStatus struct {
	// PVEVersion is for instance "pve-manager/9.2.11/14a22df35955d97d".
	PVEVersion string `json:"pveversion"`
	Kernel     struct {
		Release string `json:"release"`
	} `json:"current-kernel"`
	CPU struct {
		Model string `json:"model"`
		CPUs  Int    `json:"cpus"`
	} `json:"cpuinfo"`
	Memory Space `json:"memory"`
	Uptime Int   `json:"uptime"`
}

// Space is how much of something there is, in bytes.
type Space struct {
	Total Int `json:"total"`
	Used  Int `json:"used"`
}

// Interface is a network interface of a node.
type Interface struct {
	Name string
	// Type is "bridge", "OVSBridge", "eth", "bond", "vlan", "vnet" …
	Type      string
	Active    bool
	Autostart bool
	CIDR      string
	// Ports are a bridge's ports, separated by blanks.
	Ports     string
	VLANAware bool
	Comments  string
}

// List lists the nodes.
func (s *NodeService) List(ctx context.Context) ([]Node, error) {
	var nodes []Node
	err := s.c.get(ctx, at("nodes"), nil, &nodes)
	return nodes, err
}

// Status reads a node's state.
func (s *NodeService) Status(ctx context.Context, node string) (NodeStatus, error) {
	var status NodeStatus
	err := s.c.get(ctx, at("nodes", node, "status"), nil, &status)
	return status, err
}

// Version reads the version of one node; it needs no privilege.
func (s *NodeService) Version(ctx context.Context, node string) (Version, error) {
	return s.c.version(ctx, at("nodes", node, "version"))
}

// Time reads a node's clock, to the second; it needs Sys.Audit on the node.
func (s *NodeService) Time(ctx context.Context, node string) (time.Time, error) {
	var answer struct {
		// Time is in seconds since 1970, UTC.
		Time Int `json:"time"`
	}
	if err := s.c.get(ctx, at("nodes", node, "time"), nil, &answer); err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(answer.Time), 0), nil
}

// Network lists a node's interfaces.
func (s *NodeService) Network(ctx context.Context, node string) ([]Interface, error) {
	return s.interfaces(ctx, node, nil)
}

// Bridges lists what guests on a node may be attached to: bridges, and the
// VNets of its software-defined network, as far as the token may use them.
func (s *NodeService) Bridges(ctx context.Context, node string) ([]Interface, error) {
	return s.interfaces(ctx, node, url.Values{"type": {"any_bridge"}})
}

func (s *NodeService) interfaces(ctx context.Context, node string, query url.Values) ([]Interface, error) {
	var entries []struct {
		Name      string `json:"iface"`
		Type      string `json:"type"`
		Active    Bool   `json:"active"`
		Autostart Bool   `json:"autostart"`
		CIDR      string `json:"cidr"`
		Ports     Text   `json:"bridge_ports"`
		VLANAware Bool   `json:"bridge_vlan_aware"`
		Comments  string `json:"comments"`
	}
	if err := s.c.get(ctx, at("nodes", node, "network"), query, &entries); err != nil {
		return nil, err
	}
	interfaces := make([]Interface, len(entries))
	for i, e := range entries {
		interfaces[i] = Interface{
			Name: e.Name, Type: e.Type, Active: bool(e.Active), Autostart: bool(e.Autostart), CIDR: e.CIDR,
			Ports: string(e.Ports), VLANAware: bool(e.VLANAware), Comments: strings.TrimRight(e.Comments, "\n"),
		}
	}
	return interfaces, nil
}
