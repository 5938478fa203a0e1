package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// FirewallService reads and changes the firewall of guests, nodes, the cluster,
// and security groups.
type FirewallService struct {
	c *Client

	mu   sync.Mutex
	held map[string]chan struct{}
}

// FirewallKind is what a firewall belongs to.
type FirewallKind string

// The kinds of firewalls.
const (
	FirewallVM        FirewallKind = "vm"
	FirewallContainer FirewallKind = "container"
	FirewallNode      FirewallKind = "node"
	FirewallCluster   FirewallKind = "cluster"
	FirewallGroup     FirewallKind = "security_group"
)

// FirewallScope names one firewall.
type FirewallScope struct {
	Kind FirewallKind
	// VMID is a guest's id.
	VMID int
	// Node is the node, or for a guest any node that is online: the file of a
	// guest's firewall is the cluster's.
	Node string
	// Group is a security group's name, in lower case: PVE writes it so.
	Group string
}

// OfGuest reports whether the scope is a guest's.
func (s FirewallScope) OfGuest() bool { return s.Kind == FirewallVM || s.Kind == FirewallContainer }

// GuestKind is the kind of the guest that the scope belongs to.
func (s FirewallScope) GuestKind() Kind {
	if s.Kind == FirewallContainer {
		return KindContainer
	}
	return KindVM
}

// String names the scope, whatever node a guest is on: vm/110, node/pve1,
// cluster, security_group/web.
func (s FirewallScope) String() string {
	switch s.Kind {
	case FirewallVM, FirewallContainer:
		return string(s.Kind) + "/" + strconv.Itoa(s.VMID)
	case FirewallNode:
		return string(s.Kind) + "/" + s.Node
	case FirewallGroup:
		return string(s.Kind) + "/" + s.Group
	case FirewallCluster:
	}
	return string(s.Kind)
}

// path is the path of what the scope holds. A security group's rules are the
// group itself.
func (s FirewallScope) path(rest ...string) string {
	switch s.Kind {
	case FirewallVM, FirewallContainer:
		return at(append([]string{"nodes", s.Node, string(s.GuestKind()), strconv.Itoa(s.VMID), "firewall"}, rest...)...)
	case FirewallNode:
		return at(append([]string{"nodes", s.Node, "firewall"}, rest...)...)
	case FirewallGroup:
		if len(rest) > 0 && rest[0] == "rules" {
			rest = rest[1:]
		}
		return at(append([]string{"cluster", "firewall", "groups", s.Group}, rest...)...)
	case FirewallCluster:
	}
	return at(append([]string{"cluster", "firewall"}, rest...)...)
}

// FirewallRule is one rule. Empty fields match everything.
type FirewallRule struct {
	// Type is in, out, forward, or group; of a group Action is the security
	// group's name, else ACCEPT, DROP or REJECT.
	Type, Action string
	// Enabled is false for a rule that is kept and does nothing.
	Enabled bool
	Macro   string
	// Protocol is a name or number of /etc/protocols. Ports are numbers, ranges
	// with a colon, or names of /etc/services, with commas between them.
	Protocol, SourcePort, DestinationPort, ICMPType string
	// Source and Destination are addresses, networks, a range, an alias, or
	// "+" and the name of an IP set.
	Source, Destination string
	Interface           string
	LogLevel            string
	Comment             string
}

// fields are the rule's texts by PVE's names.
func (r *FirewallRule) fields() map[string]*string {
	return map[string]*string{
		"type": &r.Type, "action": &r.Action, "macro": &r.Macro, "proto": &r.Protocol,
		"sport": &r.SourcePort, "dport": &r.DestinationPort, "icmp-type": &r.ICMPType,
		"source": &r.Source, "dest": &r.Destination, "iface": &r.Interface, "log": &r.LogLevel, "comment": &r.Comment,
	}
}

// UnmarshalJSON reads a rule as PVE lists it.
func (r *FirewallRule) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for name, field := range r.fields() {
		if value, ok := raw[name]; ok {
			if err := json.Unmarshal(value, (*Text)(field)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	var enable Int
	if value, ok := raw["enable"]; ok {
		if err := json.Unmarshal(value, &enable); err != nil {
			return fmt.Errorf("enable: %w", err)
		}
	}
	r.Enabled = enable != 0
	return nil
}

// FirewallRules is an ordered list of rules. The digest is of its content, and
// empty for an empty list.
type FirewallRules struct {
	Rules  []FirewallRule
	Digest string
}

// Rules reads a scope's rules. The firewall of a guest that does not exist is
// empty.
func (s *FirewallService) Rules(ctx context.Context, scope FirewallScope) (FirewallRules, error) {
	var list FirewallRules
	digest, err := s.list(ctx, scope.path("rules"), &list.Rules)
	list.Digest = digest
	return list, err
}

// list reads a list whose entries carry the digest of all.
func (s *FirewallService) list(ctx context.Context, path string, out any) (digest string, err error) {
	var raw json.RawMessage
	if err := s.c.get(ctx, path, nil, &raw); err != nil {
		return "", err
	}
	var digests []struct {
		Digest string `json:"digest"`
	}
	for _, into := range []any{&digests, out} {
		if err := json.Unmarshal(raw, into); err != nil {
			return "", fmt.Errorf("GET %s: the answer is not one of PVE's API: %w", path, err)
		}
	}
	if len(digests) == 0 {
		return "", nil
	}
	return digests[0].Digest, nil
}

// FirewallOptions are the options that are set, by PVE's names; numbers as text.
type FirewallOptions struct {
	Values map[string]string
	Digest string
}

// Options reads a scope's options. Security groups have none.
func (s *FirewallService) Options(ctx context.Context, scope FirewallScope) (FirewallOptions, error) {
	var raw map[string]Text
	if err := s.c.get(ctx, scope.path("options"), nil, &raw); err != nil {
		return FirewallOptions{}, err
	}
	options := FirewallOptions{Values: map[string]string{}, Digest: string(raw["digest"])}
	for name, value := range raw {
		if name != "digest" {
			options.Values[name] = string(value)
		}
	}
	return options, nil
}

// FirewallAlias is a name for an address or a network.
type FirewallAlias struct {
	Name    string `json:"name"`
	CIDR    string `json:"cidr"`
	Comment string `json:"comment"`
}

// Aliases reads a scope's aliases and their digest. Nodes and security groups
// have none.
func (s *FirewallService) Aliases(ctx context.Context, scope FirewallScope) ([]FirewallAlias, string, error) {
	var list []FirewallAlias
	digest, err := s.list(ctx, scope.path("aliases"), &list)
	return list, digest, err
}

// FirewallMember is an address, network or alias in an IP set; NoMatch takes it
// out of a larger one.
type FirewallMember struct {
	CIDR    string `json:"cidr"`
	NoMatch Bool   `json:"nomatch"`
	Comment string `json:"comment"`
}

// Members reads an IP set and its digest. A set that does not exist is an error
// ([IsNotFound]).
func (s *FirewallService) Members(ctx context.Context, scope FirewallScope, set string) ([]FirewallMember, string, error) {
	var list []FirewallMember
	digest, err := s.list(ctx, scope.path("ipset", set), &list)
	return list, digest, err
}

// Sets lists the names of a scope's IP sets.
func (s *FirewallService) Sets(ctx context.Context, scope FirewallScope) ([]string, error) {
	var list []struct {
		Name string `json:"name"`
	}
	if err := s.c.get(ctx, scope.path("ipset"), nil, &list); err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, each := range list {
		names[i] = each.Name
	}
	return names, nil
}

// Groups lists the security groups: their comments by name.
func (s *FirewallService) Groups(ctx context.Context) (map[string]string, error) {
	var list []struct {
		Group   string `json:"group"`
		Comment string `json:"comment"`
	}
	if err := s.c.get(ctx, at("cluster", "firewall", "groups"), nil, &list); err != nil {
		return nil, err
	}
	groups := make(map[string]string, len(list))
	for _, each := range list {
		groups[each.Group] = each.Comment
	}
	return groups, nil
}

// FirewallMacros lists the macros that rules may name, sorted.
func (v *View) FirewallMacros(ctx context.Context) ([]string, error) {
	return shared(ctx, v, viewKey{what: "macros"}, func(ctx context.Context) ([]string, error) {
		var list []struct {
			Macro string `json:"macro"`
		}
		if err := v.c.get(ctx, at("cluster", "firewall", "macros"), nil, &list); err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for _, each := range list {
			names[each.Macro] = true
		}
		return slices.Sorted(maps.Keys(names)), nil
	})
}

// Hold waits for the firewall of a scope and keeps it from others in this
// process until release is called: two of them that change one list would only
// make each other begin again.
func (s *FirewallService) Hold(ctx context.Context, scope FirewallScope) (release func(), err error) {
	slot := s.slot(scope.String())
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *FirewallService) slot(key string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]chan struct{}{}
	}
	if s.held[key] == nil {
		s.held[key] = make(chan struct{}, 1)
	}
	return s.held[key]
}
