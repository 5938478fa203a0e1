package proxmox

import (
	"fmt"
	"slices"
	"strings"
)

// Prop is one "key=value" of a property string.
type Prop struct {
	// Key is empty for a value that was written without its key: that of the
	// default key, which only the format knows.
	Key, Value string
}

func (p Prop) String() string {
	if p.Key == "" {
		return p.Value
	}
	return p.Key + "=" + p.Value
}

// Props is a property string as it was written: order and unknown keys are
// kept. Embedded in a struct, it lets [MarshalProps] rewrite what
// [UnmarshalProps] read without losing a setting.
type Props struct{ list []Prop }

// ParseProps splits a property string by PVE's rules: parts are separated by
// commas, blank parts are skipped, a key occurs once, at most one value stands
// without its key, and a value is not empty.
func ParseProps(s string) (Props, error) {
	var p Props
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, hasKey := strings.Cut(part, "=")
		if !hasKey {
			key, value = "", part
		} else if key == "" || value == "" {
			return Props{}, fmt.Errorf("the property %q lacks its key or its value", part)
		}
		if p.index(key) >= 0 {
			return Props{}, fmt.Errorf("the property string %q has the key %q twice", s, key)
		}
		p.list = append(p.list, Prop{Key: key, Value: value})
	}
	return p, nil
}

func (p *Props) index(key string) int {
	return slices.IndexFunc(p.list, func(prop Prop) bool { return prop.Key == key })
}

// Get returns the value of a key; that of the key "" is the one written without
// a key.
func (p *Props) Get(key string) (string, bool) {
	i := p.index(key)
	if i < 0 {
		return "", false
	}
	return p.list[i].Value, true
}

// Set changes a key's value in its place, or appends it; a value without a key
// goes first.
func (p *Props) Set(key, value string) {
	switch i := p.index(key); {
	case i >= 0:
		p.list[i].Value = value
	case key == "":
		p.list = slices.Insert(p.list, 0, Prop{Value: value})
	default:
		p.list = append(p.list, Prop{Key: key, Value: value})
	}
}

// Delete removes a key.
func (p *Props) Delete(key string) {
	p.list = slices.DeleteFunc(p.list, func(prop Prop) bool { return prop.Key == key })
}

// insert puts a property where the first of the keys stands that is there, and
// removes them all; without any it goes to the position given.
func (p *Props) insert(prop Prop, position int, keys ...string) {
	for _, key := range keys {
		if i := p.index(key); i >= 0 {
			position = i
			break
		}
	}
	for _, key := range keys {
		if i := p.index(key); i >= 0 {
			p.list = slices.Delete(p.list, i, i+1)
			if i < position {
				position--
			}
		}
	}
	p.list = slices.Insert(p.list, min(position, len(p.list)), prop)
}

// All lists the properties in their order.
func (p *Props) All() []Prop { return slices.Clone(p.list) }

// raw is the property string that the properties make.
func (p *Props) raw() string {
	parts := make([]string, len(p.list))
	for i, prop := range p.list {
		parts[i] = prop.String()
	}
	return strings.Join(parts, ",")
}
