package pvelab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	realmName = `[A-Za-z][A-Za-z0-9.\-_]+`
	groupName = `[A-Za-z0-9.\-_]+`
	poolPart  = `[A-Za-z0-9.\-_]+`
	// maxUserName bounds user@realm.
	minUserName, maxUserName = 3, 64
	// maxPoolDepth is how deeply pools nest.
	maxPoolDepth = 3
)

// registerAccessFormats registers those of pve-access-control.
func registerAccessFormats() {
	registerPattern("pve-realm", realmName, "value does not look like a valid realm")
	registerPattern("pve-groupid", groupName, "group name '%s' contains invalid characters")
	registerPattern("pve-roleid", groupName, "role name '%s' contains invalid characters")
	registerPattern("pve-tokenid", `[^\s:/]+@`+realmName+`!`+realmName, "value '%s' does not look like a valid token ID")
	registerFormat("pve-userid", checkUserID)
	registerFormat("pve-poolid", checkPoolID)
	registerPrivileges("pve-priv", "9.2")
	registerPrivileges("pve-priv"+suffix8, "8.4")
	registerPattern("pve-tfa-config", `type=(yubico|oath)(,.*)?`, "unable to parse tfa settings")
}

var userIDRE = regexp.MustCompile(`^[^\s:/]+@` + realmName + `$`)

func checkUserID(value string) error {
	switch n := len(value); {
	case n < minUserName:
		return refusal("user name '%s' is too short", value)
	case n > maxUserName:
		return fmt.Errorf("user name '%s' is too long (%d > %d)", value, n, maxUserName)
	case !userIDRE.MatchString(value):
		return refusal("value '%s' does not look like a valid user name", value)
	}
	return nil
}

var poolIDRE = regexp.MustCompile(`^` + poolPart + `(/` + poolPart + `){0,2}$`)

func checkPoolID(value string) error {
	if len(strings.Split(strings.TrimRight(value, "/"), "/")) > maxPoolDepth {
		return refusal("pool name '%s' nested too deeply (max levels = 3)", value)
	}
	if !poolIDRE.MatchString(value) {
		return refusal("pool name '%s' contains invalid characters", value)
	}
	return nil
}

func registerPrivileges(name, version string) {
	known := builtinRoles(version)["Administrator"].privs
	check := func(value string) error {
		if known[value] {
			return nil
		}
		return refusal("invalid privilege '%s'", value)
	}
	registerFormat(name, check)
	if strings.HasSuffix(name, suffix8) {
		registerFormat("pve-priv-list"+suffix8, func(value string) error {
			var errs []error
			for _, p := range splitList(value) {
				errs = append(errs, check(p))
			}
			return firstError(errs)
		})
	}
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return errors.New(err.Error())
		}
	}
	return nil
}
