package proxmox

import "context"

// ClusterService reads what concerns the whole cluster.
type ClusterService struct{ c *Client }

// Version is PVE's version.
type Version struct {
	Major, Minor, Patch int
	// Release is what PVE calls "release", for instance "9.2".
	Release string
	raw     string
}

// ParseVersion parses a version such as "9.2.11", "8.4.21" or "9.0.0~11".
func ParseVersion(s string) (Version, error) { return Version{}, nil }

// AtLeast reports whether the version is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

func (v Version) String() string { return v.raw }

// ClusterStatus is the membership of the cluster. Name is empty for a node that
// is in none, and then it counts as quorate.
type ClusterStatus struct {
	Name    string
	Quorate bool
	Nodes   []ClusterNode
}

// ClusterNode is a member. Local marks the node that answered.
type ClusterNode struct {
	Name   string
	IP     string
	Online bool
	Local  bool
}

// Resource is an entry of /cluster/resources. It is what pvestatd last
// broadcast, up to about ten seconds old: a new guest may lack its name.
type Resource struct {
	// Type is "qemu", "lxc", "storage", "node" or "sdn".
	Type string `json:"type"`
	ID   string `json:"id"`
	Node string `json:"node"`
	VMID int    `json:"vmid"`
	Name string `json:"name"`
	// Status is "running", "stopped", "online", "available", "unknown" …
	Status   string `json:"status"`
	Template Bool   `json:"template"`
	// Tags are separated by ";".
	Tags    string `json:"tags"`
	Pool    string `json:"pool"`
	Lock    string `json:"lock"`
	HAState string `json:"hastate"`

	Storage    string `json:"storage"`
	PluginType string `json:"plugintype"`
	Content    string `json:"content"`
	Shared     Bool   `json:"shared"`

	MaxCPU  Float `json:"maxcpu"`
	MaxMem  Int   `json:"maxmem"`
	Disk    Int   `json:"disk"`
	MaxDisk Int   `json:"maxdisk"`
}

// Version reads the version of the node that answers, once per client.
func (s *ClusterService) Version(ctx context.Context) (Version, error) { return Version{}, nil }

// Status reads the membership; it needs Sys.Audit on /.
func (s *ClusterService) Status(ctx context.Context) (ClusterStatus, error) {
	return ClusterStatus{}, nil
}

// Identity is the cluster's name, or "standalone:<node>" for a node that is in
// no cluster. It needs Sys.Audit on /.
func (s *ClusterService) Identity(ctx context.Context) (string, error) { return "", nil }

// Resources lists what the token may see, of one kind ("vm", "node",
// "storage", "sdn") or, with "", of all.
func (s *ClusterService) Resources(ctx context.Context, kind string) ([]Resource, error) {
	return nil, nil
}

// VMIDFree reports whether no guest has the id, in the whole cluster. It needs
// no privilege and so is the one proof of a guest's absence: a 403 or a missing
// list entry prove nothing.
func (s *ClusterService) VMIDFree(ctx context.Context, vmid int) (bool, error) { return false, nil }
