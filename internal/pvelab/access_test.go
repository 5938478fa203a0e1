package pvelab

import (
	"net/http"
	"net/url"
	"testing"
)

func TestUsersGroupsAndRoles(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	runSteps(t, rootClient(t, l), []apiStep{
		{"POST", "/access/groups", "groupid=g&comment=x", ""},
		{"POST", "/access/groups", "groupid=g", "create group failed: group 'g' already exists"},
		{"POST", "/access/users", "userid=a@pve&groups=g,none", "create user failed: no such group 'none'"},
		{"POST", "/access/users", "userid=a@ldap", "create user failed: domain 'ldap' does not exist"},
		{"POST", "/access/users", "userid=a@pve&groups=g&email=a@b.invalid", ""},
		{"POST", "/access/users", "userid=a@pve", "create user failed: user 'a@pve' already exists"},
		{"PUT", "/access/users/a@pve", "comment=y&enable=0", ""},
		{"PUT", "/access/users/b@pve", "comment=y", "no such user ('b@pve')"},
		{"GET", "/access/users/b@pve", "", "no such user ('b@pve')"},
		{"POST", "/access/roles", "roleid=PVEx&privs=VM.Audit", "Parameter verification failed."},
		{"POST", "/access/roles", "roleid=R&privs=VM.Nonsense", "Parameter verification failed."},
		{"POST", "/access/roles", "roleid=R&privs=VM.Audit", ""},
		{"PUT", "/access/roles/R", "privs=VM.PowerMgmt&append=1", ""},
		{"PUT", "/access/roles/PVEAdmin", "privs=VM.Audit", "auto-generated role 'PVEAdmin' cannot be modified"},
		{"DELETE", "/access/roles/NoAccess", "", "auto-generated role 'NoAccess' cannot be deleted"},
		{"PUT", "/access/acl", "path=/vms&roles=R", "Parameter verification failed."},
		{"PUT", "/access/acl", "path=/nonsense&roles=R&users=a@pve", "Parameter verification failed."},
		{"PUT", "/access/acl", "path=/vms&roles=S&users=a@pve", "ACL update failed: role 'S' does not exist"},
		{"PUT", "/access/acl", "path=/vms&roles=R&groups=h", "ACL update failed: group 'h' does not exist"},
		{"PUT", "/access/acl", "path=/vms/&roles=R&groups=g&users=a@pve", ""},
		{"DELETE", "/access/groups/g", "", ""},
	})
	if !l.access.roles["R"].privs["VM.Audit"] || !l.access.roles["R"].privs["VM.PowerMgmt"] {
		t.Errorf("role: %v", l.access.roles["R"])
	}
	want := aclEntry{path: "/vms", kind: "user", id: "a@pve", role: "R", propagate: true}
	if len(l.access.acl) != 1 || l.access.acl[0] != want {
		t.Errorf("the group's entry stays or the user's goes: %v", l.access.acl)
	}
	if u := l.access.users["a@pve"]; u.comment != "y" || u.enabled || u.email != "a@b.invalid" || len(l.groupsOf("a@pve")) != 0 {
		t.Errorf("user: %+v", u)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	runSteps(t, c, []apiStep{
		{"POST", "/access/users", "userid=a@pve", ""},
		{"GET", "/access/users/a@pve/token/t1", "", "no such token 't1' for user 'a@pve'"},
		{"POST", "/access/users/b@pve/token/t1", "", "Permission check failed"},
	})
	a := c.call("POST", "/access/users/a@pve/token/t1", url.Values{"expire": {"0"}})
	made, _ := a.data.(map[string]any)
	info, _ := made["info"].(map[string]any)
	secret, _ := made["value"].(string)
	if made["full-tokenid"] != "a@pve!t1" || info["expire"] != "0" || info["privsep"] != float64(1) {
		t.Fatalf("%v", a.data)
	}
	asToken := newClient(t, l, "PVEAPIToken=a@pve!t1="+secret)
	if a := asToken.call("GET", "/version", nil); a.status != http.StatusOK {
		t.Errorf("the new token: %d %s", a.status, a.reason)
	}
	if a := c.call("POST", "/access/users/a@pve/token/t1", url.Values{}); a.errors["tokenid"] != "Token already exists." {
		t.Errorf("%v", a.errors)
	}
	made, _ = c.call("PUT", "/access/users/a@pve/token/t1", url.Values{"regenerate": {"1"}}).data.(map[string]any)
	if made["value"] == secret || made["value"] == nil {
		t.Errorf("regenerated: %v", made)
	}
	if a := asToken.call("GET", "/version", nil); a.status != http.StatusUnauthorized {
		t.Errorf("the old secret: %d %s", a.status, a.reason)
	}
	runSteps(t, c, []apiStep{{"DELETE", "/access/users/a@pve/token/t1", "", ""}})
}

func TestOnlyHeldRightsAreHandedOut(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		l.access.roles["Few"] = &role{privs: privSet([]string{"VM.Audit"})}
		l.access.roles["Own"] = &role{privs: privSet([]string{"VM.Allocate", "VM.Audit"})}
		l.access.users["b@pve"] = &user{id: "b@pve", enabled: true, tokens: map[string]*token{}}
		l.access.acl = append(l.access.acl, aclEntry{path: "/vms/110", kind: "user", id: "a@pve", role: "Own", propagate: true})
	})
	addToken(l, "a@pve", "tok", "secret", false)
	c := newClient(t, l, "PVEAPIToken=a@pve!tok=secret")
	runSteps(t, c, []apiStep{
		{"PUT", "/access/acl", "path=/vms/111&roles=Few&users=b@pve", "Permission check failed (/vms/111, Permissions.Modify|VM.Allocate)"},
		{"PUT", "/access/acl", "path=/vms/110&roles=Few&users=b@pve", ""},
		{
			"PUT", "/access/acl", "path=/vms/110&roles=PVEVMAdmin&users=b@pve",
			"ACL update failed: 400 Parameter verification failed.",
		},
	})
}

func TestEffectivePermissions(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		l.pools["p"] = &pool{id: "p", vms: map[int]bool{110: true}, storages: map[string]bool{"local": true}}
		l.access.roles["R"] = &role{privs: privSet([]string{"VM.Audit"})}
		l.access.acl = append(l.access.acl, aclEntry{path: "/pool/p", kind: "user", id: "a@pve", role: "R", propagate: true})
	})
	addToken(l, "a@pve", "tok", "secret", false)
	c := newClient(t, l, "PVEAPIToken=a@pve!tok=secret")
	got, _ := c.call("GET", "/access/permissions", nil).data.(map[string]any)
	held := func(path string) any { m, _ := got[path].(map[string]any); return m["VM.Audit"] }
	if len(got) != 3 || held("/pool/p") != float64(1) || held("/vms/110") != float64(0) || held("/storage/local") != float64(0) {
		t.Errorf("%v", got)
	}
	if a := c.call("GET", "/access/permissions", url.Values{"userid": {"root@pam"}}); a.reason != "Permission check failed (/access, Sys.Audit)" {
		t.Errorf("%d %s", a.status, a.reason)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() { l.access.users[rootUser].password = "right" })
	c := newClient(t, l, "")
	for _, s := range []struct {
		user, password string
		status         int
	}{
		{"root@pam", "right", http.StatusOK}, {"root@pam", "wrong", http.StatusUnauthorized}, {"nobody@pve", "", http.StatusUnauthorized},
	} {
		a := c.call("POST", "/access/ticket", url.Values{"username": {s.user}, "password": {s.password}})
		if a.status != s.status {
			t.Errorf("%s %s: %d %s", s.user, s.password, a.status, a.reason)
		}
	}
}
