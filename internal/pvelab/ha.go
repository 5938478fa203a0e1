package pvelab

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// haState is what the HA manager keeps in the lab.
type haState struct {
	ha *haManager
}

// haManager is the configuration of HA and what the manager made of it.
type haManager struct {
	// resources, groups and rules are /etc/pve/ha/*.cfg, by id.
	resources     map[string]*haResource
	groups, rules map[string]section
	ruleOrder     []string
	// services is the manager's status of the resources that it has seen.
	services map[string]*haService
	// commands wait for the manager's next round.
	commands []haCommand
	// gone tells since when the manager misses a node.
	gone map[string]time.Time
	// master is the node whose manager is active, "" before HA was ever used.
	master string
	stamp  time.Time
	// hangs keeps the manager from doing anything.
	hangs bool
}

// section is a section of one of PVE's configuration files.
type section map[string]string

// haResource is a guest under HA. Its id is vm:110 or ct:110.
type haResource struct {
	kind string
	vmid int
	conf section
}

// haTypes are the types of HA resources by the kind of guest.
var haTypes = map[string]string{kindQemu: "vm", kindLXC: "ct"}

const (
	haStarted  = "started"
	haStopped  = "stopped"
	haDisabled = "disabled"
	haIgnored  = "ignored"
	haError    = "error"
	// haMigrate is the manager's state of a service that moves to another node.
	haMigrate = "migrate"
)

func (l *Lab) initHA() {
	l.ha = &haManager{
		resources: map[string]*haResource{}, groups: map[string]section{}, rules: map[string]section{},
		services: map[string]*haService{}, gone: map[string]time.Time{},
	}
}

func (l *Lab) routeHA() {
	const ha = "/cluster/ha"
	l.handle("GET", ha, haIndex)
	l.handle("GET", ha+"/resources", haResources)
	l.handle("POST", ha+"/resources", haCreate)
	l.handle("GET", ha+"/resources/{sid}", haRead)
	l.handle("PUT", ha+"/resources/{sid}", haUpdate)
	l.handle("DELETE", ha+"/resources/{sid}", haDelete)
	l.handle("GET", ha+"/status", haStatusIndex)
	l.handle("GET", ha+"/status/current", haCurrent)
	l.handle("GET", ha+"/status/manager_status", haManagerStatus)
	l.routeHAPlacement()
}

func haIndex(c *call) (any, error) {
	names := words("status resources groups rules")
	if c.lab.is8() {
		names = words("status resources groups")
	}
	return subdirs("id", names...), nil
}

// sid is the id of the resource that a call names; PVE also takes the guest's
// alone.
func (c *call) sid() (string, error) {
	sid := c.params.str("sid")
	if strings.Contains(sid, ":") {
		return sid, nil
	}
	vmid := number(sid)
	g := c.lab.guests[vmid]
	if g == nil {
		return "", fail("unable to detect SID from VMID - VM/CT %d does not exist", vmid)
	}
	return g.sid(), nil
}

// sid is the id of a guest's HA resource.
func (g *guest) sid() string { return haTypes[g.kind] + ":" + strconv.Itoa(g.vmid) }

// requested is the state that the configuration asks for.
func (r *haResource) requested() string {
	switch state := r.conf["state"]; state {
	case "", "enabled":
		return haStarted
	default:
		return state
	}
}

// haResource is a guest's resource, nil where HA does not know it.
func (l *Lab) haResource(g *guest) *haResource { return l.ha.resources[g.sid()] }

// haManages reports whether power calls for a guest go to the HA manager: an
// ignored resource is as if there were none.
func (l *Lab) haManages(g *guest) bool {
	r := l.haResource(g)
	return r != nil && r.requested() != haIgnored
}

func haResources(c *call) (any, error) {
	out := []map[string]any{}
	for _, sid := range sortedKeys(c.lab.ha.resources) {
		entry := c.lab.showHA(sid)
		if typ := c.params.str("type"); typ == "" || entry["type"] == typ {
			out = append(out, entry)
		}
	}
	return out, nil
}

func haRead(c *call) (any, error) {
	sid, err := c.sid()
	if err != nil {
		return nil, err
	}
	if c.lab.ha.resources[sid] == nil {
		return nil, fail("no such resource '%s'", sid)
	}
	return c.lab.showHA(sid), nil
}

// showHA is a resource as the API shows it.
func (l *Lab) showHA(sid string) map[string]any {
	r := l.ha.resources[sid]
	out := r.conf.show("max_restart", "max_relocate", "failback")
	out["sid"], out["type"] = sid, haTypes[r.kind]
	out["digest"] = l.ha.digest()
	return out
}

// show is a section as JSON, some of its values as numbers.
func (s section) show(numbers ...string) map[string]any {
	out := map[string]any{}
	for k, v := range s {
		out[k] = v
		if n, err := strconv.Atoi(v); err == nil && slices.Contains(numbers, k) {
			out[k] = n
		}
	}
	return out
}

// digest is that of resources.cfg.
func (m *haManager) digest() string {
	conf := map[string]section{}
	for sid, r := range m.resources {
		conf[sid] = r.conf
	}
	return digestOf(conf)
}

func digestOf(sections map[string]section) string {
	var b strings.Builder
	for _, id := range sortedKeys(sections) {
		fmt.Fprintf(&b, "%s\n", id)
		for _, k := range sortedKeys(sections[id]) {
			fmt.Fprintf(&b, "\t%s %s\n", k, sections[id][k])
		}
	}
	sum := sha1.Sum([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

func haCreate(c *call) (any, error) {
	l := c.lab
	sid, err := c.sid()
	if err != nil {
		return nil, err
	}
	typ, name, _ := strings.Cut(sid, ":")
	if c.params.has("type") && c.params.str("type") != typ {
		return nil, fail("types does not match")
	}
	if err := c.checkGroup(); err != nil {
		return nil, err
	}
	g := l.guests[number(name)]
	if g == nil {
		return nil, fail("resource '%s' does not exist in cluster", sid)
	}
	if g.sid() != sid {
		return nil, fail("resource '%s' - guest with ID %d is not a %s", sid, g.vmid, map[string]string{"vm": "VM", "ct": "CT"}[typ])
	}
	if l.ha.resources[sid] != nil {
		return nil, fail("create resource failed: resource ID '%s' already defined", sid)
	}
	r := &haResource{kind: g.kind, vmid: g.vmid, conf: section{}}
	c.fill(r.conf, "sid", "type")
	l.ha.resources[sid] = r
	return nothing(c)
}

// fill takes a call's parameters into a section, some left out, and deletes what
// the call lists.
func (c *call) fill(conf section, except ...string) {
	for _, k := range c.params.names() {
		if k != "delete" && k != "digest" && !slices.Contains(except, k) {
			conf[k] = c.params.str(k)
		}
	}
	for _, k := range c.params.list("delete") {
		delete(conf, k)
	}
}

// checkGroup refuses a group where there are none any more, and one that does
// not exist.
func (c *call) checkGroup() error {
	if !c.params.has("group") {
		return nil
	}
	if !c.lab.is8() {
		return fail("invalid parameter 'group': ha groups have been migrated to rules")
	}
	group := c.params.str("group")
	if c.method == "PUT" && c.lab.ha.groups[group] == nil {
		return fail("HA group '%s' does not exist", group)
	}
	return nil
}

func haUpdate(c *call) (any, error) {
	l := c.lab
	sid, err := c.sid()
	if err != nil {
		return nil, err
	}
	if err := c.checkGroup(); err != nil {
		return nil, err
	}
	if err := l.ha.checkState(sid, c.params.str("state")); err != nil {
		return nil, err
	}
	r := l.ha.resources[sid]
	if digest := c.params.str("digest"); digest != "" && digest != l.ha.digest() {
		return nil, fail("update resources config failed: detected modified configuration - file changed by other user? Try again.")
	}
	if r == nil {
		return nil, fail("update resources config failed: no such resource '%s'", sid)
	}
	c.fill(r.conf, "sid")
	return nothing(c)
}

// checkState refuses to do more with a service in error than to disable it.
func (m *haManager) checkState(sid, wanted string) error {
	if s := m.services[sid]; s == nil || s.state != haError || wanted == haDisabled {
		return nil
	}
	return fail("service '%s' in error state, must be disabled and fixed first", sid)
}

func haDelete(c *call) (any, error) {
	sid, err := c.sid()
	if err != nil {
		return nil, err
	}
	if c.lab.ha.resources[sid] == nil {
		return nil, fail("cannot delete service '%s', not HA managed!", sid)
	}
	c.lab.ha.forget(sid, !c.params.has("purge") || c.params.boolean("purge"))
	return nothing(c)
}

// forget takes a resource out of HA, and out of the rules too when asked.
func (m *haManager) forget(sid string, rules bool) {
	delete(m.resources, sid)
	if !rules {
		return
	}
	for id, rule := range m.rules {
		left := slices.DeleteFunc(splitList(rule["resources"]), func(s string) bool { return s == sid })
		if rule["resources"] = strings.Join(left, ","); len(left) == 0 {
			m.dropRule(id)
		}
	}
}

// checkUnbound refuses to destroy a guest that HA or replication knows.
func (l *Lab) checkUnbound(g *guest, purge bool) error {
	if purge {
		return nil
	}
	if l.haResource(g) != nil {
		return fail("unable to remove %s %d - used in HA resources and purge parameter not set.", g.typeName(), g.vmid)
	}
	for _, id := range sortedKeys(l.replications) {
		if l.replications[id].guest == g.vmid {
			return fail("There is a replication job '%s' for guest '%d' - Please remove that first.", id, g.vmid)
		}
	}
	return nil
}

// unbind takes a destroyed guest out of HA and replication.
func (l *Lab) unbind(g *guest, log logger) {
	maps.DeleteFunc(l.replications, func(_ string, j *replication) bool { return j.guest == g.vmid })
	if l.haResource(g) != nil {
		l.ha.forget(g.sid(), true)
		log("NOTE: removed %s %d from HA resource configuration.", g.typeName(), g.vmid)
	}
}
