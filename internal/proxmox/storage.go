package proxmox

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// StorageService reads storages.
type StorageService struct{ c *Client }

// NodeStorage is a storage as one node sees it. Sizes are in bytes.
type NodeStorage struct {
	Storage string `json:"storage"`
	// Type is the plugin: "dir", "lvmthin", "nfs" …
	Type string `json:"type"`
	// Content is what it may hold ("images", "rootdir", "iso" …).
	Content NameList `json:"content"`
	Enabled Bool     `json:"enabled"`
	Active  Bool     `json:"active"`
	Shared  Bool     `json:"shared"`
	Total   Int      `json:"total"`
	Used    Int      `json:"used"`
	Avail   Int      `json:"avail"`
}

// NameList is a list of names, sorted, such as kinds of content; PVE sends it in
// an order that changes from call to call.
type NameList []string

// UnmarshalText reads PVE's comma-separated list.
func (l *NameList) UnmarshalText(text []byte) error {
	*l = strings.FieldsFunc(string(text), func(r rune) bool { return r == ',' })
	slices.Sort(*l)
	return nil
}

// Allows reports whether the storage may hold a kind of content.
func (s NodeStorage) Allows(content string) bool { return slices.Contains(s.Content, content) }

// StorageConfig is a storage as the cluster's configuration has it.
type StorageConfig struct {
	Storage  string `json:"storage"`
	Disabled Bool   `json:"disable"`
	// Nodes are those that the storage is limited to; none means all.
	Nodes NameList `json:"nodes"`
}

// Volume is a volume of a storage. Sizes are in bytes.
type Volume struct {
	// VolID is the volume's id, "storage:name".
	VolID   string `json:"volid"`
	Content string `json:"content"`
	Format  string `json:"format"`
	Size    Int    `json:"size"`
	// Used is what it takes on the storage, 0 when that is not known.
	Used Int `json:"used"`
	// VMID is the guest that owns it, 0 for none.
	VMID Int `json:"vmid"`
	// CTime is the creation time, seconds since 1970.
	CTime     Int    `json:"ctime"`
	Notes     string `json:"notes"`
	Protected Bool   `json:"protected"`
}

// List lists the storages of a node that the token may see.
func (s *StorageService) List(ctx context.Context, node string) ([]NodeStorage, error) {
	var storages []NodeStorage
	err := s.c.get(ctx, at("nodes", node, "storage"), nil, &storages)
	return storages, err
}

// Configs lists the storages that the token may see, whatever node they are on.
// A node's own list does not tell a disabled storage from one of other nodes.
func (s *StorageService) Configs(ctx context.Context) ([]StorageConfig, error) {
	var configs []StorageConfig
	err := s.c.get(ctx, at("storage"), nil, &configs)
	return configs, err
}

// Status reads one storage of a node.
func (s *StorageService) Status(ctx context.Context, node, storage string) (NodeStorage, error) {
	status := NodeStorage{Storage: storage}
	err := s.c.get(ctx, at("nodes", node, "storage", storage, "status"), nil, &status)
	return status, err
}

// Content lists the volumes of a storage, of one kind of content or, with "",
// of all. It needs Datastore.Audit or Datastore.AllocateSpace; volumes of
// guests that the token may not read are left out.
func (s *StorageService) Content(ctx context.Context, node, storage, content string) ([]Volume, error) {
	query := url.Values{}
	if content != "" {
		query.Set("content", content)
	}
	var volumes []Volume
	err := s.c.get(ctx, at("nodes", node, "storage", storage, "content"), query, &volumes)
	return volumes, err
}
