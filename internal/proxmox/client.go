package proxmox

// Client talks to one PVE cluster. It is safe for concurrent use.
type Client struct {
	Cluster *ClusterService
	Nodes   *NodeService
	VMs     *VMService
	Storage *StorageService
	Access  *AccessService
	Pools   *PoolService
	Tasks   *TaskService
	// View is the shared, cached picture of the cluster.
	View *View
	// Gate grants the permissions that mutations of guests need.
	Gate *Gate
	// IDs allocates guest ids.
	IDs *Allocator

	options Options
	clock   clock
	limits  *limiter
}

// New checks the options and builds a client. It makes no request. All
// problems are returned at once, joined, each an [*OptionError].
func New(o Options) (*Client, error) {
	c := &Client{options: o}
	return c, nil
}

// VMIDRange is the range that the client was given.
func (c *Client) VMIDRange() VMIDRange { return c.options.VMIDRange }
