package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

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
func (s *PoolService) List(ctx context.Context) ([]Pool, error) {
	var pools []Pool
	err := s.c.get(ctx, at("pools"), nil, &pools)
	return pools, err
}

// Get reads a pool with its members. The id is a parameter: as a segment of the
// path it could not name a nested pool.
func (s *PoolService) Get(ctx context.Context, id string) (Pool, error) {
	var pools []Pool
	if err := s.c.get(ctx, at("pools"), url.Values{"poolid": {id}}, &pools); err != nil {
		return Pool{}, err
	}
	if len(pools) != 1 {
		return Pool{}, fmt.Errorf("PVE answered with %d pools instead of the pool %q", len(pools), id)
	}
	return pools[0], nil
}

// Create makes a pool; an existing one is an error ([IsExists]). It needs
// Pool.Allocate.
func (s *PoolService) Create(ctx context.Context, id, comment string) error {
	params := url.Values{"poolid": {id}}
	if comment != "" {
		params.Set("comment", comment)
	}
	return s.c.call(ctx, http.MethodPost, at("pools"), params, nil)
}

// Delete removes an empty pool.
func (s *PoolService) Delete(ctx context.Context, id string) error {
	return s.c.call(ctx, http.MethodDelete, at("pools"), url.Values{"poolid": {id}}, nil)
}
