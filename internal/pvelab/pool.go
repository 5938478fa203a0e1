package pvelab

import (
	"strconv"
	"strings"
)

// pool groups guests and storages; rights on /pool/<id> hold on its members.
// Its id is a path of up to three names.
type pool struct {
	id, comment string
	vms         map[int]bool
	storages    map[string]bool
}

// memberPaths are the members' paths in the access control list.
func (p *pool) memberPaths() []string {
	var out []string
	for vmid := range p.vms {
		out = append(out, guestPath(vmid))
	}
	for id := range p.storages {
		out = append(out, "/storage/"+id)
	}
	return out
}

func guestPath(vmid int) string { return "/vms/" + strconv.Itoa(vmid) }

// poolOf is the pool that a guest belongs to, or nil.
func (l *Lab) poolOf(vmid int) *pool {
	for _, p := range l.pools {
		if p.vms[vmid] {
			return p
		}
	}
	return nil
}

// addToPool makes a guest a member, as creating or cloning it into a pool does.
func (l *Lab) addToPool(id string, vmid int) {
	if old := l.poolOf(vmid); old != nil {
		delete(old.vms, vmid)
	}
	if p := l.pools[id]; p != nil {
		p.vms[vmid] = true
	}
}

// removeGuestAccess forgets a destroyed guest's membership and the rights on it.
func (l *Lab) removeGuestAccess(vmid int) {
	if p := l.poolOf(vmid); p != nil {
		delete(p.vms, vmid)
	}
	l.dropACL(func(e aclEntry) bool { return e.path == guestPath(vmid) })
}

func (l *Lab) routePools() {
	l.handle("GET", "/pools", poolList)
	l.handle("POST", "/pools", poolCreate)
	l.handle("PUT", "/pools", poolUpdate)
	l.handle("DELETE", "/pools", poolDelete)
	l.handle("GET", "/pools/{poolid}", poolRead)
	l.handle("PUT", "/pools/{poolid}", poolUpdate)
	l.handle("DELETE", "/pools/{poolid}", poolDelete)
}

// pool finds the pool that a call names.
func (c *call) pool() (*pool, error) {
	id := c.params.str("poolid")
	if p := c.lab.pools[id]; p != nil {
		return p, nil
	}
	return nil, fail("pool '%s' does not exist", id)
}

func poolList(c *call) (any, error) {
	if c.params.has("poolid") {
		p, err := c.pool()
		if err != nil {
			return nil, err
		}
		return []any{p.asAPI(c)}, nil
	}
	out := []map[string]any{}
	for _, id := range sortedKeys(c.lab.pools) {
		if !c.can("/pool/"+id, "Pool.Audit") {
			continue
		}
		entry := map[string]any{"poolid": id}
		if p := c.lab.pools[id]; p.comment != "" {
			entry["comment"] = p.comment
		}
		out = append(out, entry)
	}
	return out, nil
}

func poolRead(c *call) (any, error) {
	p, err := c.pool()
	if err != nil {
		return nil, err
	}
	return p.asAPI(c), nil
}

// asAPI shows a pool with the members that still exist, as last broadcast.
func (p *pool) asAPI(c *call) map[string]any {
	l, kind := c.lab, c.params.str("type")
	members := []map[string]any{}
	for _, vmid := range sortedKeys(p.vms) {
		if g := l.guests[vmid]; g != nil && (kind == "" || kind == g.kind) {
			members = append(members, l.guestResource(g))
		}
	}
	for _, id := range sortedKeys(p.storages) {
		s := l.storages[id]
		if s == nil || kind != "" && kind != "storage" {
			continue
		}
		node := c.via
		if !s.on(node) {
			node = s.nodes[0]
		}
		members = append(members, l.storageResource(s, node))
	}
	out := map[string]any{"poolid": p.id, "members": members}
	if p.comment != "" {
		out["comment"] = p.comment
	}
	return out
}

func poolCreate(c *call) (any, error) {
	id := c.params.str("poolid")
	if err := c.lab.checkNewPool(id); err != nil {
		return nil, prefixed("create pool failed", err)
	}
	c.lab.pools[id] = &pool{id: id, comment: c.params.str("comment"), vms: map[int]bool{}, storages: map[string]bool{}}
	return nothing(c)
}

func (l *Lab) checkNewPool(id string) error {
	if l.pools[id] != nil {
		return fail("pool '%s' already exists", id)
	}
	leaf := id
	if i := strings.LastIndex(id, "/"); i >= 0 {
		leaf = id[i+1:]
		if l.pools[id[:i]] == nil {
			return fail("parent '%s' of pool '%s' does not exist", id[:i], id)
		}
	}
	if leaf == "" || !isLetter(leaf[0]) {
		return fail("pool name must start with a letter")
	}
	return nil
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func poolUpdate(c *call) (any, error) {
	p, err := c.pool()
	if err == nil {
		err = p.update(c)
	}
	if err != nil {
		return nil, prefixed("update pools failed", err)
	}
	return nothing(c)
}

// update changes a copy first: PVE writes user.cfg only when all went well.
func (p *pool) update(c *call) error {
	next := p.clone()
	if c.params.has("comment") {
		next.comment = c.params.str("comment")
	}
	moved := map[int]*pool{}
	for _, text := range c.params.list("vms") {
		vmid := number(text)
		from, err := next.changeGuest(c, vmid)
		if err != nil {
			return err
		}
		if from != nil {
			moved[vmid] = from
		}
	}
	for _, id := range c.params.list("storage") {
		if err := next.changeStorage(c, id); err != nil {
			return err
		}
	}
	for vmid, from := range moved {
		delete(from.vms, vmid)
	}
	*p = *next
	return nil
}

func (p *pool) clone() *pool {
	next := &pool{id: p.id, comment: p.comment, vms: map[int]bool{}, storages: map[string]bool{}}
	for vmid := range p.vms {
		next.vms[vmid] = true
	}
	for id := range p.storages {
		next.storages[id] = true
	}
	return next
}

// changeGuest adds or removes a guest; it returns the pool that the guest has to
// leave for it.
func (p *pool) changeGuest(c *call, vmid int) (*pool, error) {
	path := guestPath(vmid)
	if !c.permModify(path) {
		return nil, denied(path, "Permissions.Modify", "VM.Allocate")
	}
	if c.params.boolean("delete") {
		if !p.vms[vmid] {
			return nil, fail("VM %d is not a pool member", vmid)
		}
		delete(p.vms, vmid)
		return nil, nil
	}
	if p.vms[vmid] {
		return nil, fail("VM %d is already a pool member", vmid)
	}
	from := c.lab.poolOf(vmid)
	if from != nil {
		if !c.params.boolean("allow-move") {
			return nil, fail("VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, from.id)
		}
		if err := c.require("/pool/"+from.id, "Pool.Allocate"); err != nil {
			return nil, err
		}
	}
	p.vms[vmid] = true
	return from, nil
}

func (p *pool) changeStorage(c *call, id string) error {
	path := "/storage/" + id
	if !c.permModify(path) {
		return denied(path, "Permissions.Modify", "Datastore.Allocate")
	}
	if c.params.boolean("delete") {
		if !p.storages[id] {
			return fail("Storage '%s' is not a pool member", id)
		}
		delete(p.storages, id)
		return nil
	}
	if p.storages[id] {
		return fail("Storage '%s' is already a pool member", id)
	}
	p.storages[id] = true
	return nil
}

func poolDelete(c *call) (any, error) {
	p, err := c.pool()
	if err == nil {
		err = c.lab.checkEmpty(p)
	}
	if err != nil {
		return nil, prefixed("delete pool failed", err)
	}
	delete(c.lab.pools, p.id)
	c.lab.dropACL(func(e aclEntry) bool { return e.path == "/pool/"+p.id })
	return nothing(c)
}

// checkEmpty ignores members that are gone.
func (l *Lab) checkEmpty(p *pool) error {
	for _, id := range sortedKeys(l.pools) {
		rest, nested := strings.CutPrefix(id, p.id+"/")
		if nested && !strings.Contains(rest, "/") {
			return fail("pool '%s' is not empty (contains pool '%s')", p.id, id)
		}
	}
	for _, vmid := range sortedKeys(p.vms) {
		if l.guests[vmid] != nil {
			return fail("pool '%s' is not empty (contains VM %d)", p.id, vmid)
		}
	}
	for _, id := range sortedKeys(p.storages) {
		if l.storages[id] != nil {
			return fail("pool '%s' is not empty (contains storage '%s')", p.id, id)
		}
	}
	return nil
}
