package pvelab

import (
	"slices"
	"strings"
)

// macroFacts are the protocols and ports that PVE's macros stand for, one macro
// a line: protocol/destination ports/source ports. v6 marks those of IPv6 alone.
const macroFacts = `
Amanda udp/10080 tcp/10080
Auth tcp/113
BGP tcp/179
BitTorrent tcp/6881:6889 udp/6881
BitTorrent32 tcp/6881:6999 udp/6881
Ceph tcp/6789 tcp/3300 tcp/6800:7300
Citrix tcp/1494 udp/1604 tcp/2598
CVS tcp/2401
DAAP tcp/3689 udp/3689
DCC tcp/6277
DHCPfwd udp/67:68/67:68
DHCPv6 v6 udp/546:547/546:547
Distcc tcp/3632
DNS udp/53 tcp/53
Finger tcp/79
FTP tcp/21
Git tcp/9418
GNUnet tcp/2086 udp/2086 tcp/1080 udp/1080
GRE 47
HKP tcp/11371
HTTP tcp/80
HTTPS tcp/443
ICPV2 udp/3130
ICQ tcp/5190
IMAP tcp/143
IMAPS tcp/993
IPIP 94
IPsec udp/500/500 50
IPsecah udp/500/500 51
IPsecnat udp/500 udp/4500 50
IRC tcp/6667
Jetdirect tcp/9100
L2TP udp/1701
LDAP tcp/389
LDAPS tcp/636
Mail tcp/25 tcp/465 tcp/587
MDNS udp/5353
MSNP tcp/1863
MSSQL tcp/1433
Munin tcp/4949
MySQL tcp/3306
NeighborDiscovery v6 icmpv6/router-solicitation icmpv6/router-advertisement icmpv6/neighbor-solicitation icmpv6/neighbor-advertisement
NNTP tcp/119
NNTPS tcp/563
NTP udp/123
OpenVPN udp/1194
OSPF 89
PCA udp/5632 tcp/5631
Ping icmp/echo-request
PMG tcp/8006
POP3 tcp/110
POP3S tcp/995
PostgreSQL tcp/5432
PPtP 47 tcp/1723
Printer tcp/515
Razor tcp/2703
Rdate tcp/37
RDP tcp/3389
RIP udp/520
RNDC tcp/953
Rsync tcp/873
SANE tcp/6566
SixXS tcp/3874 udp/3740 41 udp/5072,8374
SMB udp/135,445 udp/137:139 udp/1024:65535/137 tcp/135,139,445
SMBswat tcp/901
SMTP tcp/25
SMTPS tcp/465
SNMP udp/161:162 tcp/161
SPAMD tcp/783
SPICEproxy tcp/3128
Squid tcp/3128
SSH tcp/22
Submission tcp/587
SVN tcp/3690
Syslog udp/514 tcp/514
Telnet tcp/23
Telnets tcp/992
TFTP udp/69
Time tcp/37
Trcrt udp/33434:33524 icmp/echo-request
VNC tcp/5900:5999
VNCL tcp/5500
Web tcp/80 tcp/443
Webcache tcp/8080
Webmin tcp/10000
Whois tcp/43
`

// macroTraffic is one kind of traffic that a macro stands for.
type macroTraffic map[string]string

// firewallMacros are the macros by name, macroNames their spelling by the name
// in lower case.
var firewallMacros, macroNames = readMacros()

func readMacros() (macros map[string][]macroTraffic, spelling map[string]string) {
	macros, spelling = map[string][]macroTraffic{}, map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(macroFacts)) {
		fields := strings.Fields(line)
		name := fields[0]
		spelling[strings.ToLower(name)] = name
		for _, each := range fields[1:] {
			if each != "v6" {
				macros[name] = append(macros[name], readTraffic(each))
			}
		}
	}
	return macros, spelling
}

func readTraffic(text string) macroTraffic {
	traffic := macroTraffic{}
	for i, value := range strings.Split(text, "/") {
		if value != "" {
			traffic[[]string{"proto", "dport", "sport"}[i]] = value
		}
	}
	return traffic
}

// firewallMacroList lists the macros. PVE describes some; its fallback for the
// others, the name, serves for all here.
func firewallMacroList(*call) (any, error) {
	out := make([]map[string]any, 0, len(firewallMacros))
	for _, name := range sortedKeys(firewallMacros) {
		out = append(out, map[string]any{"macro": name, "descr": name})
	}
	return out, nil
}

// clashes names a property of the rule that the macro sets otherwise.
func clashes(rule firewallEntry) (key, value string) {
	for _, traffic := range firewallMacros[rule["macro"]] {
		for _, k := range slices.Sorted(slices.Values(sortedKeys(traffic))) {
			if rule[k] != "" && rule[k] != traffic[k] {
				return k, traffic[k]
			}
		}
	}
	return "", ""
}
