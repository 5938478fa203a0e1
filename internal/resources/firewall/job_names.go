package firewall

import (
	"context"
	"net/netip"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

const accepts = "ACCEPT"

// referenceOf is the name of a set ("+name") or an alias that one end of a rule
// names, wherever it is said to be.
func referenceOf(end string) string {
	set := strings.HasPrefix(end, "+")
	name := strings.TrimPrefix(end, "+")
	for _, prefix := range []string{"guest/", "dc/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if set {
		return "+" + name
	}
	if aliasForm.MatchString(name) {
		return name
	}
	return ""
}

// usage is what rules do by a name.
type usage struct{ allows, refuses bool }

// usage looks at the rules that are and that are to be. What filters a network
// device's senders allows; of the cluster's names it is taken that they do.
func (j *job) usage(name string) usage {
	var found usage
	for _, list := range [][]proxmox.FirewallRule{j.cur.rules.Rules, j.want.rules} {
		for _, rule := range list {
			if !rule.Enabled || referenceOf(rule.Source) != name && referenceOf(rule.Destination) != name {
				continue
			}
			found.allows = found.allows || rule.Action == accepts
			found.refuses = found.refuses || rule.Action != accepts
		}
	}
	if strings.HasPrefix(name, "+"+filterSet) || !found.refuses && !j.scope.OfGuest() {
		found.allows = true
	}
	return found
}

// nameChange is one change of what a name means.
type nameChange struct {
	name string
	// grows is set where the name means more after it, shrinks where it means
	// less. An alias may do both.
	grows, shrinks bool
	usage          usage
	do             func(context.Context, *job) error
}

// moment tells when the change is due. While a name both allows and refuses, the
// rules that allow by it are turned off.
func (c nameChange) moment() moment {
	switch {
	case c.grows && c.shrinks:
		return turning
	case c.usage.refuses:
		return map[bool]moment{true: early, false: late}[c.grows]
	case c.usage.allows:
		return map[bool]moment{true: late, false: early}[c.grows]
	}
	return early
}

type nameChanges []nameChange

func (all nameChanges) at(m moment) bool {
	for _, c := range all {
		if c.moment() == m {
			return true
		}
	}
	return false
}

// mixed are the names that both allow and refuse, and change.
func (all nameChanges) mixed() map[string]bool {
	found := map[string]bool{}
	for _, c := range all {
		if c.usage.allows && c.usage.refuses {
			found[c.name] = true
		}
	}
	return found
}

// nameChanges are the changes of names that exist.
func (j *job) nameChanges() nameChanges {
	var all nameChanges
	for _, name := range j.want.names() {
		if has, exists := j.cur.sets[name]; exists {
			all = append(all, j.memberChanges(name, has)...)
		}
	}
	for name, cidr := range j.want.aliases {
		has, exists := j.cur.aliases[name]
		if !exists || has.CIDR == cidr {
			continue
		}
		change := nameChange{name: name, usage: j.usage(name), do: updateAlias(name, cidr)}
		change.grows, change.shrinks = !contains(has.CIDR, cidr), !contains(cidr, has.CIDR)
		all = append(all, change)
	}
	return all
}

func (j *job) memberChanges(set string, has map[string]proxmox.FirewallMember) nameChanges {
	var all nameChanges
	use := j.usage("+" + set)
	add := func(grows bool, do func(context.Context, *job) error) {
		all = append(all, nameChange{name: "+" + set, grows: grows, shrinks: !grows, usage: use, do: do})
	}
	for cidr, except := range j.want.sets[set] {
		member, exists := has[cidr]
		switch {
		case !exists:
			add(!except, addMember(set, cidr, except))
		case bool(member.NoMatch) != except:
			add(!except, updateMember(set, cidr, except))
		}
	}
	for cidr, member := range has {
		if _, wanted := j.want.sets[set][cidr]; !wanted {
			add(bool(member.NoMatch), removeMember(set, cidr))
		}
	}
	return all
}

// contains reports whether a network holds all of another one.
func contains(outer, inner string) bool {
	wide, ok := networkOf(outer)
	narrow, ok2 := networkOf(inner)
	return ok && ok2 && wide.Bits() <= narrow.Bits() && wide.Contains(narrow.Addr())
}

func networkOf(cidr string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(cidr); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(cidr)
	return prefix, err == nil
}

func addMember(set, cidr string, except bool) func(context.Context, *job) error {
	member := proxmox.FirewallMember{CIDR: cidr, NoMatch: proxmox.Bool(except)}
	return func(ctx context.Context, j *job) error {
		return j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.AddMember(ctx, p, j.scope, set, member)
		})
	}
}

func updateMember(set, cidr string, except bool) func(context.Context, *job) error {
	return func(ctx context.Context, j *job) error {
		digest, err := j.readSet(ctx, set)
		if err != nil {
			return err
		}
		member := j.cur.sets[set][cidr]
		member.NoMatch = proxmox.Bool(except)
		return j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.UpdateMember(ctx, p, j.scope, set, member, digest)
		})
	}
}

func removeMember(set, cidr string) func(context.Context, *job) error {
	return func(ctx context.Context, j *job) error {
		digest, err := j.readSet(ctx, set)
		if err != nil {
			return err
		}
		return j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.RemoveMember(ctx, p, j.scope, set, cidr, digest)
		})
	}
}

func updateAlias(name, cidr string) func(context.Context, *job) error {
	return func(ctx context.Context, j *job) error {
		digest, err := j.aliasDigest(ctx)
		if err != nil {
			return err
		}
		alias := proxmox.FirewallAlias{Name: name, CIDR: cidr, Comment: j.cur.aliases[name].Comment}
		return j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.UpdateAlias(ctx, p, j.scope, alias, digest)
		})
	}
}

// changeNames makes the changes that are due. What was found when the job began
// is changed; somebody else's doings meanwhile make it begin anew.
func (j *job) changeNames(moments ...moment) work {
	changes := j.nameChanges()
	return func(ctx context.Context) error {
		for _, m := range moments {
			for _, c := range changes {
				if c.moment() != m {
					continue
				}
				if err := c.do(ctx, j); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// newNames reports whether a set or an alias is to be made.
func (j *job) newNames() bool {
	for name := range j.want.sets {
		if _, exists := j.cur.sets[name]; !exists {
			return true
		}
	}
	for name := range j.want.aliases {
		if _, exists := j.cur.aliases[name]; !exists {
			return true
		}
	}
	return false
}

// makeNames makes the aliases and sets that do not exist yet, before rules use
// them.
func (j *job) makeNames(ctx context.Context) error {
	for _, name := range names(j.want.aliases, nil) {
		if _, exists := j.cur.aliases[name]; exists {
			continue
		}
		alias := proxmox.FirewallAlias{Name: name, CIDR: j.want.aliases[name]}
		err := j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.CreateAlias(ctx, p, j.scope, alias)
		})
		if err != nil {
			return err
		}
	}
	for _, name := range j.want.names() {
		if _, exists := j.cur.sets[name]; exists {
			continue
		}
		if err := j.makeSet(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) makeSet(ctx context.Context, name string) error {
	err := j.change(ctx, func(p proxmox.FirewallPermission) error {
		return j.client.Firewall.CreateSet(ctx, p, j.scope, name)
	})
	if err != nil {
		return err
	}
	for cidr, except := range j.want.sets[name] {
		if err := addMember(name, cidr, except)(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// dropNames removes the sets and aliases that the resource had and no longer
// wants, once no rule of its own uses them.
func (j *job) dropNames(ctx context.Context) error {
	for name := range j.was.sets {
		_, wanted := j.want.sets[name]
		if _, exists := j.cur.sets[name]; wanted || !exists {
			continue
		}
		err := j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.DeleteSet(ctx, p, j.scope, name)
		})
		if err != nil && !proxmox.IsNotFound(err) {
			return err
		}
	}
	for name := range j.was.aliases {
		_, wanted := j.want.aliases[name]
		if _, exists := j.cur.aliases[name]; wanted || !exists {
			continue
		}
		digest, err := j.aliasDigest(ctx)
		if err != nil {
			return err
		}
		err = j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.DeleteAlias(ctx, p, j.scope, name, digest)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
