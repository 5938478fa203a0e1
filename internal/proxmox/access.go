package proxmox

import "context"

// AccessService reads privileges.
type AccessService struct{ c *Client }

// Permissions maps paths to privileges; the value tells whether the privilege
// propagates to what lies below. Either way it is held on the path itself.
type Permissions map[string]map[string]bool

// Permissions reads the token's own privileges: on one path, or, with "", on
// every path that an ACL names.
func (s *AccessService) Permissions(ctx context.Context, path string) (Permissions, error) {
	return nil, nil
}
