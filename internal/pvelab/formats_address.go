package pvelab

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// smallestMask is the shortest prefix that PVE takes for a network.
const smallestMask = 8

// registerAddressFormats registers those of addresses and networks.
func registerAddressFormats() {
	registerCheck("ipv4", isIPv4, "value does not look like a valid IPv4 address")
	registerCheck("ipv6", isIPv6, "value does not look like a valid IPv6 address")
	registerCheck("ip", isIP, "value does not look like a valid IP address")
	registerCheck("CIDRv4", isCIDRv4, "value does not look like a valid IPv4 CIDR network")
	registerCheck("CIDRv6", isCIDRv6, "value does not look like a valid IPv6 CIDR network")
	registerCheck("CIDR", func(v string) bool { return isCIDRv4(v) || isCIDRv6(v) },
		"value does not look like a valid CIDR network")
	registerCheck("pve-ipv4-config", func(v string) bool {
		return v == "dhcp" || v == "manual" || isCIDRv4(v)
	}, "value does not look like a valid ipv4 network configuration")
	registerCheck("pve-ipv6-config", func(v string) bool {
		return v == "auto" || v == "dhcp" || v == "manual" || isCIDRv6(v)
	}, "value does not look like a valid ipv6 network configuration")
	registerCheck("ipv4mask", isMask, "value does not look like a valid IP netmask")
	registerPattern("mac-addr", `(?i)[a-f0-9][02468ace](:[a-f0-9]{2}){5}`,
		"value does not look like a valid unicast MAC address")
	registerFormat("address", func(v string) error {
		if isIP(v) || formats["dns-name"](v) == nil {
			return nil
		}
		return refusal("value does not look like a valid address: %s", v)
	})
	registerCheck("lxc-ip-with-ll-iface", func(v string) bool {
		ip, _, _ := strings.Cut(v, "%")
		return isIP(ip)
	}, "value does not look like a valid IP address")
}

func registerCheck(name string, ok func(string) bool, text string) {
	registerFormat(name, func(value string) error {
		if ok(value) {
			return nil
		}
		return errors.New(text)
	})
}

func isIPv4(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is4()
}

func isIPv6(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is6() && a.Zone() == ""
}

func isIP(v string) bool { return isIPv4(v) || isIPv6(v) }

func isCIDRv4(v string) bool { return isCIDR(v, isIPv4, 32) }

func isCIDRv6(v string) bool { return isCIDR(v, isIPv6, 128) }

func isCIDR(v string, address func(string) bool, longest int) bool {
	ip, mask, found := strings.Cut(v, "/")
	n, err := strconv.Atoi(mask)
	return found && err == nil && address(ip) && n >= smallestMask && n <= longest
}

// isMask reports whether the value is a dotted netmask.
func isMask(v string) bool {
	a, err := netip.ParseAddr(v)
	if err != nil || !a.Is4() {
		return false
	}
	var bits uint32
	for _, b := range a.As4() {
		bits = bits<<8 | uint32(b)
	}
	return ^bits&(^bits+1) == 0
}
