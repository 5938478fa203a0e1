package pvelab

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	icmpTypes = words("any echo-reply destination-unreachable network-unreachable host-unreachable protocol-unreachable" +
		" port-unreachable fragmentation-needed source-route-failed network-unknown host-unknown network-prohibited" +
		" host-prohibited communication-prohibited host-precedence-violation precedence-cutoff source-quench redirect" +
		" network-redirect host-redirect echo-request router-advertisement router-solicitation time-exceeded" +
		" ttl-zero-during-transit ttl-zero-during-reassembly parameter-problem ip-header-bad required-option-missing" +
		" timestamp-request timestamp-reply address-mask-request address-mask-reply")
	icmpv6Types = words("destination-unreachable no-route communication-prohibited beyond-scope address-unreachable" +
		" port-unreachable failed-policy reject-route packet-too-big time-exceeded ttl-zero-during-transit" +
		" ttl-zero-during-reassembly parameter-problem bad-header unknown-header-type unknown-option echo-request" +
		" echo-reply router-solicitation router-advertisement neighbor-solicitation neighbour-solicitation" +
		" neighbor-advertisement neighbour-advertisement redirect")
	conntrackHelpers = words("amanda ftp irc netbios-ns pptp sane sip snmp tftp")
	// ipProtocols are the names of a Debian's /etc/protocols.
	ipProtocols = words("ip hopopt icmp igmp ggp ipencap st tcp egp igp pup udp hmp xns-idp rdp iso-tp4 dccp xtp ddp" +
		" idpr-cmtp ipv6 ipv6-route ipv6-frag idrp rsvp gre esp ah skip ipv6-icmp icmpv6 ipv6-nonxt ipv6-opts rspf vmtp" +
		" eigrp ospf ax.25 ipip etherip encap pim ipcomp vrrp l2tp isis sctp fc mobility-header udplite mpls-in-ip" +
		" manet hip shim6 wesp rohc ethernet mptcp")
	// services are the commoner names of a Debian's /etc/services.
	services = words("tcpmux echo discard systat daytime netstat qotd chargen ftp-data ftp fsp ssh telnet smtp time whois" +
		" tacacs domain bootps bootpc tftp gopher finger http kerberos iso-tsap acr-nema pop3 sunrpc auth nntp ntp epmap" +
		" netbios-ns netbios-dgm netbios-ssn imap2 snmp snmp-trap cmip-man cmip-agent mailq xdmcp bgp smux qmtp z3950 ipx" +
		" ptp-event ptp-general pawserv zserv rpc2portmap codaauth2 clearcase ldap svrloc https snpp microsoft-ds kpasswd" +
		" submissions saft isakmp rtsp nqs asf-rmcp qmqp ipp ldp biff who login shell syslog printer talk ntalk route gdomap" +
		" uucp klogin kshell dhcpv6-client dhcpv6-server afpovertcp nntps submission ldaps tinc silc kerberos-adm domain-s" +
		" rsync ftps-data ftps telnets imaps pop3s socks proofd rootd openvpn rmiregistry lotusnote ms-sql-s ms-sql-m" +
		" ingreslock datametrics sa-msg-port kermit groupwise l2f radius radius-acct cisco-sccp nfs gnunet rtcm-sc104" +
		" gsigatekeeper gris cvspserver venus venus-se codasrv codasrv-se mon dict f5-globalsite gsiftp gpsd gds-db icpv2" +
		" isns iscsi-target mysql ms-wbt-server nut distcc daap svn suucp sysrqd sieve epmd remctl f5-iquery ntske iax mtn" +
		" radmin-port sip sip-tls xmpp-client xmpp-server cfengine mdns postgresql freeciv amqps amqp x11 gnutella-svc" +
		" redis ircd http-alt")
)

const (
	maxPort = 65535
	// maxPorts bounds a list of ports; a range counts as two.
	maxPorts = 15
)

// registerFirewallFormats registers those of the firewall's rules.
func registerFirewallFormats() {
	registerFormat("IPorCIDR", checkIPorCIDR)
	registerFormat("IPorCIDRorAlias", func(v string) error {
		if aliasNameRE.MatchString(v) {
			return nil
		}
		return checkIPorCIDR(v)
	})
	registerFormat("pve-fw-addr-spec", func(v string) error {
		_, err := checkAddresses(v)
		return err
	})
	registerFormat("pve-fw-dport-spec", func(v string) error { return checkPorts(v, true) })
	registerFormat("pve-fw-sport-spec", func(v string) error { return checkPorts(v, false) })
	registerFormat("pve-fw-protocol-spec", func(v string) error {
		n, err := strconv.Atoi(v)
		if slices.Contains(ipProtocols, v) || err == nil && n >= 0 && n <= 255 {
			return nil
		}
		return fmt.Errorf("unknown protocol '%s'", v)
	})
	registerFormat("pve-fw-icmp-type-spec", func(v string) error {
		if v == "" || slices.Contains(icmpTypes, v) || slices.Contains(icmpv6Types, v) {
			return nil
		}
		return fmt.Errorf("invalid icmp-type value '%s'", v)
	})
	registerFormat("pve-fw-conntrack-helper", func(v string) error {
		for _, helper := range strings.Split(v, ",") {
			if !slices.Contains(conntrackHelpers, helper) {
				return fmt.Errorf("unknown helper %s", helper)
			}
		}
		return nil
	})
}

var addressRE = regexp.MustCompile(`^[0-9A-Fa-f:.]+(/\d+)?$`)

func checkIPorCIDR(v string) error {
	address, mask, found := strings.Cut(v, "/")
	if !addressRE.MatchString(v) || !isIP(address) {
		return errors.New("value does not look like a valid IP address or CIDR network")
	}
	longest := 32
	if isIPv6(address) {
		longest = 128
	}
	if n, err := strconv.Atoi(mask); found && (err != nil || n > longest) {
		return fmt.Errorf("Invalid prefix length /%s", mask)
	}
	return nil
}

var portRangeRE = regexp.MustCompile(`^(\d+)(?::(\d+))?$`)

// checkPorts checks a list of ports, ranges and names of services, or of ICMP's
// types where those may stand.
func checkPorts(v string, icmp bool) error {
	items := strings.Split(v, ",")
	if slices.Contains(items, "") {
		return errors.New("extraneous commas in list")
	}
	count, types := 0, false
	for _, item := range items {
		if m := portRangeRE.FindStringSubmatch(item); m != nil {
			n, err := checkRange(m[1], m[2])
			if err != nil {
				return err
			}
			count += n
			continue
		}
		isType := icmp && (slices.Contains(icmpTypes, item) || slices.Contains(icmpv6Types, item))
		if !isType && !slices.Contains(services, item) {
			return fmt.Errorf("invalid port '%s'", item)
		}
		types = types || isType
	}
	if types && count > 0 {
		return errors.New("ICMP ports not allowed in port range")
	}
	if count > maxPorts {
		return errors.New("too many entries in port list (> 15 numbers)")
	}
	return nil
}

// checkRange checks a port, or two with a colon between, and counts them.
func checkRange(first, last string) (int, error) {
	from, err := strconv.Atoi(first)
	if err != nil || from > maxPort {
		return 0, fmt.Errorf("invalid port '%s'", first)
	}
	if last == "" {
		return 1, nil
	}
	to, err := strconv.Atoi(last)
	if err != nil || to > maxPort {
		return 0, fmt.Errorf("invalid port '%s'", last)
	}
	if from > to {
		return 0, fmt.Errorf("backwards range '%[1]s:%[2]s' not allowed, did you mean '%[2]s:%[1]s'?", first, last)
	}
	return 2, nil
}

const (
	maxSetName   = 64
	maxAliasName = 64
)

// checkAddresses checks one end of a rule and returns its IP version, "" of a
// name.
func checkAddresses(v string) (string, error) {
	switch {
	case strings.HasPrefix(v, "+") && !strings.ContainsAny(v[1:], " \t\n"):
		if len(v) > maxSetName+1 {
			return "", errors.New("ipset name too long")
		}
		return "", nil
	case aliasNameRE.MatchString(v):
		if len(v) > maxAliasName {
			return "", errors.New("alias name too long")
		}
		return "", nil
	}
	items := strings.Split(v, ",")
	if items[len(items)-1] == "" {
		return "", errors.New("extraneous commas in list")
	}
	version, ranges := "", false
	for _, item := range items {
		ranges = ranges || strings.Contains(item, "-")
		if err := checkElement(item); err != nil {
			return "", err
		}
		if version != "" && version != ipVersion(item) {
			return "", fmt.Errorf("detected mixed ipv4/ipv6 addresses in address list '%s'", v)
		}
		version = ipVersion(item)
	}
	if ranges && len(items) > 1 {
		return "", errors.New("you can't use a range in a list")
	}
	return version, nil
}

// checkElement checks an address, a network or a range, in the words of the Perl
// library that PVE reads them with.
func checkElement(v string) error {
	if first, last, isRange := strings.Cut(v, "-"); isRange {
		return errors.Join(checkElement(first), checkElement(last))
	}
	if _, err := netip.ParseAddr(v); err == nil {
		return nil
	}
	prefix, err := netip.ParsePrefix(v)
	if err != nil {
		return fmt.Errorf("invalid IP address: %s", whyNoAddress(v))
	}
	if prefix.Masked() != prefix {
		return fmt.Errorf("invalid IP address: Invalid prefix %s", v)
	}
	return nil
}

func whyNoAddress(v string) string {
	address, _, _ := strings.Cut(v, "/")
	quads := strings.Split(address, ".")
	for _, quad := range quads {
		if n, err := strconv.Atoi(quad); err == nil && n > 255 {
			return fmt.Sprintf("Invalid quad in IP address %s - %s", address, quad)
		}
	}
	return fmt.Sprintf("Invalid chars in IP %s", address)
}
