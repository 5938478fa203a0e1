package pvelab

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var nodeNameRE = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`)

const dnsName = `([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?`

// registerCommonFormats registers those of PVE::JSONSchema.
func registerCommonFormats() {
	registerFormat("string", func(string) error { return nil })
	registerPattern("urlencoded", `[-%a-zA-Z0-9_.!~*'()]*`, "invalid urlencoded string: %s")
	registerPattern("pve-configid", `(?i)[a-z][a-z0-9_-]+`, "invalid configuration ID '%s'")
	registerPattern("pve-vmid", `[1-9][0-9]{2,8}`, "value does not look like a valid VM ID")
	registerPattern("pve-node", nodeNameRE.String(), "value does not look like a valid node name")
	registerPattern("pve-bridge-id", `[-_.\w]+`, "invalid bridge ID '%s'")
	registerPattern("dns-name", dnsName, "value does not look like a valid DNS name")
	registerPattern("pve-iface", `(?i)[a-z][a-z0-9_]{1,20}([:.]\d+)?`, "invalid network interface name '%s'")
	registerPattern("pve-tag", `(?i)[a-z0-9_][a-z0-9_\-+.]*`, "invalid characters in tag")
	registerPattern("pve-task-status-type", `(?i)ok|error|warning|unknown`, "invalid status '%s'")
	registerPattern("disk-size", diskSize, "value does not look like a valid disk size: %s")
	registerPattern("email", email, "value does not look like a valid email address")
	registerPattern("email-or-username", email+`|[a-zA-Z0-9_-]+`,
		"value does not look like a valid email address or user name")
	registerPattern("ldap-simple-attr", `[a-zA-Z0-9]+`, "value '%s' does not look like a simple ldap attribute name")
	registerPattern("mac-prefix", `(?i)[a-f0-9][02468ace](:[a-f0-9]{2}){0,5}:?`,
		"value is not a valid unicast MAC address prefix")
	registerFormat("pve-startup-order", checkStartup)
	registerFormat("pve-vlan-id-or-range", checkVLAN)
	registerPairs()
}

const (
	diskSize = `(\d+(\.\d+)?)([KMGT](iB)?)?`
	email    = `[\w+\-~]+(\.[\w+\-~]+)*@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*`
)

var startupPartRE = regexp.MustCompile(`^((order=)?\d+|up=\d+|down=\d+)$`)

func checkStartup(value string) error {
	bad := errors.New("unable to parse startup options")
	if value == "" {
		return bad
	}
	for _, part := range strings.Split(value, ",") {
		if strings.TrimSpace(part) != "" && !startupPartRE.MatchString(part) {
			return bad
		}
	}
	return nil
}

var vlanRE = regexp.MustCompile(`^(\d+)(?:-(\d+))?$`)

func checkVLAN(value string) error {
	m := vlanRE.FindStringSubmatch(value)
	if m == nil {
		return refusal("invalid VLAN configuration '%s'", value)
	}
	ends := params{"start": m[1], "end": m[2]}
	for _, tag := range m[1:] {
		if n := (params{"n": tag}).integer("n"); tag != "" && (n < 2 || n > 4094) {
			return refusal("invalid VLAN tag '%s'", tag)
		}
	}
	if m[2] != "" && ends.integer("start") >= ends.integer("end") {
		return refusal("VLAN range must go from lower to higher tag '%s'", value)
	}
	return nil
}

// registerPairs registers the maps of a migration, "source:target", one entry at
// a time.
func registerPairs() {
	for name, of := range map[string]string{"storage-pair": "pve-storage-id", "bridge-pair": "pve-bridge-id"} {
		registerFormat(name, func(value string) error {
			if value == "1" {
				return nil
			}
			for _, id := range strings.SplitN(value, ":", 2) { //nolint:mnd // source and target.
				if err := formats[of](id); err != nil {
					return errors.New("entry '" + value + "' contains invalid ID - " + err.Error() + "\n")
				}
			}
			return nil
		})
	}
}

// checkTimezone knows the areas of the time zone database, not every city.
func checkTimezone(value string) error {
	area, _, isZone := strings.Cut(value, "/")
	areas := split("Africa America Antarctica Arctic Asia Atlantic Australia Etc Europe Indian Pacific US")
	if value == "host" || value == "UTC" || isZone && slices.Contains(areas, area) {
		return nil
	}
	return refusal("invalid time zone '%s'", value)
}
