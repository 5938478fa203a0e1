package firewall

import (
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

// valueKind is the type of an option's value.
type valueKind int

const (
	truth valueKind = iota
	number
	text
)

// option is one option of PVE's firewall.
type option struct {
	// name is the attribute's, key PVE's.
	name, key string
	kind      valueKind
	scopes    []proxmox.FirewallKind
	// usual is PVE's default.
	usual string
	// closed is the value of a truth with which less is allowed, "" where it
	// makes no difference. policy marks what decides after all rules.
	closed string
	policy bool
	// words are the values of a text, least and most the bounds of a number.
	words       []string
	least, most int64
	about       string
}

var (
	guests     = []proxmox.FirewallKind{proxmox.FirewallVM, proxmox.FirewallContainer}
	nodes      = []proxmox.FirewallKind{proxmox.FirewallNode}
	cluster    = []proxmox.FirewallKind{proxmox.FirewallCluster}
	everywhere = slices.Concat(guests, nodes, cluster)
	logLevels  = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug", "nolog"}
	policies   = []string{"ACCEPT", "REJECT", "DROP"}
)

// keyEnable is PVE's name of the switch of a firewall.
const keyEnable = "enable"

// options are PVE's, from its API schema.
var options = []option{
	{name: "enabled", key: keyEnable, scopes: everywhere, about: "Whether the firewall is in force. A guest's is only where the cluster's is too, and on network devices whose own `firewall` is on. Unless set: off for guests and the cluster, on for nodes."},
	{name: "policy_in", key: "policy_in", kind: text, scopes: slices.Concat(guests, cluster), usual: "DROP", policy: true, words: policies, about: "What happens to incoming traffic that no rule matches; `DROP` unless set."},
	{name: "policy_out", key: "policy_out", kind: text, scopes: slices.Concat(guests, cluster), usual: "ACCEPT", policy: true, words: policies, about: "What happens to outgoing traffic that no rule matches; `ACCEPT` unless set."},
	{name: "policy_forward", key: "policy_forward", kind: text, scopes: cluster, usual: "ACCEPT", policy: true, words: []string{"ACCEPT", "DROP"}, about: "What happens to forwarded traffic that no rule matches; `ACCEPT` unless set."},
	{name: "dhcp", key: "dhcp", scopes: guests, usual: "0", closed: "0", about: "Whether DHCP is allowed whatever the rules say; not unless set."},
	{name: "ndp", key: "ndp", scopes: slices.Concat(guests, nodes), usual: "1", closed: "0", about: "Whether IPv6's neighbor discovery is allowed whatever the rules say."},
	{name: "radv", key: "radv", scopes: guests, usual: "0", closed: "0", about: "Whether the guest may send IPv6 router advertisements; not unless set."},
	{name: "mac_filter", key: "macfilter", scopes: guests, usual: "1", closed: "1", about: "Whether frames with another sender's MAC address than the network device's own are dropped; they are unless set."},
	{name: "ip_filter", key: "ipfilter", scopes: guests, usual: "0", closed: "1", about: "Whether each network device may only send from its own link-local address and those in its set `ipfilter-netN`; see `spoof_protection` for single devices."},
	{name: "log_level_in", key: "log_level_in", kind: text, scopes: slices.Concat(guests, nodes), words: logLevels, about: "How incoming traffic is logged that is refused by policy."},
	{name: "log_level_out", key: "log_level_out", kind: text, scopes: slices.Concat(guests, nodes), words: logLevels, about: "How outgoing traffic is logged that is refused by policy."},
	{name: "log_level_forward", key: "log_level_forward", kind: text, scopes: nodes, words: logLevels, about: "How forwarded traffic is logged that is refused by policy."},
	{name: "no_smurfs", key: "nosmurfs", scopes: nodes, usual: "1", closed: "1", about: "Whether the node drops packets that claim to come from a broadcast address; it does unless set."},
	{name: "smurf_log_level", key: "smurf_log_level", kind: text, scopes: nodes, words: logLevels, about: "How they are logged."},
	{name: "tcp_flags", key: "tcpflags", scopes: nodes, usual: "0", closed: "1", about: "Whether the node drops combinations of TCP flags that make no sense; not unless set."},
	{name: "tcp_flags_log_level", key: "tcp_flags_log_level", kind: text, scopes: nodes, words: logLevels, about: "How they are logged."},
	{name: "conntrack_max", key: "nf_conntrack_max", kind: number, scopes: nodes, least: 32768, about: "The most connections that the node tracks; 262144 unless set."},
	{name: "conntrack_tcp_timeout_established_seconds", key: "nf_conntrack_tcp_timeout_established", kind: number, scopes: nodes, least: 7875, about: "How long the node tracks an idle connection; 432000 unless set."},
	{name: "conntrack_tcp_timeout_syn_recv_seconds", key: "nf_conntrack_tcp_timeout_syn_recv", kind: number, scopes: nodes, least: 30, most: 60, about: "How long the node tracks a half-open connection; 60 unless set."},
	{name: "conntrack_allow_invalid", key: "nf_conntrack_allow_invalid", scopes: nodes, usual: "0", closed: "0", about: "Whether packets pass that belong to no known connection; not unless set."},
	{name: "conntrack_helpers", key: "nf_conntrack_helpers", kind: text, scopes: nodes, about: "The protocols whose second connections the node tracks, with commas between them: `amanda`, `ftp`, `irc`, `netbios-ns`, `pptp`, `sane`, `sip`, `snmp`, `tftp`."},
	{name: "log_conntrack", key: "log_nf_conntrack", scopes: nodes, about: "Whether the node logs connections; not unless set."},
	{name: "synflood_protection", key: "protection_synflood", scopes: nodes, usual: "0", closed: "1", about: "Whether the node limits new connections of one sender; not unless set."},
	{name: "synflood_rate", key: "protection_synflood_rate", kind: number, scopes: nodes, about: "How many new connections a second one sender may open; 200 unless set."},
	{name: "synflood_burst", key: "protection_synflood_burst", kind: number, scopes: nodes, about: "How many it may open at once; 1000 unless set."},
	{name: "nftables", key: "nftables", scopes: nodes, about: "Whether the node runs PVE's newer firewall, on nftables; not unless set."},
	{name: "ebtables", key: "ebtables", scopes: cluster, usual: "1", closed: "1", about: "Whether the cluster's nodes filter frames, too; they do unless set."},
	{name: "log_rate_limit", key: "log_ratelimit", kind: text, scopes: cluster, about: "How much is logged, as PVE writes it, such as `enable=1,rate=2/second,burst=5`."},
}

// optionTypes are the types of the options' attributes.
var optionTypes = func() map[string]attr.Type {
	found := make(map[string]attr.Type, len(options))
	for _, o := range options {
		found[o.name] = o.attributeType()
	}
	return found
}()

func (o option) attributeType() attr.Type {
	switch o.kind {
	case truth:
		return types.BoolType
	case number:
		return types.Int64Type
	case text:
	}
	return types.StringType
}

// pve writes an attribute as PVE takes it; "" is null.
func (o option) pve(value attr.Value) string {
	if value == nil || value.IsNull() || value.IsUnknown() {
		return ""
	}
	switch value := value.(type) {
	case types.Bool:
		if value.ValueBool() {
			return "1"
		}
		return "0"
	case types.Int64:
		return strconv.FormatInt(value.ValueInt64(), 10)
	case types.String:
		return value.ValueString()
	}
	return ""
}

// attribute reads what PVE has; "" is null. The cluster's firewall can be on
// until a time, which is what PVE then writes instead of a 1.
func (o option) attribute(value string) attr.Value {
	switch o.kind {
	case truth:
		if value == "" {
			return types.BoolNull()
		}
		return types.BoolValue(value != "0")
	case number:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return types.Int64Null()
		}
		return types.Int64Value(n)
	case text:
	}
	if value == "" {
		return types.StringNull()
	}
	return types.StringValue(value)
}

// optionOf finds an option by PVE's name.
func optionOf(key string) option {
	for _, o := range options {
		if o.key == key {
			return o
		}
	}
	return option{key: key}
}

// inForce reports whether a firewall with these options is in force.
func inForce(kind proxmox.FirewallKind, values map[string]string) bool {
	switch value := values[keyEnable]; {
	case kind == proxmox.FirewallGroup:
		return true
	case value == "":
		return kind == proxmox.FirewallNode
	default:
		return value != "0"
	}
}

// moment is when an option is to change beside the rules.
type moment int

const (
	// early is for what allows less, turning for what decides after the rules,
	// late for what allows more.
	early moment = iota
	turning
	late
)

// always are all moments.
var always = []moment{early, turning, late}

// moment tells when an option is to be changed from one value to another; ""
// is PVE's default.
func (o option) moment(value string) moment {
	if value == "" {
		value = o.usual
	}
	switch {
	case o.closed == "":
		return turning
	case value == o.closed:
		return early
	}
	return late
}

// in reports whether there is such an option of a kind of firewall.
func (o option) in(kind proxmox.FirewallKind) bool { return slices.Contains(o.scopes, kind) }
