package pvelab

import (
	"maps"
	"slices"
	"testing"
)

// permLab has alice with a separated and a plain token, bob in group ops, a pool
// with VM 100 and storage local, and what grants says: path, kind, id, role,
// propagate ("+" or "").
func permLab(t *testing.T, grants [][5]string) *Lab {
	t.Helper()
	l, err := New(Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	addToken(l, "alice@pve", "sep", "s", true)
	addToken(l, "alice@pve", "own", "s", false)
	addToken(l, "bob@pve", "tok", "s", true)
	addToken(l, rootUser, "sep", "s", true)
	l.access.groups["ops"] = &group{users: map[string]bool{"bob@pve": true}}
	l.access.roles["Power"] = &role{privs: map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true}}
	l.pools["p"] = &pool{id: "p", vms: map[int]bool{100: true}, storages: map[string]bool{"local": true}}
	for _, g := range grants {
		l.access.acl = append(l.access.acl, aclEntry{path: g[0], kind: g[1], id: g[2], role: g[3], propagate: g[4] == "+"})
	}
	return l
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	const alice, bob, sep, own = "alice@pve", "bob@pve", "alice@pve!sep", "alice@pve!own"
	for _, tc := range []struct {
		name   string
		grants [][5]string
		id     string
		path   string
		want   map[string]bool
	}{
		{"nothing", nil, alice, "/vms/100", nil},
		{"propagated", [][5]string{{"/", "user", alice, "PVETemplateUser", "+"}}, alice, "/vms/100", map[string]bool{"VM.Clone": true, "VM.Audit": true}},
		{"not propagated", [][5]string{{"/vms", "user", alice, "PVETemplateUser", ""}}, alice, "/vms/100", nil},
		{"on the path itself", [][5]string{{"/vms", "user", alice, "PVETemplateUser", ""}}, alice, "/vms", map[string]bool{"VM.Clone": false, "VM.Audit": false}},
		{"nearer replaces", [][5]string{
			{"/", "user", alice, "PVETemplateUser", "+"},
			{"/vms/101", "user", alice, "Power", "+"},
		}, alice, "/vms/101", map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true}},
		{"but a pool inherits from above, too", [][5]string{
			{"/", "user", alice, "PVETemplateUser", "+"},
			{"/vms/100", "user", alice, "Power", "+"},
		}, alice, "/vms/100", map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true, "VM.Clone": false}},
		{"no access", [][5]string{
			{"/", "user", alice, "PVETemplateUser", "+"},
			{"/vms/100", "user", alice, roleNoAccess, "+"},
		}, alice, "/vms/100", nil},
		{"group", [][5]string{{"/vms", "group", "ops", "Power", "+"}}, bob, "/vms/100", map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true}},
		{"user before group", [][5]string{
			{"/vms", "group", "ops", "Power", "+"},
			{"/vms", "user", bob, "PVETemplateUser", "+"},
		}, bob, "/vms/100", map[string]bool{"VM.Clone": true, "VM.Audit": true}},
		{"plain token is its user", [][5]string{{"/vms", "user", alice, "Power", "+"}}, own, "/vms/100", map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true}},
		{"separated token without rights", [][5]string{{"/vms", "user", alice, "Power", "+"}}, sep, "/vms/100", nil},
		{"separated token without its user's", [][5]string{{"/vms", "token", sep, "Power", "+"}}, sep, "/vms/100", nil},
		{"separated token: intersection", [][5]string{
			{"/vms", "user", alice, "Power", "+"},
			{"/vms", "token", sep, "PVETemplateUser", "+"},
		}, sep, "/vms/100", map[string]bool{"VM.Audit": true}},
		{"root's separated token has its own only", [][5]string{{"/vms", "token", "root@pam!sep", "Power", "+"}}, "root@pam!sep", "/vms/100", map[string]bool{"VM.PowerMgmt": true, "VM.Audit": true}},
		{"pool member", [][5]string{{"/pool/p", "user", alice, "Power", "+"}}, alice, "/vms/100", map[string]bool{"VM.PowerMgmt": false, "VM.Audit": false}},
		{"pool's storage", [][5]string{{"/pool/p", "user", alice, "Power", ""}}, alice, "/storage/local", map[string]bool{"VM.PowerMgmt": false, "VM.Audit": false}},
		{"not in the pool", [][5]string{{"/pool/p", "user", alice, "Power", "+"}}, alice, "/vms/101", nil},
		{"pool beside the path", [][5]string{
			{"/vms", "user", alice, "PVETemplateUser", "+"},
			{"/pool/p", "user", alice, "Power", "+"},
		}, alice, "/vms/100", map[string]bool{"VM.Clone": true, "VM.Audit": true, "VM.PowerMgmt": false}},
		{"no access on the pool wins", [][5]string{
			{"/vms", "user", alice, "PVETemplateUser", "+"},
			{"/pool/p", "user", alice, roleNoAccess, "+"},
		}, alice, "/vms/100", nil},
		{"unknown token", nil, "alice@pve!none", "/", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := permLab(t, tc.grants).privileges(tc.id, tc.path)
			if !maps.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBuiltinRoles(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]map[string]int{
		"9.2": {"NoAccess": 0, "PVETemplateUser": 2, "PVEVMAdmin": 23, "PVEVMUser": 10, "PVEAuditor": 7},
		"8.4": {"NoAccess": 0, "PVETemplateUser": 2, "PVEVMAdmin": 18, "PVEVMUser": 6, "PVEAuditor": 6},
	} {
		roles := builtinRoles(version)
		for name, n := range want {
			if got := len(roles[name].privs); got != n {
				t.Errorf("%s %s: %d privileges, want %d: %v", version, name, got, n, sortedKeys(roles[name].privs))
			}
		}
		if roles["PVEAdmin"].privs["Mapping.Modify"] || !roles["Administrator"].privs["Permissions.Modify"] {
			t.Errorf("%s: PVEAdmin or Administrator", version)
		}
	}
}

func TestCheckExpressions(t *testing.T) {
	t.Parallel()
	perm := func(path string, privs ...any) []any { return []any{"perm", path, privs} }
	clone := []any{
		"and", perm("/vms/{vmid}", "VM.Clone"),
		[]any{
			"or", perm("/vms/{newid}", "VM.Allocate"),
			append(perm("/pool/{pool}", "VM.Allocate"), "require_param", "pool"),
		},
	}
	anyOf := append(perm("/storage/{storage}", "Datastore.Audit", "Datastore.AllocateSpace"), "any", "1")
	for _, tc := range []struct {
		name   string
		grants [][5]string
		check  []any
		raw    map[string]any
		want   string
	}{
		{"first missing", nil, clone, map[string]any{"vmid": "100", "newid": "101"}, "Permission check failed (/vms/100, VM.Clone)"},
		{"or", [][5]string{{"/vms/100", "user", "alice@pve", "PVETemplateUser", "+"}}, clone, map[string]any{"vmid": "100", "newid": "101"}, "Permission check failed"},
		{"or by the pool", [][5]string{
			{"/vms/100", "user", "alice@pve", "PVETemplateUser", "+"},
			{"/pool/p", "user", "alice@pve", "PVEVMAdmin", "+"},
		}, clone, map[string]any{"vmid": "100", "newid": "101", "pool": "p"}, ""},
		{"pool not given", [][5]string{
			{"/vms/100", "user", "alice@pve", "PVETemplateUser", "+"},
			{"/pool/p", "user", "alice@pve", "PVEVMAdmin", "+"},
		}, clone, map[string]any{"vmid": "100", "newid": "101"}, "Permission check failed"},
		{"any", nil, anyOf, map[string]any{"storage": "local"}, "Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)"},
		{"any held", [][5]string{{"/storage", "user", "alice@pve", "PVEDatastoreUser", "+"}}, anyOf, map[string]any{"storage": "local"}, ""},
		{"self", nil, []any{"userid-param", "self"}, map[string]any{"userid": "alice@pve"}, ""},
		{"not self", nil, []any{"userid-param", "self"}, map[string]any{"userid": "bob@pve"}, "Permission check failed"},
		{"no user name", nil, []any{"userid-param", "Realm.AllocateUser"}, map[string]any{"userid": "tfuser2"}, "value 'tfuser2' does not look like a valid user name"},
		{"no path", [][5]string{{"/", "user", "alice@pve", "Administrator", "+"}}, perm("/pool/{poolid}", "Pool.Allocate"), map[string]any{"poolid": "a b"}, "Permission check failed (, Pool.Allocate)"},
		{"realm", nil, []any{"userid-param", "Realm.AllocateUser"}, map[string]any{"userid": "x@pve"}, "Permission check failed (/access/realm/pve, Realm.AllocateUser)"},
		{"group", nil, []any{"userid-group", []any{"User.Modify"}, "groups_param", "create"}, map[string]any{"groups": "ops"}, "Permission check failed (/access/groups/ops, User.Modify)"},
		{"group's member", [][5]string{{"/access/groups/ops", "user", "alice@pve", "PVEUserAdmin", ""}}, []any{"userid-group", []any{"User.Modify"}}, map[string]any{"userid": "bob@pve"}, ""},
		{"modify", nil, []any{"perm-modify", "{path}"}, map[string]any{"path": "/pool/p/"}, "Permission check failed (/pool/p, Permissions.Modify|Pool.Allocate)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &call{lab: permLab(t, tc.grants), auth: principal{user: "alice@pve"}}
			got := ""
			if err := c.permitted(&permissions{Check: tc.check}, tc.raw); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWhoMayCall(t *testing.T) {
	t.Parallel()
	l := permLab(t, nil)
	for _, tc := range []struct {
		who  principal
		perm *permissions
		want string
	}{
		{principal{}, &permissions{User: "world"}, ""},
		{principal{}, &permissions{User: "all"}, "Permission check failed (user != null)"},
		{principal{user: "alice@pve"}, nil, "Permission check failed (user != root@pam)"},
		{principal{user: "alice@pve"}, &permissions{User: "all"}, ""},
		{principal{user: rootUser}, nil, ""},
		{principal{user: rootUser, token: "root@pam!tok"}, nil, "Permission check failed (user != root@pam)"},
	} {
		got := ""
		if err := (&call{lab: l, auth: tc.who}).permitted(tc.perm, nil); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%+v %+v: %q", tc.who, tc.perm, got)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	if got := levels("/vms/100"); !slices.Equal(got, []string{"/", "/vms", "/vms/100"}) {
		t.Errorf("got %q", got)
	}
}
