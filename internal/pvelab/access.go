package pvelab

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// accessState is what the endpoints of access and pools keep in the lab, beside
// the accessControl that permission checks read.
type accessState struct {
	pools map[string]*pool
	// secondFactor are the users whose password alone gives half a ticket.
	secondFactor map[string]bool
}

func (l *Lab) initAccess() { l.pools, l.secondFactor = map[string]*pool{}, map[string]bool{} }

func (l *Lab) routeAccess() {
	l.handle("GET", "/access", accessIndex)
	l.handle("GET", "/access/ticket", nothing)
	l.handle("POST", "/access/ticket", createTicket)
	l.handle("GET", "/access/permissions", permissionsRead)
	l.routeUsers()
	l.routeTokens()
	l.routeGroups()
	l.routeRoles()
	l.handle("GET", "/access/acl", aclList)
	l.handle("PUT", "/access/acl", aclUpdate)
	l.handle("GET", "/access/domains", realmList)
	l.handle("GET", "/access/domains/{realm}", realmRead)
	l.routePools()
}

// nothing answers null.
func nothing(*call) (any, error) { return nil, nil }

// prefixed is what PVE's config locks make of an error inside them: a plain 500
// whose text tells what failed, an exception's status ahead of its own text.
func prefixed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fail("%s: %s", what, exceptionText(err))
}

// exceptionText is an error as Perl writes it into another's text.
func exceptionText(err error) string {
	e := (*apiError)(nil)
	if !errors.As(err, &e) || e.status == http.StatusInternalServerError {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", e.status, e.Error())
}

func accessIndex(*call) (any, error) {
	return subdirs("subdir", words("users groups roles acl domains openid tfa ticket password")...), nil
}

var noAuthentication = httpError(http.StatusUnauthorized, "authentication failure")

func createTicket(c *call) (any, error) {
	l := c.lab
	name := c.params.str("username")
	if realm := c.params.str("realm"); realm != "" {
		name += "@" + realm
	}
	u := l.access.users[name]
	password := c.params.str("password")
	if u == nil || !u.enabled || u.expired(l.clock.Now()) {
		return nil, noAuthentication
	}
	if l.ticketUser(password) != name && (u.password == "" || u.password != password) {
		return nil, noAuthentication
	}
	if path := c.params.str("path"); path != "" {
		if !l.holds(name, path, c.params.list("privs")) {
			return nil, noAuthentication
		}
		return map[string]any{"username": name, "cap": l.capabilities(name)}, nil
	}
	if l.secondFactor[name] && l.ticketUser(password) == "" {
		return halfTicket(l, name), nil
	}
	ticket, csrf := l.issueTicket(name)
	out := map[string]any{"username": name, "ticket": ticket, "CSRFPreventionToken": csrf, "cap": l.capabilities(name)}
	if l.clusterName != "" && l.holds(name, "/", []string{"Sys.Audit"}) {
		out["clustername"] = l.clusterName
	}
	return out, nil
}

func (l *Lab) holds(id, path string, privs []string) bool {
	held := l.privileges(id, path)
	for _, p := range privs {
		if _, ok := held[p]; !ok {
			return false
		}
	}
	return true
}

// capabilityREs pick the privileges that the web interface shows by section.
var capabilityREs = map[string]*regexp.Regexp{
	"vms":     regexp.MustCompile(`^(VM\.|Permissions\.Modify)`),
	"access":  regexp.MustCompile(`^((User|Group)\.|Permissions\.Modify)`),
	"storage": regexp.MustCompile(`^(Datastore\.|Permissions\.Modify)`),
	"nodes":   regexp.MustCompile(`^(Sys\.|Permissions\.Modify)`),
	"sdn":     regexp.MustCompile(`^(SDN\.|Permissions\.Modify)`),
	"dc":      regexp.MustCompile(`^(Sys\.Audit|Sys\.Modify|SDN\.)`),
	"mapping": regexp.MustCompile(`^(Mapping\.|Permissions\.Modify)`),
}

// capabilities are a user's privileges by section of the web interface.
func (l *Lab) capabilities(user string) map[string]map[string]int {
	out := map[string]map[string]int{}
	for section := range capabilityREs {
		out[section] = map[string]int{}
	}
	paths := words("/ /nodes /access/groups /vms /storage /sdn /mapping")
	for _, path := range append(paths, l.aclPaths()...) {
		section, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if section == "" {
			section = "dc"
		}
		for priv := range l.privileges(user, path) {
			l.addCapability(out, section, priv)
		}
	}
	return out
}

func (l *Lab) addCapability(out map[string]map[string]int, section, priv string) {
	if section == "pool" {
		for _, s := range []string{"vms", "storage"} {
			if capabilityREs[s].MatchString(priv) {
				out[s][priv] = 1
			}
		}
		return
	}
	if re := capabilityREs[section]; re != nil && re.MatchString(priv) {
		out[section][priv] = 1
	}
}

// aclPaths are the paths that the access control list names, with those above
// them.
func (l *Lab) aclPaths() []string {
	set := map[string]bool{"/": true}
	for _, e := range l.access.acl {
		path := ""
		for _, seg := range splitPath(e.path) {
			path += "/" + seg
			set[path] = true
		}
	}
	return sortedKeys(set)
}

func permissionsRead(c *call) (any, error) {
	l := c.lab
	id := c.auth.id()
	if c.params.has("userid") {
		id = c.params.str("userid")
	}
	owner, _, isToken := strings.Cut(id, "!")
	if own := id == c.auth.id() || isToken && owner == c.auth.id(); !own {
		if err := c.require("/access", "Sys.Audit"); err != nil {
			return nil, err
		}
	}
	paths := append(words("/ /access /access/groups /nodes /pool /sdn /storage /vms"), l.aclPaths()...)
	for _, p := range l.pools {
		paths = append(paths, p.memberPaths()...)
	}
	if c.params.str("path") != "" {
		paths = []string{c.params.str("path")}
	}
	out := map[string]map[string]int{}
	for _, path := range paths {
		privs := map[string]int{}
		for priv, propagates := range l.privileges(id, path) {
			privs[priv] = boolInt(propagates)
		}
		if len(privs) > 0 || c.params.str("path") != "" {
			out[path] = privs
		}
	}
	return out, nil
}

// realms are the built-in ones.
var realms = []map[string]any{
	{"realm": "pam", "type": "pam", "comment": "Linux PAM standard authentication"},
	{"realm": "pve", "type": "pve", "comment": "Proxmox VE authentication server"},
}

func realmList(*call) (any, error) { return realms, nil }

func realmRead(c *call) (any, error) {
	for _, r := range realms {
		if r["realm"] == c.params.str("realm") {
			return map[string]any{"type": r["type"], "comment": r["comment"], "digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709"}, nil
		}
	}
	return nil, fail("domain '%s' does not exist", c.params.str("realm"))
}
