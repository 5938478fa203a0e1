package proxmox

import "context"

// View is a picture of the cluster that all concurrent readers share: each list
// is fetched once and lives for 30 seconds. The gate never reads it.
type View struct{ c *Client }

// Guests lists the guests that the token may see, VMs and containers.
func (v *View) Guests(ctx context.Context) ([]Resource, error) { return nil, nil }

// Guest finds a guest by its id. Not found proves nothing, see
// [ClusterService.VMIDFree].
func (v *View) Guest(ctx context.Context, vmid int) (Resource, bool, error) {
	return Resource{}, false, nil
}

// LiveGuests is the live state of the guests of one kind on a node, by vmid.
func (v *View) LiveGuests(ctx context.Context, node string, kind Kind) (map[int]GuestStatus, error) {
	return nil, nil
}

// Nodes lists the nodes.
func (v *View) Nodes(ctx context.Context) ([]Node, error) { return nil, nil }

// Storages lists the storages of a node.
func (v *View) Storages(ctx context.Context, node string) ([]NodeStorage, error) { return nil, nil }

// Interfaces lists the interfaces of a node.
func (v *View) Interfaces(ctx context.Context, node string) ([]Interface, error) { return nil, nil }

// VMConfig is a VM's configuration, for templates: it may be 30 seconds old.
func (v *View) VMConfig(ctx context.Context, node string, vmid int) (*VMConfig, error) {
	return nil, nil
}

// Drop forgets what is known of a node and the list of guests, after a change.
func (v *View) Drop(node string) {}
