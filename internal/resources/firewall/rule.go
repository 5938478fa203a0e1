package firewall

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

const (
	directionIn      = "in"
	directionForward = "forward"
	directionGroup   = "group"
)

// ruleModel is a rule in the configuration and in the state.
type ruleModel struct {
	Direction       types.String `tfsdk:"direction"`
	Action          types.String `tfsdk:"action"`
	Enabled         types.Bool   `tfsdk:"enabled"`
	Macro           types.String `tfsdk:"macro"`
	Protocol        types.String `tfsdk:"protocol"`
	SourcePort      types.String `tfsdk:"source_port"`
	DestinationPort types.String `tfsdk:"destination_port"`
	ICMPType        types.String `tfsdk:"icmp_type"`
	Source          types.String `tfsdk:"source"`
	Destination     types.String `tfsdk:"destination"`
	Interface       types.String `tfsdk:"interface"`
	LogLevel        types.String `tfsdk:"log_level"`
	Comment         types.String `tfsdk:"comment"`
}

var ruleTypes = map[string]attr.Type{
	"direction": types.StringType, "action": types.StringType, "enabled": types.BoolType, "macro": types.StringType,
	"protocol": types.StringType, "source_port": types.StringType, "destination_port": types.StringType,
	"icmp_type": types.StringType, "source": types.StringType, "destination": types.StringType,
	"interface": types.StringType, "log_level": types.StringType, "comment": types.StringType,
}

// rule is the rule as PVE has it.
func (m ruleModel) rule() proxmox.FirewallRule {
	return proxmox.FirewallRule{
		Type: m.Direction.ValueString(), Action: m.Action.ValueString(), Enabled: m.Enabled.IsNull() || m.Enabled.ValueBool(),
		Macro: m.Macro.ValueString(), Protocol: m.Protocol.ValueString(),
		SourcePort: m.SourcePort.ValueString(), DestinationPort: m.DestinationPort.ValueString(), ICMPType: m.ICMPType.ValueString(),
		Source: m.Source.ValueString(), Destination: m.Destination.ValueString(),
		Interface: m.Interface.ValueString(), LogLevel: m.LogLevel.ValueString(), Comment: m.Comment.ValueString(),
	}
}

// known reports whether all of the rule is known already.
func (m ruleModel) known() bool {
	for _, value := range []attr.Value{
		m.Direction, m.Action, m.Enabled, m.Macro, m.Protocol, m.SourcePort, m.DestinationPort, m.ICMPType, m.Source,
		m.Destination, m.Interface, m.LogLevel, m.Comment,
	} {
		if value.IsUnknown() {
			return false
		}
	}
	return true
}

// modelOf is a rule for the state.
func modelOf(r proxmox.FirewallRule) ruleModel {
	return ruleModel{
		Direction: types.StringValue(r.Type), Action: types.StringValue(r.Action), Enabled: types.BoolValue(r.Enabled),
		Macro: optional(r.Macro), Protocol: optional(r.Protocol),
		SourcePort: optional(r.SourcePort), DestinationPort: optional(r.DestinationPort), ICMPType: optional(r.ICMPType),
		Source: optional(r.Source), Destination: optional(r.Destination),
		Interface: optional(r.Interface), LogLevel: optional(r.LogLevel), Comment: optional(r.Comment),
	}
}

func optional(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// marker marks the rules of a resource that owns only its own.
type marker string

// String is what the marker looks like at the end of a comment.
func (m marker) String() string { return "[terraform:" + string(m) + "]" }

// put appends the marker to a rule's comment; no marker leaves it.
func (m marker) put(r proxmox.FirewallRule) proxmox.FirewallRule {
	if m != "" {
		r.Comment = strings.TrimSpace(r.Comment + " " + m.String())
	}
	return r
}

// has reports whether a rule carries the marker; without one all rules do.
func (m marker) has(r proxmox.FirewallRule) bool {
	return m == "" || r.Comment == m.String() || strings.HasSuffix(r.Comment, " "+m.String())
}

// strip takes the marker off a rule.
func (m marker) strip(r proxmox.FirewallRule) proxmox.FirewallRule {
	if m != "" {
		r.Comment = strings.TrimSpace(strings.TrimSuffix(r.Comment, m.String()))
	}
	return r
}

// problem is what is wrong with one attribute of a rule.
type problem struct{ attribute, text string }

var (
	macroForm     = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	guestNIC      = regexp.MustCompile(`^net\d+$`)
	lowerName     = regexp.MustCompile(`^[a-z][a-z0-9_-]+$`)
	nameForm      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
	setReference  = regexp.MustCompile(`^\+(guest/|dc/|sdn/)?[a-z][a-z0-9_-]{1,63}$`)
	aliasForm     = regexp.MustCompile(`^(guest/|dc/)?[A-Za-z][A-Za-z0-9_-]{1,63}$`)
	withPorts     = []string{"udp", "17", "udplite", "136", "tcp", "6", "dccp", "33", "sctp", "132"}
	icmpProtocols = []string{"icmp", "1", "icmpv6", "ipv6-icmp", "58"}
)

// checkRule finds what PVE would refuse in a rule, and what it would store in
// another form than written.
func checkRule(kind proxmox.FirewallKind, r proxmox.FirewallRule) []problem {
	found := checkPlace(kind, r)
	if r.Type == directionGroup {
		return append(found, checkReference(r)...)
	}
	if !slices.Contains(policies, r.Action) || r.Type == directionForward && r.Action == "REJECT" {
		found = append(found, problem{"action", "is ACCEPT, DROP or REJECT; forwarded traffic cannot be rejected"})
	}
	if r.Macro != "" && !macroForm.MatchString(r.Macro) {
		found = append(found, problem{"macro", "is not the name of a macro"})
	}
	found = append(found, checkTraffic(r)...)
	for attribute, value := range map[string]string{"source": r.Source, "destination": r.Destination} {
		if wrong := checkEnd(value); wrong != "" {
			found = append(found, problem{attribute, wrong})
		}
	}
	if wrong := checkComment(r.Comment); wrong != "" {
		found = append(found, problem{"comment", wrong})
	}
	return found
}

// checkPlace checks what depends on what the firewall belongs to.
func checkPlace(kind proxmox.FirewallKind, r proxmox.FirewallRule) []problem {
	var found []problem
	ofGuest := proxmox.FirewallScope{Kind: kind}.OfGuest()
	if r.Type == directionForward && ofGuest {
		found = append(found, problem{"direction", "forward is for nodes, the cluster and security groups: a guest's traffic is in or out"})
	}
	if r.Type == directionGroup && kind == proxmox.FirewallGroup {
		found = append(found, problem{"direction", "a security group cannot hold another one"})
	}
	switch {
	case r.Interface == "":
	case kind == proxmox.FirewallGroup:
		found = append(found, problem{"interface", "is not for rules of a security group"})
	case ofGuest && !guestNIC.MatchString(r.Interface):
		found = append(found, problem{"interface", "is the slot of the guest's network device, such as net0"})
	}
	return found
}

// checkReference checks a rule that stands for a security group.
func checkReference(r proxmox.FirewallRule) []problem {
	var found []problem
	if !nameForm.MatchString(r.Action) {
		found = append(found, problem{"action", "is the name of the security group"})
	}
	bare := proxmox.FirewallRule{Type: r.Type, Action: r.Action, Enabled: r.Enabled, Interface: r.Interface, Comment: r.Comment}
	if r != bare {
		found = append(found, problem{"direction", "a security group has its own rules: beside action only interface, enabled and comment can be set"})
	}
	if wrong := checkComment(r.Comment); wrong != "" {
		found = append(found, problem{"comment", wrong})
	}
	return found
}

// checkTraffic checks protocol, ports and ICMP type.
func checkTraffic(r proxmox.FirewallRule) []problem {
	var found []problem
	icmp := slices.Contains(icmpProtocols, r.Protocol)
	for attribute, ports := range map[string]string{"source_port": r.SourcePort, "destination_port": r.DestinationPort} {
		if ports == "" {
			continue
		}
		if wrong := checkPorts(ports); wrong != "" {
			found = append(found, problem{attribute, wrong})
		}
		if !slices.Contains(withPorts, r.Protocol) {
			found = append(found, problem{attribute, "needs a protocol that has ports: tcp, udp, sctp, dccp or udplite"})
		}
	}
	if r.ICMPType != "" && !icmp {
		found = append(found, problem{"icmp_type", "needs protocol icmp or icmpv6"})
	}
	return found
}

const (
	highestPort = 65535
	// mostPorts bounds a list of ports; a range counts as two.
	mostPorts = 15
)

// checkPorts checks a list of ports, ranges and names. Which names there are is
// the node's to know.
func checkPorts(list string) string {
	count := 0
	for _, item := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(item, ":")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		switch {
		case err != nil && !isRange && regexp.MustCompile(`^[a-z][a-z0-9_.+-]*$`).MatchString(item):
			continue
		case err != nil || err2 != nil || first < 0 || last > highestPort:
			return fmt.Sprintf("%q is neither a port, nor a range such as 8000:8080, nor the name of a service", item)
		case first > last:
			return fmt.Sprintf("%q is backwards", item)
		}
		count++
		if isRange {
			count++
		}
	}
	if count > mostPorts {
		return "holds more than 15 numbers; a range counts as two"
	}
	return ""
}

// checkEnd checks one end of the traffic.
func checkEnd(value string) string {
	switch {
	case value == "":
		return ""
	case strings.HasPrefix(value, "+"):
		if setReference.MatchString(value) {
			return ""
		}
		return "is not the name of an IP set, which is in lower case, after a +"
	case aliasForm.MatchString(value):
		return ""
	}
	version, items := "", strings.Split(value, ",")
	for _, item := range items {
		own, wrong := checkNetwork(item, len(items) == 1)
		if wrong != "" {
			return wrong
		}
		if version != "" && own != version {
			return "mixes IPv4 and IPv6"
		}
		version = own
	}
	return ""
}

// checkNetwork checks an address, a network or, alone, a range.
func checkNetwork(item string, alone bool) (version, wrong string) {
	if first, last, isRange := strings.Cut(item, "-"); isRange {
		from, err := netip.ParseAddr(first)
		to, err2 := netip.ParseAddr(last)
		if err != nil || err2 != nil || !alone || from.Is4() != to.Is4() || to.Less(from) {
			return "", fmt.Sprintf("%q is no range of addresses, or not alone", item)
		}
		return versionOf(from), ""
	}
	if address, err := netip.ParseAddr(item); err == nil {
		return versionOf(address), ""
	}
	network, err := netip.ParsePrefix(item)
	switch {
	case err != nil:
		return "", fmt.Sprintf("%q is neither an address, nor a network, nor a name", item)
	case network.Masked() != network:
		return "", fmt.Sprintf("%q has bits set behind its length: the network is %s", item, network.Masked())
	}
	return versionOf(network.Addr()), ""
}

func versionOf(address netip.Addr) string {
	if address.Is4() {
		return "4"
	}
	return "6"
}

// checkComment refuses what PVE would not keep: it stores a comment at the end
// of the rule's line.
func checkComment(comment string) string {
	if comment != strings.TrimSpace(comment) || strings.ContainsAny(comment, "\r\n") {
		return "is one line, without blanks at its ends"
	}
	return ""
}
