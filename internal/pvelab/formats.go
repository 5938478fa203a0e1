package pvelab

import "regexp"

var nodeNameRE = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`)

var formats = map[string]func(string) error{}

// registerFormat names a check of a parameter's text. The error's text is what
// PVE shows after "invalid format - ".
func registerFormat(name string, check func(value string) error) { formats[name] = check }
