package pvelab

import (
	"errors"
	"fmt"
	"strings"
)

// parsePropertyAt reads PVE's "key=value,…" by its nested schema. The error
// carries PVE's text.
func parsePropertyAt(keys map[string]*property, data, path string, is8 bool) (map[string]string, error) {
	ps := &propertyString{keys: keys, values: map[string]any{}, is8: is8}
	for _, part := range strings.Split(data, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		if err := ps.part(part); err != nil {
			return nil, err
		}
	}
	v := &verification{errors: map[string]string{}, is8: is8}
	v.object(path, keys, ps.values, true)
	if len(v.errors) > 0 {
		return nil, formatError(v.errors)
	}
	out := map[string]string{}
	for k, value := range ps.values {
		out[k], _ = value.(string)
	}
	return out, nil
}

// formatError is how an exception with per-field errors reads as text.
func formatError(fields map[string]string) error {
	var b strings.Builder
	b.WriteString("format error")
	for _, k := range sortedKeys(fields) {
		fmt.Fprintf(&b, "\n%s: %s", k, fields[k])
	}
	return errors.New(b.String())
}

type propertyString struct {
	keys       map[string]*property
	values     map[string]any
	defaultKey string
	is8        bool
}

func (ps *propertyString) part(part string) error {
	key, value, found := strings.Cut(part, "=")
	if !found {
		return ps.bare(part)
	}
	if key == "" || value == "" {
		return errors.New("missing key in comma-separated list property")
	}
	return ps.pair(key, value)
}

func (ps *propertyString) pair(key, value string) error {
	if ps.values[key] != nil {
		return fmt.Errorf("duplicate key in comma-separated list property: %s", key)
	}
	p := ps.keys[key]
	if p != nil && p.Alias != "" {
		if p.KeyAlias != "" {
			if ps.values[p.KeyAlias] != nil {
				return fmt.Errorf("key alias '%s' is already defined", p.KeyAlias)
			}
			ps.values[p.KeyAlias] = key
		}
		key = p.Alias
		p = ps.keys[key]
		if ps.values[key] != nil {
			return fmt.Errorf("key '%s' is already defined (via alias)", key)
		}
	}
	ps.values[key] = lenient(p, value)
	return nil
}

// bare takes a value without key for the schema's default key.
func (ps *propertyString) bare(value string) error {
	if ps.defaultKey != "" {
		return fmt.Errorf("duplicate key in comma-separated list property: %s", ps.defaultKey)
	}
	for k, p := range ps.keys {
		if bool(p.DefaultKey) {
			ps.defaultKey = k
		}
	}
	if ps.defaultKey == "" {
		return errors.New("value without key, but schema does not define a default key")
	}
	if ps.values[ps.defaultKey] != nil {
		return fmt.Errorf("duplicate key in comma-separated list property: %s", ps.defaultKey)
	}
	if !ps.is8 {
		value = lenient(ps.keys[ps.defaultKey], value)
	}
	ps.values[ps.defaultKey] = value
	return nil
}

// lenient reads the words that property strings accept for a boolean, PVE 8 only
// after a key; plain parameters take 0 and 1 only.
func lenient(p *property, value string) string {
	if p == nil || p.Type != "boolean" {
		return value
	}
	switch strings.ToLower(value) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	}
	return value
}
