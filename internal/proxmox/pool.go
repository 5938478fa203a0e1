package proxmox

import "context"

// PoolService manages pools.
type PoolService struct{ c *Client }

// Pool is a pool; Members is filled by Get only.
type Pool struct {
	ID      string       `json:"poolid"`
	Comment string       `json:"comment"`
	Members []PoolMember `json:"members"`
}

// PoolMember is a guest or a storage in a pool.
type PoolMember struct {
	// ID is "qemu/100", "lxc/100" or "storage/node/name".
	ID      string `json:"id"`
	Type    string `json:"type"`
	Node    string `json:"node"`
	VMID    int    `json:"vmid"`
	Storage string `json:"storage"`
}

// List lists the pools that the token may see, nested ones ("a/b") too.
func (s *PoolService) List(ctx context.Context) ([]Pool, error) { return nil, nil }

// Get reads a pool with its members.
func (s *PoolService) Get(ctx context.Context, id string) (Pool, error) { return Pool{}, nil }

// Create makes a pool; an existing one is an error ([IsExists]). It needs
// Pool.Allocate.
func (s *PoolService) Create(ctx context.Context, id, comment string) error { return nil }

// Delete removes an empty pool.
func (s *PoolService) Delete(ctx context.Context, id string) error { return nil }
