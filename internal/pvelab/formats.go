package pvelab

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// formats are the named checks of single values, propertyFormats the named
// property strings and propertyChecks what these are checked for as a whole. A
// name may end in -list or -opt.
var (
	formats         = map[string]func(string) error{}
	propertyFormats = map[string]map[string]*property{}
	propertyChecks  = map[string]func(map[string]string) error{}
)

//go:embed schema/formats.json
var formatsFile embed.FS

func init() {
	if err := readPropertyFormats(); err != nil {
		panic(err)
	}
	registerCommonFormats()
	registerAddressFormats()
	registerAccessFormats()
	registerStorageFormats()
	registerQemuFormats()
	registerFirewallFormats()
}

// readPropertyFormats reads the property strings that the schema only names.
func readPropertyFormats() error {
	raw, err := formatsFile.ReadFile("schema/formats.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &propertyFormats); err != nil {
		return fmt.Errorf("schema/formats.json: %w", err)
	}
	return nil
}

// registerFormat names a check of a parameter's text. The error's text is what
// PVE shows after "invalid format - ".
func registerFormat(name string, check func(value string) error) { formats[name] = check }

// registerPattern names a regular expression; text is PVE's refusal, in which %s
// stands for the value.
func registerPattern(name, expr, text string) {
	re := regexp.MustCompile("^(?:" + expr + ")$")
	registerFormat(name, func(value string) error {
		if re.MatchString(value) {
			return nil
		}
		return refusal(text, value)
	})
}

// refusal is a format's error: PVE's text with the value in its place.
func refusal(text, value string) error {
	return errors.New(strings.ReplaceAll(text, "%s", value))
}

// checkFormat checks a value against a format. Names that nobody registered pass.
func checkFormat(f format, value, path string, is8 bool) error {
	keys := f.Keys
	if keys == nil {
		keys = propertyFormats[baseFormat(f.Name)]
	}
	if keys == nil {
		return checkNamed(f.Name, value)
	}
	parsed, err := parsePropertyAt(keys, value, path, is8)
	if err != nil {
		return err
	}
	if check := propertyChecks[f.Name]; check != nil {
		return check(parsed)
	}
	return nil
}

func checkNamed(name, value string) error {
	if check := formats[name]; check != nil {
		return check(value)
	}
	if base, ok := strings.CutSuffix(name, "-list"); ok && formats[base] != nil {
		for _, v := range splitList(value) {
			if err := formats[base](v); err != nil {
				return err
			}
		}
	}
	if base, ok := strings.CutSuffix(name, "-opt"); ok && formats[base] != nil && value != "" {
		return formats[base](value)
	}
	return nil
}

// knownFormat reports whether a name can be checked.
func knownFormat(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(name, "-list"), "-opt")
	return formats[name] != nil || formats[base] != nil || propertyFormats[baseFormat(name)] != nil
}

// versioned formats differ between the versions; in 8.4 their names carry
// suffix8.
var versioned = map[string]bool{"pve-vm-cpu-conf": true, "pve-priv-list": true}

const suffix8 = "@8"

func baseFormat(name string) string { return strings.TrimSuffix(name, suffix8) }

// settleFormats points a method's versioned formats to those of the version that
// is played, and pve-qm-ide, the format of a cdrom, to that of the IDE drives.
func (m *method) settleFormats(is8 bool) {
	m.is8 = is8
	props := m.Parameters.Properties
	for _, p := range props {
		if is8 && versioned[p.Format.Name] {
			p.Format.Name += suffix8
		}
		if ide := props["ide[n]"]; p.Format.Name == "pve-qm-ide" && ide != nil {
			p.Format = ide.Format
		}
	}
}
