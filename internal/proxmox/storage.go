package proxmox

import "context"

// StorageService reads storages.
type StorageService struct{ c *Client }

// NodeStorage is a storage as one node sees it.
type NodeStorage struct {
	Storage string
	// Type is the plugin: "dir", "lvmthin", "nfs" …
	Type string
	// Content is what it may hold ("images", "rootdir", "iso" …), sorted.
	Content []string
	Enabled bool
	Active  bool
	Shared  bool
	// Sizes are in bytes.
	Total, Used, Avail int64
}

// Allows reports whether the storage may hold a kind of content.
func (s NodeStorage) Allows(content string) bool { return false }

// Volume is a volume of a storage.
type Volume struct {
	// ID is the volume's id, "storage:name".
	ID      string
	Content string
	Format  string
	Size    int64
	// VMID is the guest that owns it, 0 for none.
	VMID      int
	CTime     int64
	Notes     string
	Protected bool
}

// List lists the storages of a node that the token may see.
func (s *StorageService) List(ctx context.Context, node string) ([]NodeStorage, error) {
	return nil, nil
}

// Status reads one storage of a node.
func (s *StorageService) Status(ctx context.Context, node, storage string) (NodeStorage, error) {
	return NodeStorage{}, nil
}

// Content lists the volumes of a storage, of one kind of content or, with "",
// of all. It needs Datastore.Audit or Datastore.AllocateSpace; volumes of
// guests that the token may not read are left out.
func (s *StorageService) Content(ctx context.Context, node, storage, content string) ([]Volume, error) {
	return nil, nil
}
