package pvelab

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// routeFirewallNames routes what gives names to addresses: aliases and IP sets,
// and the list of both.
func (l *Lab) routeFirewallNames(scope string, at firewallAt) {
	aliases, sets := scope+"/aliases", scope+"/ipset"
	on := func(do func(*firewallScope, *call) (any, error)) handler {
		return func(c *call) (any, error) { return do(at(c), c) }
	}
	l.handle("GET", scope+"/refs", on((*firewallScope).refs))
	l.handle("GET", aliases, on((*firewallScope).aliasList))
	l.handle("POST", aliases, on((*firewallScope).aliasCreate))
	l.handle("GET", aliases+"/{name}", on((*firewallScope).aliasRead))
	l.handle("PUT", aliases+"/{name}", on((*firewallScope).aliasUpdate))
	l.handle("DELETE", aliases+"/{name}", on((*firewallScope).aliasDelete))
	l.handle("GET", sets, on((*firewallScope).setList))
	l.handle("POST", sets, on((*firewallScope).setCreate))
	l.handle("GET", sets+"/{name}", on((*firewallScope).setRead))
	l.handle("DELETE", sets+"/{name}", on((*firewallScope).setDelete))
	l.handle("POST", sets+"/{name}", on((*firewallScope).memberCreate))
	l.handle("GET", sets+"/{name}/{cidr}", on((*firewallScope).memberRead))
	l.handle("PUT", sets+"/{name}/{cidr}", on((*firewallScope).memberUpdate))
	l.handle("DELETE", sets+"/{name}/{cidr}", on((*firewallScope).memberDelete))
}

func (s *firewallScope) aliases() []firewallEntry {
	var out []firewallEntry
	for _, name := range sortedKeys(s.conf.aliases) {
		out = append(out, s.conf.aliases[name])
	}
	return out
}

func (s *firewallScope) aliasList(*call) (any, error) { return entriesAsAPI(s.aliases()), nil }

func (s *firewallScope) aliasRead(c *call) (any, error) {
	alias := s.conf.aliases[strings.ToLower(c.params.str("name"))]
	if alias == nil {
		return nil, badParams(map[string]string{"name": "no such alias"})
	}
	return alias.asAPI(), nil
}

func (s *firewallScope) aliasCreate(c *call) (any, error) {
	name := c.params.str("name")
	if s.conf.aliases[strings.ToLower(name)] != nil {
		return nil, badParams(map[string]string{"name": "alias '" + name + "' already exists"})
	}
	s.conf.aliases[strings.ToLower(name)] = newAlias(name, c.params)
	return nil, nil
}

func newAlias(name string, p params) firewallEntry {
	cidr := withoutHostMask(p.str("cidr"))
	alias := firewallEntry{"name": name, "cidr": cidr, "ipversion": ipVersion(cidr), "comment": p.str("comment")}
	storeComment(alias)
	return alias
}

// aliasUpdate replaces an alias: a comment that is not sent is gone.
func (s *firewallScope) aliasUpdate(c *call) (any, error) {
	if err := c.unmodified(firewallDigest(s.aliases()...)); err != nil {
		return nil, err
	}
	old, renamed := c.params.str("name"), c.params.str("rename")
	if s.conf.aliases[strings.ToLower(old)] == nil {
		return nil, badParams(map[string]string{"name": "no such alias"})
	}
	name := cmp.Or(renamed, old)
	if strings.EqualFold(name, old) {
		name = old
	} else if s.conf.aliases[strings.ToLower(name)] != nil {
		return nil, badParams(map[string]string{"name": "alias '" + renamed + "' already exists"})
	}
	delete(s.conf.aliases, strings.ToLower(old))
	s.conf.aliases[strings.ToLower(name)] = newAlias(name, c.params)
	return nil, nil
}

func (s *firewallScope) aliasDelete(c *call) (any, error) {
	if err := c.unmodified(firewallDigest(s.aliases()...)); err != nil {
		return nil, err
	}
	delete(s.conf.aliases, strings.ToLower(c.params.str("name")))
	return nil, nil
}

// listed are sets or groups as PVE lists them under the key.
func listed(key string, lists map[string]*firewallList) []firewallEntry {
	var out []firewallEntry
	for _, name := range sortedKeys(lists) {
		e := firewallEntry{key: name, "comment": lists[name].comment}
		storeComment(e)
		out = append(out, e)
	}
	return out
}

func (s *firewallScope) setList(*call) (any, error) {
	return entriesAsAPI(listed("name", s.conf.sets)), nil
}

func (s *firewallScope) setCreate(c *call) (any, error) {
	name, rename, comment := c.params.str("name"), c.params.str("rename"), c.params.str("comment")
	if rename == "" {
		if s.conf.sets[name] != nil {
			return nil, badParams(map[string]string{"name": "IPSet '" + name + "' already exists"})
		}
		// Names read back in lower case, and are looked up as they are sent.
		s.conf.sets[strings.ToLower(name)] = &firewallList{comment: comment}
		return nil, nil
	}
	if err := c.unmodified(firewallDigest(listed("name", s.conf.sets)...)); err != nil {
		return nil, err
	}
	set := s.conf.sets[rename]
	if set == nil {
		return nil, badParams(map[string]string{"name": "IPSet '" + rename + "' does not exist"})
	}
	if s.conf.sets[name] != nil && name != rename {
		return nil, badParams(map[string]string{"name": "IPSet '" + name + "' does already exist"})
	}
	if c.params.has("comment") {
		set.comment = comment
	}
	delete(s.conf.sets, rename)
	s.conf.sets[strings.ToLower(name)] = set
	return nil, nil
}

func (s *firewallScope) set(c *call) (*firewallList, error) {
	set := s.conf.sets[c.params.str("name")]
	if set == nil {
		return nil, fail("no such IPSet '%s'", c.params.str("name"))
	}
	return set, nil
}

func (s *firewallScope) setRead(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	return entriesAsAPI(set.entries), nil
}

func (s *firewallScope) setDelete(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	if len(set.entries) > 0 && !c.params.boolean("force") {
		return nil, fail("IPSet '%s' is not empty", c.params.str("name"))
	}
	delete(s.conf.sets, c.params.str("name"))
	return nil, nil
}

func (s *firewallScope) memberCreate(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	cidr, err := s.memberAddress(c.params.str("cidr"))
	if err != nil {
		return nil, err
	}
	if set.find(cidr) >= 0 {
		return nil, badParams(map[string]string{"cidr": "address '" + cidr + "' already exists"})
	}
	if strings.HasSuffix(cidr, "/0") {
		return nil, badParams(map[string]string{"cidr": "a zero prefix is not allowed in ipset entries"})
	}
	set.entries = append(set.entries, newMember(cidr, c.params))
	slices.SortFunc(set.entries, func(a, b firewallEntry) int { return cmp.Compare(a["cidr"], b["cidr"]) })
	return nil, nil
}

func newMember(cidr string, p params) firewallEntry {
	member := firewallEntry{"cidr": cidr, "comment": p.str("comment")}
	if p.boolean("nomatch") {
		member["nomatch"] = "1"
	}
	storeComment(member)
	return member
}

// memberAddress is an alias that exists, or an address without host bits.
func (s *firewallScope) memberAddress(cidr string) (string, error) {
	if scope, name, ok := aliasName(cidr); ok {
		if s.alias(scope, name) == nil {
			return "", fail("no such alias '%s'", name)
		}
		return cidr, nil
	}
	if p, err := netip.ParsePrefix(cidr); err == nil {
		cidr = p.Masked().String()
	}
	return withoutHostMask(cidr), nil
}

func (f *firewallList) find(cidr string) int {
	return slices.IndexFunc(f.entries, func(e firewallEntry) bool { return e["cidr"] == cidr })
}

func (s *firewallScope) memberRead(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	i := set.find(c.params.str("cidr"))
	if i < 0 {
		return nil, badParams(map[string]string{"cidr": "no such IP/Network"})
	}
	return entriesAsAPI(set.entries)[i], nil
}

// memberUpdate replaces what is said of a member.
func (s *firewallScope) memberUpdate(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	if err := c.unmodified(firewallDigest(set.entries...)); err != nil {
		return nil, err
	}
	i := set.find(c.params.str("cidr"))
	if i < 0 {
		return nil, badParams(map[string]string{"cidr": "no such IP/Network"})
	}
	set.entries[i] = newMember(c.params.str("cidr"), c.params)
	return nil, nil
}

// memberDelete succeeds without such a member, too.
func (s *firewallScope) memberDelete(c *call) (any, error) {
	set, err := s.set(c)
	if err != nil {
		return nil, err
	}
	if err := c.unmodified(firewallDigest(set.entries...)); err != nil {
		return nil, err
	}
	set.entries = slices.DeleteFunc(set.entries, func(e firewallEntry) bool { return e["cidr"] == c.params.str("cidr") })
	return nil, nil
}

// refs lists what rules may name: the cluster's, then the guest's own.
func (s *firewallScope) refs(c *call) (any, error) {
	out := []map[string]any{}
	if s.cluster == nil {
		return s.conf.refs(out, "dc", c.params.str("type")), nil
	}
	out = s.cluster.refs(out, "dc", c.params.str("type"))
	return s.conf.refs(out, "guest", c.params.str("type")), nil
}

func (f *firewallConf) refs(out []map[string]any, scope, only string) []map[string]any {
	add := func(kind, name, ref, comment string) {
		if only != "" && only != kind {
			return
		}
		e := map[string]any{"type": kind, "name": name, "ref": ref, "scope": scope}
		if comment != "" {
			e["comment"] = comment
		}
		out = append(out, e)
	}
	for _, name := range sortedKeys(f.sets) {
		add("ipset", name, "+"+name, f.sets[name].comment)
	}
	for _, name := range sortedKeys(f.aliases) {
		add("alias", name, name, f.aliases[name]["comment"])
	}
	return out
}

func withoutHostMask(cidr string) string {
	if strings.Contains(cidr, ":") {
		return strings.TrimSuffix(cidr, "/128")
	}
	return strings.TrimSuffix(cidr, "/32")
}

func ipVersion(cidr string) string {
	if strings.Contains(cidr, ":") {
		return "6"
	}
	return "4"
}
