package pvelab

import (
	"regexp"
	"strings"
	"time"
)

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
	// expire is a Unix time, 0 for never.
	expire int
	tokens map[string]*token
}

// token is an API token; its key in the user's map is its name.
type token struct {
	comment, secret string
	// expire is a Unix time, 0 for never.
	expire  int
	privsep bool
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

const (
	rootUser     = "root@pam"
	roleNoAccess = "NoAccess"
)

func newAccessControl(version string) *accessControl {
	return &accessControl{
		users:  map[string]*user{rootUser: {id: rootUser, enabled: true, tokens: map[string]*token{}}},
		groups: map[string]*group{},
		roles:  builtinRoles(version),
	}
}

// checkUser refuses users that do not exist, are disabled or have expired.
func (a *accessControl) checkUser(id string, now time.Time) error {
	u := a.users[id]
	switch {
	case u == nil:
		return fail("no such user ('%s')", id)
	case !u.enabled:
		return fail("user '%s' is disabled", id)
	case u.expire != 0 && int64(u.expire) < now.Unix():
		return fail("user '%s' access expired", id)
	}
	return nil
}

// privileges returns what a user or token holds on a path; the value tells
// whether the privilege propagates further down. A privilege-separated token
// holds what both it and its user hold. The path "" stands for one that PVE cannot
// make out.
func (l *Lab) privileges(id, path string) map[string]bool {
	if id == rootUser {
		return l.allPrivileges()
	}
	if path == "" {
		return nil
	}
	owner, name, isToken := splitTokenID(id)
	if !isToken {
		return l.grantedTo(id, path)
	}
	u := l.access.users[owner]
	if u == nil || u.tokens[name] == nil {
		return nil
	}
	users := l.privileges(owner, path)
	if !u.tokens[name].privsep {
		return users
	}
	own := l.grantedTo(id, path)
	if owner == rootUser {
		return own
	}
	both := map[string]bool{}
	for p, propagates := range own {
		if usersPropagate, ok := users[p]; ok {
			both[p] = propagates && usersPropagate
		}
	}
	return both
}

func (l *Lab) allPrivileges() map[string]bool {
	return l.access.roles["Administrator"].privs
}

// grantedTo collects the privileges of the roles set for a user or token along
// the path, and of those on pools that hold the path's object.
func (l *Lab) grantedTo(id, path string) map[string]bool {
	roles := l.withPools(id, path, l.access.rolesOn(id, path))
	privs := map[string]bool{}
	for name, propagates := range roles {
		r := l.access.roles[name]
		if r == nil {
			continue
		}
		for p := range r.privs {
			privs[p] = privs[p] || propagates
		}
	}
	return privs
}

// withPools adds the roles on pools that hold the guest or storage of the path.
// NoAccess wins, on the path as on the pool, and pools propagate nothing.
func (l *Lab) withPools(id, path string, roles map[string]bool) map[string]bool {
	if _, ok := roles[roleNoAccess]; ok {
		return roles
	}
	for name, p := range l.pools {
		if !p.holds(path) {
			continue
		}
		for role := range l.access.rolesOn(id, "/pool/"+name) {
			if role == roleNoAccess {
				return map[string]bool{roleNoAccess: false}
			}
			if _, ok := roles[role]; !ok {
				roles[role] = false
			}
		}
	}
	return roles
}

// holds reports whether the path is /vms/<id> or /storage/<id> of a member.
func (p *pool) holds(path string) bool {
	if id, ok := strings.CutPrefix(path, "/vms/"); ok {
		return p.vms[params{"vmid": id}.integer("vmid")]
	}
	id, ok := strings.CutPrefix(path, "/storage/")
	return ok && p.storages[id]
}

// rolesOn returns the roles set for a user or token on a path: those of the
// nearest level that says anything, a token's or user's before its groups'. The
// value tells whether the role propagates.
func (a *accessControl) rolesOn(id, path string) map[string]bool {
	roles := map[string]bool{}
	for _, level := range levels(path) {
		found := map[string]bool{}
		groups := map[string]bool{}
		for _, e := range a.acl {
			if e.path != level || level != path && !e.propagate {
				continue
			}
			switch {
			case e.kind == "group" && a.inGroup(e.id, id):
				groups[e.role] = e.propagate
			case e.kind != "group" && e.id == id:
				found[e.role] = e.propagate
			}
		}
		if len(found) == 0 {
			found = groups
		}
		if len(found) > 0 {
			roles = found
		}
	}
	if propagates, ok := roles[roleNoAccess]; ok {
		return map[string]bool{roleNoAccess: propagates}
	}
	return roles
}

func (a *accessControl) inGroup(group, user string) bool {
	g := a.groups[group]
	return g != nil && g.users[user]
}

// levels lists a path's ancestors and itself, from "/" down.
func levels(path string) []string {
	out := []string{"/"}
	at := ""
	for _, seg := range splitPath(path) {
		at += "/" + seg
		out = append(out, at)
	}
	return out
}

var cleanPathRE = regexp.MustCompile(`^[[:alnum:].\-_/]+$`)

// normalizePath drops doubled and trailing slashes; a path with characters that
// none may have becomes "", on which nobody but root holds anything, and ok is
// false.
func normalizePath(path string) (string, bool) {
	if path == "" {
		return "", false
	}
	clean := "/" + strings.Join(splitPath(path), "/")
	if !cleanPathRE.MatchString(clean) {
		return "", false
	}
	return clean, true
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
		c.lab.questions.note(c.userAgent, path, []string{p})
		if !c.can(path, p) {
			return denied(path, p)
		}
	}
	return nil
}

// requireAny returns PVE's refusal where none of the privileges is held.
func (c *call) requireAny(path string, privs ...string) error {
	c.lab.questions.note(c.userAgent, path, privs)
	if c.canAny(path, privs...) {
		return nil
	}
	return denied(path, privs...)
}

// isRootPassword reports whether root@pam asks by ticket: some settings are
// refused even to a token of root.
func (c *call) isRootPassword() bool { return c.auth.user == rootUser && c.auth.token == "" }
