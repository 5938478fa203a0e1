package pvelab

// accessControl holds users, groups, roles, tokens and the access control list.
type accessControl struct {
	users  map[string]*user
	groups map[string]*group
	roles  map[string]*role
	acl    []aclEntry
}

// user is user@realm.
type user struct {
	id, comment, email, firstname, lastname, keys, password string
	enabled                                                 bool
	expire                                                  int
	tokens                                                  map[string]*token
}

// token is an API token; its key in the user's map is its name.
type token struct {
	comment, secret string
	expire          int
	privsep         bool
}

type group struct {
	comment string
	users   map[string]bool
}

// role is a named set of privileges; special ones are built in.
type role struct {
	privs   map[string]bool
	special bool
}

// aclEntry grants a role on a path. kind is "user", "group" or "token".
type aclEntry struct {
	path, kind, id, role string
	propagate            bool
}

func newAccessControl(version string) *accessControl {
	_ = version
	return &accessControl{users: map[string]*user{}, groups: map[string]*group{}, roles: map[string]*role{}}
}

// privileges returns what a user or token holds on a path; the value tells
// whether the privilege propagates further down.
func (l *Lab) privileges(id, path string) map[string]bool {
	_, _ = id, path
	return map[string]bool{}
}

// can reports whether the caller holds all privileges on the path.
func (c *call) can(path string, privs ...string) bool {
	held := c.lab.privileges(c.auth.id(), path)
	for _, p := range privs {
		if _, ok := held[p]; !ok {
			return false
		}
	}
	return true
}

// canAny reports whether the caller holds one of the privileges on the path.
func (c *call) canAny(path string, privs ...string) bool {
	held := c.lab.privileges(c.auth.id(), path)
	for _, p := range privs {
		if _, ok := held[p]; ok {
			return true
		}
	}
	return false
}

// require returns PVE's refusal naming the first privilege that is missing.
func (c *call) require(path string, privs ...string) error {
	for _, p := range privs {
		if !c.can(path, p) {
			return denied(path, p)
		}
	}
	return nil
}

// requireAny returns PVE's refusal where none of the privileges is held.
func (c *call) requireAny(path string, privs ...string) error {
	if c.canAny(path, privs...) {
		return nil
	}
	return denied(path, privs...)
}

// isRootPassword reports whether root@pam asks by ticket: some settings are
// refused even to a token of root.
func (c *call) isRootPassword() bool { return c.auth.user == "root@pam" && c.auth.token == "" }
