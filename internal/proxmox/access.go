package proxmox

import (
	"context"
	"net/url"
)

// AccessService reads privileges.
type AccessService struct{ c *Client }

// Permissions maps paths to privileges; the value tells whether the privilege
// propagates to what lies below. Either way it is held on the path itself.
type Permissions map[string]map[string]bool

// Has reports whether a privilege is held on a path that is listed. Asked for
// one path PVE lists that one, with what it inherits.
func (p Permissions) Has(path, privilege string) bool {
	_, held := p[path][privilege]
	return held
}

// Permissions reads the token's own privileges: on one path, or, with "", on
// every path that an ACL names.
func (s *AccessService) Permissions(ctx context.Context, path string) (Permissions, error) {
	query := url.Values{}
	if path != "" {
		query.Set("path", path)
	}
	var answer map[string]map[string]Bool
	if err := s.c.get(ctx, at("access", "permissions"), query, &answer); err != nil {
		return nil, err
	}
	permissions := make(Permissions, len(answer))
	for path, privileges := range answer {
		permissions[path] = make(map[string]bool, len(privileges))
		for privilege, propagates := range privileges {
			permissions[path][privilege] = bool(propagates)
		}
	}
	return permissions, nil
}
