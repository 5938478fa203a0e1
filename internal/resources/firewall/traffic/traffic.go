// Package traffic judges packets by a firewall's rules as PVE does, so that tests
// can hold two states of a firewall against each other.
package traffic

import (
	"net/netip"
	"strconv"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// Packet is traffic to be judged.
type Packet struct {
	// Direction is in or out, Interface the guest's network device.
	Direction, Interface, Protocol string
	Source, Destination            netip.Addr
	Port                           int
}

// Firewall is one state of a firewall.
type Firewall struct {
	// Off lets everything pass.
	Off     bool
	Rules   []proxmox.FirewallRule
	Policy  map[string]string
	Groups  map[string][]proxmox.FirewallRule
	Sets    map[string]map[string]bool
	Aliases map[string]string
	// Filters are the sets of addresses that a network device may send from.
	Filters map[string]map[string]bool
}

// macros are what some macros stand for.
var macros = map[string]struct {
	protocol string
	port     int
}{"SSH": {"tcp", 22}, "DNS": {"udp", 53}, "HTTP": {"tcp", 80}, "HTTPS": {"tcp", 443}}

// Allows judges a packet: the first rule that matches decides, else the policy.
func (f Firewall) Allows(p Packet) bool {
	if f.Off {
		return true
	}
	if filter, filtered := f.Filters[p.Interface]; filtered && p.Direction == "out" && !f.among(filter, p.Source) {
		return false
	}
	verdict := f.judge(f.Rules, p)
	if verdict == "" {
		verdict = f.Policy[p.Direction]
	}
	return verdict == "ACCEPT"
}

// judge returns "" where no rule matches.
func (f Firewall) judge(list []proxmox.FirewallRule, p Packet) string {
	for _, r := range list {
		switch {
		case !r.Enabled || r.Interface != "" && r.Interface != p.Interface:
		case r.Type == "group":
			if verdict := f.judge(f.Groups[r.Action], p); verdict != "" {
				return verdict
			}
		case f.matches(r, p):
			return r.Action
		}
	}
	return ""
}

func (f Firewall) matches(r proxmox.FirewallRule, p Packet) bool {
	if macro, ok := macros[r.Macro]; ok && (macro.protocol != p.Protocol || macro.port != p.Port) {
		return false
	}
	return r.Type == p.Direction && (r.Protocol == "" || r.Protocol == p.Protocol) &&
		f.within(r.Source, p.Source) && f.within(r.Destination, p.Destination) && among(r.DestinationPort, p.Port)
}

func (f Firewall) within(end string, address netip.Addr) bool {
	if end == "" {
		return true
	}
	if set, isSet := strings.CutPrefix(end, "+"); isSet {
		return f.among(f.Sets[set], address)
	}
	if cidr, isAlias := f.Aliases[end]; isAlias {
		end = cidr
	}
	for _, item := range strings.Split(end, ",") {
		if prefix, err := netip.ParsePrefix(item); err == nil && prefix.Contains(address) {
			return true
		}
		if single, err := netip.ParseAddr(item); err == nil && single == address {
			return true
		}
	}
	return false
}

// among reports whether a set holds an address; its exceptions come first.
func (f Firewall) among(set map[string]bool, address netip.Addr) bool {
	in := false
	for member, except := range set {
		if f.within(member, address) {
			if except {
				return false
			}
			in = true
		}
	}
	return in
}

func among(list string, port int) bool {
	if list == "" {
		return true
	}
	for _, item := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(item, ":")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		if err == nil && err2 == nil && first <= port && port <= last {
			return true
		}
	}
	return false
}

// Rule reads "in ACCEPT tcp 22 from 10.0.0.0/8 to 10.1.1.1 on net0 # comment",
// "group web", "in SSH(ACCEPT)", and with "| " before it a rule that is off.
func Rule(text string) proxmox.FirewallRule {
	text, comment, _ := strings.Cut(text, " # ")
	words := strings.Fields(text)
	r := proxmox.FirewallRule{Enabled: words[0] != "|", Comment: comment}
	if !r.Enabled {
		words = words[1:]
	}
	r.Type, r.Action = words[0], words[1]
	if macro, action, ok := strings.Cut(r.Action, "("); ok {
		r.Macro, r.Action = macro, strings.TrimSuffix(action, ")")
	}
	for i := 2; i < len(words); i++ {
		switch words[i] {
		case "from":
			i++
			r.Source = words[i]
		case "to":
			i++
			r.Destination = words[i]
		case "on":
			i++
			r.Interface = words[i]
		case "tcp", "udp":
			r.Protocol = words[i]
		default:
			r.DestinationPort = words[i]
		}
	}
	return r
}

// Packets are packets that rules about these addresses and the usual ports can
// tell apart.
func Packets(addresses ...string) []Packet {
	var all []Packet
	for _, direction := range []string{"in", "out"} {
		for _, iface := range []string{"net0", "net1"} {
			for _, source := range addresses {
				for _, kind := range []string{"tcp/22", "tcp/80", "tcp/443", "tcp/8006", "udp/53", "udp/9", "icmp/0"} {
					protocol, port, _ := strings.Cut(kind, "/")
					number, _ := strconv.Atoi(port)
					all = append(all, Packet{
						Direction: direction, Interface: iface, Protocol: protocol, Port: number,
						Source: netip.MustParseAddr(source), Destination: netip.MustParseAddr("10.1.1.1"),
					})
				}
			}
		}
	}
	return all
}
