package plan_test

import (
	"net/netip"
	"strconv"
	"strings"

	"terraform-provider-proxmox/internal/resources/firewall/plan"
)

// packet is traffic to be judged.
type packet struct {
	direction, iface, protocol string
	source, destination        netip.Addr
	port                       int
}

// groups are the security groups of the tests.
var groups = map[string][]plan.Rule{
	"web":   {rule("in ACCEPT tcp 80"), rule("in DROP tcp 443")},
	"admin": {rule("in DROP from 10.0.0.0/24"), rule("in ACCEPT from 10.0.0.0/8"), rule("out DROP")},
	"empty": {},
}

// macros are what the macros of the tests stand for.
var macros = map[string]plan.Rule{"SSH": rule("in ACCEPT tcp 22"), "DNS": rule("in ACCEPT udp 53")}

// decide judges a packet as PVE does: the first rule that matches, else the
// policy. It returns ACCEPT or another word.
func decide(list []plan.Rule, p packet, policy string) string {
	if verdict := judge(list, p); verdict != "" {
		return verdict
	}
	return policy
}

// judge returns "" where no rule matches.
func judge(list []plan.Rule, p packet) string {
	for _, r := range list {
		switch {
		case !r.Enabled:
		case r.Type == "group":
			if r.Interface != "" && r.Interface != p.iface {
				continue
			}
			if verdict := judge(groups[r.Action], p); verdict != "" {
				return verdict
			}
		case matches(r, p):
			return r.Action
		}
	}
	return ""
}

func matches(r plan.Rule, p packet) bool {
	if r.Macro != "" {
		m := macros[r.Macro]
		m.Type = r.Type
		if !matches(m, p) {
			return false
		}
	}
	return r.Type == p.direction && (r.Interface == "" || r.Interface == p.iface) &&
		(r.Protocol == "" || r.Protocol == p.protocol) &&
		within(r.Source, p.source) && within(r.Destination, p.destination) && among(r.DestinationPort, p.port)
}

func within(list string, address netip.Addr) bool {
	if list == "" {
		return true
	}
	for _, item := range strings.Split(list, ",") {
		if prefix, err := netip.ParsePrefix(item); err == nil && prefix.Contains(address) {
			return true
		}
		if single, err := netip.ParseAddr(item); err == nil && single == address {
			return true
		}
	}
	return false
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
		first, _ := strconv.Atoi(low)
		last, _ := strconv.Atoi(high)
		if first <= port && port <= last {
			return true
		}
	}
	return false
}

// rule reads "in ACCEPT tcp 22 from 10.0.0.0/8 to 10.1.1.1 on net0 # comment",
// "group web", "| in DROP" for one that is off, and "in SSH(ACCEPT)".
func rule(text string) plan.Rule {
	text, comment, _ := strings.Cut(text, " # ")
	r := plan.Rule{Enabled: true, Comment: comment}
	words := strings.Fields(text)
	if words[0] == "|" {
		r.Enabled = false
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

// packets are all that the rules of the tests can tell apart.
var packets = allPackets()

func allPackets() []packet {
	var all []packet
	for _, direction := range []string{"in", "out"} {
		for _, iface := range []string{"net0", "net1"} {
			for _, source := range []string{"10.0.0.5", "10.0.7.5", "10.9.0.5", "192.168.1.5", "8.8.8.8"} {
				for _, traffic := range []string{"tcp/22", "tcp/80", "tcp/443", "tcp/8006", "udp/53", "udp/9", "icmp/0"} {
					protocol, port, _ := strings.Cut(traffic, "/")
					number, _ := strconv.Atoi(port)
					all = append(all, packet{
						direction: direction, iface: iface, protocol: protocol, port: number,
						source: netip.MustParseAddr(source), destination: netip.MustParseAddr("10.1.1.1"),
					})
				}
			}
		}
	}
	return all
}
