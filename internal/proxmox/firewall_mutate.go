package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrForeign says that the firewall of a node, of the cluster or of a security
// group is nobody's guest: it is changed only by who asks for that.
var ErrForeign = errors.New("the firewall does not belong to a guest that was made here: it is changed only with foreign = true")

// FirewallPermission permits one mutation of one firewall. [*Owned] does of its
// guest's, [*SharedFirewall] of what belongs to no guest.
type FirewallPermission interface {
	spendOn(scope FirewallScope) (FirewallScope, grant, error)
}

// SharedFirewall permits one mutation of the firewall of a node, of the cluster
// or of a security group.
type SharedFirewall struct {
	permission permission
	scope      FirewallScope
}

// SharedFirewall permits one mutation of a firewall that belongs to no guest.
// foreign is what the user said to that; without it, and for guests, it refuses.
func (g *Gate) SharedFirewall(scope FirewallScope, foreign bool) (*SharedFirewall, error) {
	if !foreign || scope.OfGuest() {
		return nil, ErrForeign
	}
	granted := &SharedFirewall{scope: scope}
	granted.permission.granted = true
	return granted, nil
}

func (p *SharedFirewall) spendOn(scope FirewallScope) (FirewallScope, grant, error) {
	if p == nil {
		return FirewallScope{}, grant{}, ErrNoPermission
	}
	if p.scope != scope {
		return FirewallScope{}, grant{}, fmt.Errorf("%w: it is for %s, not for %s", ErrNoPermission, p.scope, scope)
	}
	granted, err := p.permission.spend()
	return scope, granted, err
}

func (o *Owned) spendOn(scope FirewallScope) (FirewallScope, grant, error) {
	if o == nil || !scope.OfGuest() || scope.VMID != o.VMID() {
		return FirewallScope{}, grant{}, ErrNoPermission
	}
	granted, err := o.spend()
	scope.Node = granted.node
	return scope, granted, err
}

// Marked finds whose guest has an id: it has to be in range and to carry a
// marker of this provider, else it is refused with an [*OwnershipError].
func (g *Gate) Marked(ctx context.Context, kind Kind, vmid int) (Guest, error) {
	guest := Guest{Kind: kind, VMID: vmid}
	if err := g.checkRange(guest); err != nil {
		return Guest{}, err
	}
	s, err := g.look(ctx, guest)
	if err != nil {
		return Guest{}, err
	}
	if s.config == nil {
		return Guest{}, g.refuse(guest, s)
	}
	marker, ok := s.config.Marker()
	if !ok {
		return Guest{}, g.refuse(guest, s)
	}
	return Guest{
		Kind: kind, VMID: vmid, Node: s.node, UID: marker.UID,
		SMBIOSUUID: s.config.SMBIOSUUID(), CTime: s.config.CTime(), MACs: s.config.MACs(),
	}, nil
}

// UnfilteredNICs are the slots of the network devices whose firewall flag is off,
// sorted: no rule concerns what passes them.
func (c *GuestConfig) UnfilteredNICs() []string {
	var slots []string
	for slot, value := range c.Current {
		if !nicSlot.MatchString(slot) {
			continue
		}
		props, err := ParseProps(value)
		if err != nil {
			continue
		}
		flag, _ := props.Get("firewall")
		if on, _ := parseBool(flag); !on {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slots
}

// change makes one call that spends a permission. It is not repeated once it may
// have reached PVE.
func (s *FirewallService) change(ctx context.Context, p FirewallPermission, scope FirewallScope, method string, rest []string, params url.Values) error {
	if p == nil {
		return ErrNoPermission
	}
	scope, granted, err := p.spendOn(scope)
	if err != nil {
		return err
	}
	return s.c.call(granted.guard(ctx, params), method, scope.path(rest...), params, nil)
}

// Insert makes a rule the first of the list: PVE knows no other place, and takes
// no digest.
func (s *FirewallService) Insert(ctx context.Context, p FirewallPermission, scope FirewallScope, rule FirewallRule) error {
	params := url.Values{"enable": {formatBool(rule.Enabled)}}
	for name, value := range rule.fields() {
		if *value != "" {
			params.Set(name, *value)
		}
	}
	return s.change(ctx, p, scope, http.MethodPost, []string{"rules"}, params)
}

// Move takes the rule at a position to before the one that is at another
// position now; the number of rules means the end.
func (s *FirewallService) Move(ctx context.Context, p FirewallPermission, scope FirewallScope, from, before int, digest string) error {
	params := url.Values{"moveto": {strconv.Itoa(before)}, "digest": {digest}}
	return s.change(ctx, p, scope, http.MethodPut, []string{"rules", strconv.Itoa(from)}, params)
}

// Replace changes the rule at a position in place, in one step.
func (s *FirewallService) Replace(ctx context.Context, p FirewallPermission, scope FirewallScope, pos int, old, rule FirewallRule, digest string) error {
	params := url.Values{"digest": {digest}}
	if old.Enabled != rule.Enabled {
		params.Set("enable", formatBool(rule.Enabled))
	}
	var gone []string
	before := old.fields()
	for name, value := range rule.fields() {
		switch *value {
		case *before[name]:
		case "":
			gone = append(gone, name)
		default:
			params.Set(name, *value)
		}
	}
	if len(gone) > 0 {
		params.Set("delete", strings.Join(slices.Sorted(slices.Values(gone)), ","))
	}
	return s.change(ctx, p, scope, http.MethodPut, []string{"rules", strconv.Itoa(pos)}, params)
}

// Remove removes the rule at a position.
func (s *FirewallService) Remove(ctx context.Context, p FirewallPermission, scope FirewallScope, pos int, digest string) error {
	return s.change(ctx, p, scope, http.MethodDelete, []string{"rules", strconv.Itoa(pos)}, url.Values{"digest": {digest}})
}

// SetOptions sets some options and takes others back to PVE's defaults, in one
// step.
func (s *FirewallService) SetOptions(ctx context.Context, p FirewallPermission, scope FirewallScope, set map[string]string, unset []string, digest string) error {
	params := url.Values{"digest": {digest}}
	for name, value := range set {
		params.Set(name, value)
	}
	if len(unset) > 0 {
		params.Set("delete", strings.Join(slices.Sorted(slices.Values(unset)), ","))
	}
	return s.change(ctx, p, scope, http.MethodPut, []string{"options"}, params)
}

// CreateSet makes an empty IP set; one of that name is an error ([IsExists]).
func (s *FirewallService) CreateSet(ctx context.Context, p FirewallPermission, scope FirewallScope, name string) error {
	return s.change(ctx, p, scope, http.MethodPost, []string{"ipset"}, url.Values{"name": {name}})
}

// DeleteSet removes an IP set with its members.
func (s *FirewallService) DeleteSet(ctx context.Context, p FirewallPermission, scope FirewallScope, name string) error {
	return s.change(ctx, p, scope, http.MethodDelete, []string{"ipset", name}, url.Values{"force": {formatBool(true)}})
}

// AddMember adds to an IP set. PVE takes no digest.
func (s *FirewallService) AddMember(ctx context.Context, p FirewallPermission, scope FirewallScope, set string, member FirewallMember) error {
	params := url.Values{"cidr": {member.CIDR}}
	if member.NoMatch {
		params.Set("nomatch", formatBool(true))
	}
	return s.change(ctx, p, scope, http.MethodPost, []string{"ipset", set}, params)
}

// UpdateMember changes whether a member of an IP set matches.
func (s *FirewallService) UpdateMember(ctx context.Context, p FirewallPermission, scope FirewallScope, set string, member FirewallMember, digest string) error {
	params := url.Values{"nomatch": {formatBool(bool(member.NoMatch))}, "digest": {digest}}
	if member.Comment != "" {
		params.Set("comment", member.Comment)
	}
	return s.change(ctx, p, scope, http.MethodPut, []string{"ipset", set, member.CIDR}, params)
}

// RemoveMember removes from an IP set. One that is not in it is no error.
func (s *FirewallService) RemoveMember(ctx context.Context, p FirewallPermission, scope FirewallScope, set, cidr, digest string) error {
	return s.change(ctx, p, scope, http.MethodDelete, []string{"ipset", set, cidr}, url.Values{"digest": {digest}})
}

// CreateAlias makes an alias; one of that name is an error ([IsExists]).
func (s *FirewallService) CreateAlias(ctx context.Context, p FirewallPermission, scope FirewallScope, alias FirewallAlias) error {
	return s.change(ctx, p, scope, http.MethodPost, []string{"aliases"}, alias.params())
}

// UpdateAlias gives an alias another address.
func (s *FirewallService) UpdateAlias(ctx context.Context, p FirewallPermission, scope FirewallScope, alias FirewallAlias, digest string) error {
	params := alias.params()
	params.Del("name")
	params.Set("digest", digest)
	return s.change(ctx, p, scope, http.MethodPut, []string{"aliases", alias.Name}, params)
}

func (a FirewallAlias) params() url.Values {
	params := url.Values{"name": {a.Name}, "cidr": {a.CIDR}}
	if a.Comment != "" {
		params.Set("comment", a.Comment)
	}
	return params
}

// DeleteAlias removes an alias. One that is not there is no error.
func (s *FirewallService) DeleteAlias(ctx context.Context, p FirewallPermission, scope FirewallScope, name, digest string) error {
	return s.change(ctx, p, scope, http.MethodDelete, []string{"aliases", name}, url.Values{"digest": {digest}})
}

// CreateGroup makes the scope's security group; one of that name is an error
// ([IsExists]).
func (s *FirewallService) CreateGroup(ctx context.Context, p FirewallPermission, scope FirewallScope, comment string) error {
	params := url.Values{"group": {scope.Group}}
	if comment != "" {
		params.Set("comment", comment)
	}
	return s.group(ctx, p, scope, params)
}

// CommentGroup changes the comment of the scope's security group.
func (s *FirewallService) CommentGroup(ctx context.Context, p FirewallPermission, scope FirewallScope, comment string) error {
	return s.group(ctx, p, scope, url.Values{"group": {scope.Group}, "rename": {scope.Group}, "comment": {comment}})
}

func (s *FirewallService) group(ctx context.Context, p FirewallPermission, scope FirewallScope, params url.Values) error {
	if p == nil {
		return ErrNoPermission
	}
	if _, _, err := p.spendOn(scope); err != nil {
		return err
	}
	return s.c.call(guarded(ctx), http.MethodPost, at("cluster", "firewall", "groups"), params, nil)
}

// DeleteGroup removes the scope's security group, which has to be empty.
func (s *FirewallService) DeleteGroup(ctx context.Context, p FirewallPermission, scope FirewallScope) error {
	return s.change(ctx, p, scope, http.MethodDelete, nil, nil)
}
