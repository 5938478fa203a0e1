package pvelab

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

func (l *Lab) routeGroups() {
	l.handle("GET", "/access/groups", groupList)
	l.handle("POST", "/access/groups", groupCreate)
	l.handle("GET", "/access/groups/{groupid}", groupRead)
	l.handle("PUT", "/access/groups/{groupid}", groupUpdate)
	l.handle("DELETE", "/access/groups/{groupid}", groupDelete)
}

func groupList(c *call) (any, error) {
	out := []map[string]any{}
	for _, name := range sortedKeys(c.lab.access.groups) {
		if !c.canAny("/access/groups/"+name, "User.Modify", "Sys.Audit", "Group.Allocate") {
			continue
		}
		g := c.lab.access.groups[name]
		entry := map[string]any{"groupid": name, "users": strings.Join(sortedKeys(g.users), ",")}
		if g.comment != "" {
			entry["comment"] = g.comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func groupCreate(c *call) (any, error) {
	name := c.params.str("groupid")
	if c.lab.access.groups[name] != nil {
		return nil, fail("create group failed: group '%s' already exists", name)
	}
	c.lab.access.groups[name] = &group{comment: c.params.str("comment"), users: map[string]bool{}}
	return nothing(c)
}

func (c *call) group() (*group, error) {
	name := c.params.str("groupid")
	if g := c.lab.access.groups[name]; g != nil {
		return g, nil
	}
	return nil, fail("group '%s' does not exist", name)
}

func groupRead(c *call) (any, error) {
	g, err := c.group()
	if err != nil {
		return nil, err
	}
	out := map[string]any{"members": append([]string{}, sortedKeys(g.users)...)}
	if g.comment != "" {
		out["comment"] = g.comment
	}
	return out, nil
}

func groupUpdate(c *call) (any, error) {
	g, err := c.group()
	if err != nil {
		return nil, prefixed("update group failed", err)
	}
	if c.params.has("comment") {
		g.comment = c.params.str("comment")
	}
	return nothing(c)
}

func groupDelete(c *call) (any, error) {
	if _, err := c.group(); err != nil {
		return nil, prefixed("delete group failed", err)
	}
	name := c.params.str("groupid")
	delete(c.lab.access.groups, name)
	c.lab.dropACL(func(e aclEntry) bool { return e.kind == "group" && e.id == name })
	return nothing(c)
}

func (l *Lab) routeRoles() {
	l.handle("GET", "/access/roles", roleList)
	l.handle("POST", "/access/roles", roleCreate)
	l.handle("GET", "/access/roles/{roleid}", roleRead)
	l.handle("PUT", "/access/roles/{roleid}", roleUpdate)
	l.handle("DELETE", "/access/roles/{roleid}", roleDelete)
}

func roleList(c *call) (any, error) {
	out := []map[string]any{}
	for _, name := range sortedKeys(c.lab.access.roles) {
		r := c.lab.access.roles[name]
		out = append(out, map[string]any{
			"roleid": name, "privs": strings.Join(sortedKeys(r.privs), ","), "special": boolInt(r.special),
		})
	}
	return out, nil
}

func roleRead(c *call) (any, error) {
	name := c.params.str("roleid")
	r := c.lab.access.roles[name]
	if r == nil {
		return nil, fail("role '%s' does not exist", name)
	}
	out := map[string]int{}
	for p := range r.privs {
		out[p] = 1
	}
	return out, nil
}

func roleCreate(c *call) (any, error) {
	name := c.params.str("roleid")
	if err := c.checkPrivs(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.ToUpper(name), "PVE") {
		return nil, badParams(map[string]string{"roleid": "cannot use role ID starting with the (case-insensitive) 'PVE' namespace"})
	}
	if c.lab.access.roles[name] != nil {
		return nil, fail("create role failed: role '%s' already exists", name)
	}
	c.lab.access.roles[name] = &role{privs: privSet(c.params.list("privs"))}
	return nothing(c)
}

func privSet(privs []string) map[string]bool {
	out := map[string]bool{}
	for _, p := range privs {
		out[p] = true
	}
	return out
}

// checkPrivs refuses privileges that the version does not know.
func (c *call) checkPrivs() error {
	for _, p := range c.params.list("privs") {
		if !c.lab.access.roles["Administrator"].privs[p] {
			return badParams(map[string]string{"privs": "invalid format - invalid privilege '" + p + "'\n"})
		}
	}
	return nil
}

func roleUpdate(c *call) (any, error) {
	if err := c.checkPrivs(); err != nil {
		return nil, err
	}
	name := c.params.str("roleid")
	r := c.lab.access.roles[name]
	switch {
	case r == nil:
		return nil, fail("update role failed: role '%s' does not exist", name)
	case r.special:
		return nil, fail("auto-generated role '%s' cannot be modified", name)
	}
	privs := privSet(c.params.list("privs"))
	if c.params.boolean("append") {
		maps.Copy(privs, r.privs)
	}
	r.privs = privs
	return nothing(c)
}

func roleDelete(c *call) (any, error) {
	name := c.params.str("roleid")
	r := c.lab.access.roles[name]
	switch {
	case r == nil:
		return nil, fail("delete role failed: role '%s' does not exist", name)
	case r.special:
		return nil, fail("auto-generated role '%s' cannot be deleted", name)
	}
	delete(c.lab.access.roles, name)
	return nothing(c)
}

func (l *Lab) dropACL(gone func(aclEntry) bool) { l.access.acl = slices.DeleteFunc(l.access.acl, gone) }

// permModify is PVE's right to hand out rights on a path.
func (c *call) permModify(path string) bool {
	privs := []string{"Permissions.Modify"}
	switch {
	case strings.HasPrefix(path, "/storage/"):
		privs = append(privs, "Datastore.Allocate")
	case strings.HasPrefix(path, "/vms/"):
		privs = append(privs, "VM.Allocate")
	case strings.HasPrefix(path, "/pool/"):
		privs = append(privs, "Pool.Allocate")
	}
	return c.canAny(path, privs...)
}

func aclList(c *call) (any, error) {
	out := []map[string]any{}
	audit := c.can("/access", "Sys.Audit")
	for _, e := range c.lab.access.acl {
		// An entry of a role that is gone is dropped when PVE reads user.cfg.
		if c.lab.access.roles[e.role] == nil || !audit && !c.permModify(e.path) {
			continue
		}
		out = append(out, map[string]any{
			"path": e.path, "type": e.kind, "ugid": e.id, "roleid": e.role, "propagate": boolInt(e.propagate),
		})
	}
	return out, nil
}

var (
	plainPathRE = regexp.MustCompile(`^[A-Za-z0-9.\-_/]+$`)
	aclPathRE   = regexp.MustCompile(`^(/|/access|/access/groups(/[\w.-]+)?|/access/realm(/[\w.-]+)?|/nodes(/[\w.-]+)?` +
		`|/pool(/[A-Za-z0-9.\-_]+){0,3}|/sdn|/sdn/(controllers|dns|ipams|fabrics|prefix-lists|route-maps)(/[\w-]+)?` +
		`|/sdn/zones(/[\w.-]+){0,2}|/sdn/zones/[\w.-]+/[\w.-]+/[1-9][0-9]{0,3}|/storage(/[\w.-]+)?|/vms(/[1-9][0-9]{2,})?|/mapping(/[\w.-]+){0,2})$`)
)

// normalPath is an ACL path without doubled or trailing slashes, "" when it is
// none.
func normalPath(path string) string {
	path = cleanPath(path)
	if !plainPathRE.MatchString(path) {
		return ""
	}
	return path
}

func aclUpdate(c *call) (any, error) {
	p := c.params
	if p.str("users") == "" && p.str("groups") == "" && p.str("tokens") == "" {
		text := "either 'users', 'groups' or 'tokens' is required."
		return nil, badParams(map[string]string{"users": text, "groups": text, "tokens": text})
	}
	path := normalPath(p.str("path"))
	if path == "" || !p.boolean("delete") && !aclPathRE.MatchString(path) {
		return nil, badParams(map[string]string{"path": "invalid ACL path '" + p.str("path") + "'"})
	}
	entries, err := c.aclEntries(path)
	if err != nil {
		return nil, prefixed("ACL update failed", err)
	}
	for _, e := range entries {
		c.lab.dropACL(func(old aclEntry) bool {
			return old.path == e.path && old.kind == e.kind && old.id == e.id && old.role == e.role
		})
		if !p.boolean("delete") {
			c.lab.access.acl = append(c.lab.access.acl, e)
		}
	}
	return nothing(c)
}

// aclEntries are what a change names: every role for every group, user, token.
func (c *call) aclEntries(path string) ([]aclEntry, error) {
	p, a := c.params, c.lab.access
	propagate := !p.has("propagate") || p.boolean("propagate")
	var out []aclEntry
	for _, roleID := range p.list("roles") {
		if a.roles[roleID] == nil {
			return nil, fail("role '%s' does not exist", roleID)
		}
		if err := c.mayGrant(path, roleID, propagate); err != nil {
			return nil, err
		}
		for _, id := range p.list("groups") {
			if a.groups[id] == nil {
				return nil, fail("group '%s' does not exist", id)
			}
			out = append(out, aclEntry{path: path, kind: "group", id: id, role: roleID, propagate: propagate})
		}
		for _, id := range p.list("users") {
			if a.users[id] == nil {
				return nil, fail("user '%s' does not exist", id)
			}
			out = append(out, aclEntry{path: path, kind: "user", id: id, role: roleID, propagate: propagate})
		}
		for _, id := range p.list("tokens") {
			owner, name, _ := strings.Cut(id, "!")
			if u := a.users[owner]; u == nil || u.tokens[name] == nil {
				return nil, fail("no such token '%s' for user '%s'", name, owner)
			}
			out = append(out, aclEntry{path: path, kind: "token", id: id, role: roleID, propagate: propagate})
		}
	}
	return out, nil
}

// mayGrant refuses to hand out more than one holds where the right to hand out
// comes from an allocation privilege.
func (c *call) mayGrant(path, roleID string, propagate bool) error {
	held := c.lab.privileges(c.auth.id(), path)
	if _, ok := held["Permissions.Modify"]; ok {
		return nil
	}
	verb := "add"
	if c.params.boolean("delete") {
		verb = "remove"
	}
	refuse := func(text string) error {
		return badParams(map[string]string{"role": "Cannot " + verb + " role '" + roleID + "' " + text})
	}
	for priv := range c.lab.access.roles[roleID].privs {
		propagates, ok := held[priv]
		if !ok {
			return refuse("- requires 'Permissions.Modify' or superset of privileges.")
		}
		if propagate && !propagates && verb == "add" {
			return refuse("with propagation - requires 'Permissions.Modify' or propagated superset of privileges.")
		}
	}
	if roleID == "NoAccess" {
		return refuse("- requires 'Permissions.Modify'")
	}
	return nil
}
