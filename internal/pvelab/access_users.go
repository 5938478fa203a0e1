package pvelab

import (
	"slices"
	"strings"
	"time"
)

func (l *Lab) routeUsers() {
	l.handle("GET", "/access/users", userList)
	l.handle("POST", "/access/users", userCreate)
	l.handle("GET", "/access/users/{userid}", userRead)
	l.handle("PUT", "/access/users/{userid}", userUpdate)
	l.handle("DELETE", "/access/users/{userid}", userDelete)
}

// expired reports whether the account's end has passed; 0 is never.
func (u *user) expired(now time.Time) bool { return u.expire != 0 && int64(u.expire) < now.Unix() }

// realm is the part of a user id behind its last at sign.
func realmOf(id string) string { return id[strings.LastIndex(id, "@")+1:] }

func (l *Lab) userByID(id string) (*user, error) {
	if u := l.access.users[id]; u != nil {
		return u, nil
	}
	return nil, fail("no such user ('%s')", id)
}

// asAPI shows what user.cfg holds of a user; PVE leaves out what is empty.
func (u *user) asAPI() map[string]any {
	out := map[string]any{"enable": boolInt(u.enabled), "expire": u.expire}
	for k, v := range map[string]string{
		"comment": u.comment, "email": u.email, "firstname": u.firstname, "lastname": u.lastname, "keys": u.keys,
	} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

func (l *Lab) groupsOf(id string) []string {
	out := []string{}
	for _, name := range sortedKeys(l.access.groups) {
		if l.access.groups[name].users[id] {
			out = append(out, name)
		}
	}
	return out
}

func userList(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.lab.access.users) {
		u := c.lab.access.users[id]
		if !c.seesUser(id) || c.params.has("enabled") && u.enabled != c.params.boolean("enabled") {
			continue
		}
		entry := u.asAPI()
		entry["userid"] = id
		if t := map[string]string{"pam": "pam", "pve": "pve"}[realmOf(id)]; t != "" {
			entry["realm-type"] = t
		}
		if c.params.boolean("full") {
			entry["groups"] = strings.Join(c.lab.groupsOf(id), ",")
			if len(u.tokens) > 0 {
				entry["tokens"] = u.tokenList()
			}
		}
		out = append(out, entry)
	}
	return out, nil
}

// seesUser reports whether a list shows a user: oneself, or by a right on all
// groups or on one of the user's.
func (c *call) seesUser(id string) bool {
	if id == c.auth.id() || c.canAny("/access/groups", "User.Modify", "Sys.Audit") {
		return true
	}
	return slices.ContainsFunc(c.lab.groupsOf(id), func(g string) bool {
		return c.canAny("/access/groups/"+g, "User.Modify", "Sys.Audit")
	})
}

func userRead(c *call) (any, error) {
	u, err := c.lab.userByID(c.params.str("userid"))
	if err != nil {
		return nil, err
	}
	out := u.asAPI()
	out["groups"], out["tokens"] = c.lab.groupsOf(u.id), nil
	if len(u.tokens) > 0 {
		tokens := map[string]any{}
		for name, t := range u.tokens {
			tokens[name] = t.asAPI()
		}
		out["tokens"] = tokens
	}
	return out, nil
}

func userCreate(c *call) (any, error) {
	id := c.params.str("userid")
	if c.lab.access.users[id] != nil {
		return nil, fail("create user failed: user '%s' already exists", id)
	}
	if r := realmOf(id); r != "pam" && r != "pve" {
		return nil, fail("create user failed: domain '%s' does not exist", r)
	}
	u := &user{id: id, enabled: true, password: c.params.str("password"), tokens: map[string]*token{}}
	c.lab.access.users[id] = u
	if err := c.changeUser(u); err != nil {
		delete(c.lab.access.users, id)
		return nil, prefixed("create user failed", err)
	}
	return nothing(c)
}

func userUpdate(c *call) (any, error) {
	u := c.lab.access.users[c.params.str("userid")]
	if u == nil {
		return nil, fail("update user failed: no such user ('%s')", c.params.str("userid"))
	}
	return nil, prefixed("update user failed", c.changeUser(u))
}

// changeUser applies a call's parameters to a user.
func (c *call) changeUser(u *user) error {
	p := c.params
	for _, g := range p.list("groups") {
		if c.lab.access.groups[g] == nil {
			return fail("no such group '%s'", g)
		}
	}
	if p.has("groups") && !p.boolean("append") {
		c.lab.leaveGroups(u.id)
	}
	for _, g := range p.list("groups") {
		c.lab.access.groups[g].users[u.id] = true
	}
	if p.has("enable") {
		u.enabled = p.boolean("enable")
	}
	if p.has("expire") {
		u.expire = p.integer("expire")
	}
	for name, field := range map[string]*string{
		"comment": &u.comment, "email": &u.email, "firstname": &u.firstname, "lastname": &u.lastname, "keys": &u.keys,
	} {
		if p.has(name) {
			*field = p.str(name)
		}
	}
	return nil
}

func (l *Lab) leaveGroups(id string) {
	for _, g := range l.access.groups {
		delete(g.users, id)
	}
}

func userDelete(c *call) (any, error) {
	id := c.params.str("userid")
	delete(c.lab.access.users, id)
	c.lab.leaveGroups(id)
	c.lab.dropACL(func(e aclEntry) bool {
		return e.kind == "user" && e.id == id || e.kind == "token" && strings.HasPrefix(e.id, id+"!")
	})
	return nothing(c)
}
