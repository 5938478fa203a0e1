package pvelab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// registerStorageFormats registers those of pve-storage, of backups, of
// replication and of HA.
func registerStorageFormats() {
	registerID("pve-storage-id", "storage")
	registerID("acme-plugin-id", "ACME plugin")
	registerPattern("pve-storage-path", `/[^;()]+.*`, "value does not look like a valid absolute path")
	registerPattern("pve-storage-content", `images|rootdir|vztmpl|iso|backup|snippets|import|none`,
		"invalid content type '%s'")
	registerPattern("pve-storage-options", `\S+`, "invalid options '%s'")
	registerPattern("pve-storage-vgname", `(?i)[a-z0-9][a-z0-9\-_.]*[a-z0-9]`, "lvm name '%s' contains illegal characters")
	registerPattern("pve-storage-zfs-blocksize", `\d+[KM]?`, "invalid block size '%s'")
	registerPattern("pve-volume-id", `(?i)[a-z][a-z0-9\-_.]*[a-z0-9]:.+`, "unable to parse volume ID '%s'")
	registerFormat("pve-storage-server", func(v string) error {
		if isIP(v) || formats["dns-name"](v) == nil {
			return nil
		}
		return errors.New("value does not look like a valid server name or IP address")
	})
	registerFormat("pve-storage-portal-dns", func(v string) error {
		if isIP(v) || portalRE.MatchString(v) {
			return nil
		}
		return errors.New("value does not look like a valid portal address")
	})
	registerPattern("pve-dir-override", `[a-z]+=[^.]*(\.?[^.]+)+`, "invalid override '%s'")
	registerFormat("pve-replication-job-id", checkReplicationID)
	registerFormat("pve-day-of-week", checkWeekday)
	registerPattern("pve-calendar-event", `(?i)[a-z0-9*/:,.\-~ ]+`, "unable to parse calendar event '%s'")
	registerPattern("pve-ha-resource-id", `[a-z]+:\S+`, "value does not look like a valid ha resource id")
	registerPattern("pve-ha-resource-or-vm-id", `[a-z]+:\S+|\d+`, "value does not look like a valid ha resource id")
	registerPattern("pve-ha-group-node", `(?i)[a-z0-9]([a-z0-9-]*[a-z0-9])?(:\d+)?`, "value does not look like a valid ha group node")
	registerPattern("pve-ha-node", `(?i)[a-z0-9]([a-z0-9-]*[a-z0-9])?(:\d+)?`, "value does not look like a valid ha node")
	propertyChecks["prune-backups"] = checkPrune
	propertyChecks["backup-fleecing"] = checkFleecing
}

var (
	idRE      = regexp.MustCompile(`(?i)^[a-z][a-z0-9\-_.]*[a-z0-9]$`)
	portalRE  = regexp.MustCompile(`^(` + dnsName + `|\[[0-9a-fA-F:]+\])(:\d+)?$`)
	jobRE     = regexp.MustCompile(`^(\d+)-\d+$`)
	weekdayRE = regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)(-(mon|tue|wed|thu|fri|sat|sun))?|[0-7]|\*)$`)
)

// minVMID is the lowest id of a guest.
const minVMID = 100

func registerID(name, what string) {
	registerFormat(name, func(value string) error {
		if len(value) < 2 {
			return fmt.Errorf("%s ID '%s' cannot be shorter than 2 characters", what, value)
		}
		if !idRE.MatchString(value) {
			return fmt.Errorf("%s ID '%s' contains illegal characters", what, value)
		}
		return nil
	})
}

func checkReplicationID(value string) error {
	m := jobRE.FindStringSubmatch(value)
	if m == nil {
		return refusal("invalid replication job id '%s'", value)
	}
	if (params{"guest": m[1]}).integer("guest") < minVMID {
		return refusal("invalid replication job id '%s' (guest IDs < 100 are reserved)", value)
	}
	return nil
}

func checkWeekday(value string) error {
	if weekdayRE.MatchString(value) {
		return nil
	}
	return refusal("unable to parse day of week '%s'", value)
}

func checkPrune(kept map[string]string) error {
	if kept["keep-all"] != "1" {
		return nil
	}
	for k, v := range kept {
		if strings.HasPrefix(k, "keep-") && k != "keep-all" && v != "0" {
			return errors.New("keep-all cannot be set together with other options")
		}
	}
	return nil
}

func checkFleecing(f map[string]string) error {
	if f["enabled"] == "1" && f["storage"] == "" {
		return errors.New("'storage' parameter is required when 'enabled' is set")
	}
	return nil
}
