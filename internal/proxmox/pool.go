package proxmox

import (
	"context"
	"net/http"
	"net/url"
)

// PoolService manages pools.
type PoolService struct{ c *Client }

// Pool is a pool.
type Pool struct {
	ID      string `json:"poolid"`
	Comment string `json:"comment"`
}

// List lists the pools that the token may see, nested ones ("a/b") too.
func (s *PoolService) List(ctx context.Context) ([]Pool, error) {
	var pools []Pool
	err := s.c.get(ctx, at("pools"), nil, &pools)
	return pools, err
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
