package pvelab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var placeholderRE = regexp.MustCompile(`\{([^}]+)\}`)

// permitted evaluates a method's permissions as the schema writes them. The
// parameters are unverified: PVE checks permissions first.
func (c *call) permitted(p *permissions, raw map[string]any) error {
	who := c.auth.id()
	switch {
	case who == "" && p != nil && p.User == "world":
		return nil
	case who == "":
		return deniedText("user != null")
	case who == rootUser:
		return nil
	case p == nil:
		return deniedText("user != root@pam")
	case p.User == "all":
		return nil
	case p.Check != nil:
		return (&permCheck{call: c, raw: raw}).eval(p.Check)
	}
	return deniedText("")
}

// permCheck evaluates one check expression.
type permCheck struct {
	call *call
	raw  map[string]any
}

func (pc *permCheck) eval(check []any) error {
	if len(check) == 0 {
		return fail("no permission test specified")
	}
	test, args := text(check[0]), check[1:]
	switch test {
	case "and":
		for _, sub := range args {
			if err := pc.eval(list(sub)); err != nil {
				return err
			}
		}
		return nil
	case "or":
		for _, sub := range args {
			if pc.eval(list(sub)) == nil {
				return nil
			}
		}
		return deniedText("")
	case "perm":
		return pc.perm(args)
	case "perm-modify":
		return pc.permModify(pc.fill(text(args[0])))
	case "userid-param":
		return pc.userParam(text(args[0]))
	case "userid-group":
		return pc.userGroup(texts(args[0]), testOptions(args[1:]))
	}
	return fail("unknown permission test")
}

func (pc *permCheck) perm(args []any) error {
	opts := testOptions(args[2:])
	if p := opts["require_param"]; p != "" && pc.raw[p] == nil {
		return deniedText("")
	}
	path, _ := normalizePath(pc.fill(text(args[0])))
	if opts["any"] != "" {
		return pc.call.requireAny(path, texts(args[1])...)
	}
	return pc.call.require(path, texts(args[1])...)
}

// permModify is the right to change the access control of a path: the object's
// own allocation privilege will do.
func (pc *permCheck) permModify(path string) error {
	path, ok := normalizePath(path)
	if !ok {
		return deniedText("")
	}
	privs := []string{"Permissions.Modify"}
	for prefix, p := range map[string]string{
		"/storage/": "Datastore.Allocate", "/vms/": "VM.Allocate", "/pool/": "Pool.Allocate",
	} {
		if strings.HasPrefix(path, prefix) && path != prefix {
			privs = append(privs, p)
		}
	}
	return pc.call.requireAny(path, privs...)
}

func (pc *permCheck) userParam(test string) error {
	id := pc.value("userid")
	if err := checkUserID(id); err != nil {
		return fail("%s", err.Error())
	}
	if test == "self" {
		if pc.call.lab.access.users[id] == nil {
			return fail("no such user ('%s')", id)
		}
		if pc.call.auth.id() == id {
			return nil
		}
		return deniedText("")
	}
	_, realm, _ := strings.Cut(id, "@")
	return pc.call.require("/access/realm/"+realm, test)
}

// userGroup needs a privilege on all groups, or on one that the user is in, and
// for new memberships on each group named.
func (pc *permCheck) userGroup(privs []string, opts map[string]string) error {
	access := pc.call.lab.access
	id := pc.value("userid")
	existing := opts["groups_param"] != "create"
	if existing && access.users[id] == nil {
		return fail("no such user ('%s')", id)
	}
	if pc.call.canAny("/access/groups", privs...) {
		return nil
	}
	if opts["groups_param"] != "" {
		if err := pc.namedGroups(privs); err != nil {
			return err
		}
	}
	if !existing {
		return nil
	}
	for name, g := range access.groups {
		if g.users[id] && pc.call.canAny("/access/groups/"+name, privs...) {
			return nil
		}
	}
	return deniedText("")
}

func (pc *permCheck) namedGroups(privs []string) error {
	groups := splitList(pc.value("groups"))
	if len(groups) == 0 {
		return denied("/access/groups", privs...)
	}
	for _, g := range groups {
		if pc.call.lab.access.groups[g] == nil {
			return denied("/access/groups/"+g, privs...)
		}
		if err := pc.call.requireAny("/access/groups/"+g, privs...); err != nil {
			return err
		}
	}
	return nil
}

func (pc *permCheck) value(name string) string {
	s, _ := pc.raw[name].(string)
	return s
}

// fill puts parameters into a path template; what is absent leaves nothing.
func (pc *permCheck) fill(template string) string {
	return placeholderRE.ReplaceAllStringFunc(template, func(m string) string {
		return pc.value(m[1 : len(m)-1])
	})
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func texts(v any) []string {
	out := make([]string, 0, len(list(v)))
	for _, e := range list(v) {
		out = append(out, text(e))
	}
	return out
}

// testOptions reads the trailing name, value pairs of a test.
func testOptions(rest []any) map[string]string {
	out := map[string]string{}
	for pair := range slices.Chunk(rest, 2) {
		if len(pair) == 2 {
			out[text(pair[0])] = text(pair[1])
		}
	}
	return out
}
