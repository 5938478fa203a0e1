package pvelab

import (
	"errors"
	"regexp"
	"strings"
)

var nodeNameRE = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`)

// formats are the named checks of single values, propertyFormats the named
// property strings.
var (
	formats         = map[string]func(string) error{}
	propertyFormats = map[string]map[string]*property{}
)

// registerFormat names a check of a parameter's text. The error's text is what
// PVE shows after "invalid format - ".
func registerFormat(name string, check func(value string) error) { formats[name] = check }

// checkFormat checks a value against a format; a name may end in -list or -opt.
// Unknown names pass: the schema has some that no served endpoint uses.
func checkFormat(f format, value, path string) error {
	keys := f.Keys
	if keys == nil {
		keys = propertyFormats[f.Name]
	}
	if keys != nil {
		_, err := parsePropertyAt(keys, value, path)
		return err
	}
	if f.Name == "" {
		return nil
	}
	if check := formats[f.Name]; check != nil {
		return check(value)
	}
	if base, ok := strings.CutSuffix(f.Name, "-list"); ok && formats[base] != nil {
		return checkList(formats[base], value)
	}
	if base, ok := strings.CutSuffix(f.Name, "-opt"); ok && formats[base] != nil && value != "" {
		return formats[base](value)
	}
	return nil
}

func checkList(check func(string) error, value string) error {
	for _, v := range splitList(value) {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// formatText makes a format's error with PVE's text.
func formatText(text string) error { return errors.New(text) }
