package settings

import (
	"fmt"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// place is where a setting is inside the value of a configuration key.
type place interface {
	// Get finds the setting's text; a value that does not mention it has none.
	Get(value string) (text string, ok bool)
	// Put returns the value with the setting changed, everything else kept.
	Put(value, text string) (string, error)
	// Drop returns the value without the setting; "" when nothing is left.
	Drop(value string) (string, error)
}

// Whole is a setting that is a key's whole value. What was set to nothing reads
// back as one blank.
type Whole struct{}

// Get finds the setting's text.
func (Whole) Get(value string) (string, bool) { return value, strings.TrimSpace(value) != "" }

// Put changes the setting in a value.
func (Whole) Put(_, text string) (string, error) { return text, nil }

// Drop takes the setting out of a value.
func (Whole) Drop(string) (string, error) { return "", nil }

// Prop is a setting that is one property of a property string.
type Prop struct {
	Name string
	// Aliases are other names that PVE reads it under.
	Aliases []string
	// Bare properties may be written without their name, in front.
	Bare bool
	// Off is written instead of dropping the property while others stay, where
	// PVE requires it beside them.
	Off string
	// Head is a bare property that PVE requires beside this one; what lacks it
	// gets its off.
	Head *Prop
	// Alone properties are what the key is about: without one there is no key.
	Alone bool
}

// Get finds the setting's text.
func (p Prop) Get(value string) (string, bool) {
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", false
	}
	return props.Get(p.written(props))
}

// Put changes the setting in a value.
func (p Prop) Put(value, text string) (string, error) {
	if p.Head != nil {
		if _, said := p.Head.Get(value); !said {
			var err error
			if value, err = p.Head.Put(value, p.Head.Off); err != nil {
				return "", err
			}
		}
	}
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	props.Set(p.written(props), text)
	return Render(props), nil
}

// Drop takes the setting out of a value.
func (p Prop) Drop(value string) (string, error) {
	if p.Alone {
		return "", nil
	}
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	props.Delete(p.written(props))
	if rest := Render(props); rest == "" || p.Off == "" {
		return rest, nil
	}
	return p.Put(value, p.Off)
}

// written is the key that the property has in a property string: the name that
// it has there, none where it is or can be written bare, else its own.
func (p Prop) written(props proxmox.Props) string {
	for _, name := range append([]string{p.Name}, p.Aliases...) {
		if _, named := props.Get(name); named {
			return name
		}
	}
	if p.Bare {
		return ""
	}
	return p.Name
}

// Render writes a property string.
func Render(props proxmox.Props) string {
	var parts []string
	for _, each := range props.All() {
		parts = append(parts, each.String())
	}
	return strings.Join(parts, ",")
}

// IPAddress and IPMethod share a property of ipconfigN that holds either an
// address with its prefix length or the word for a method.
type (
	// IPAddress is the address.
	IPAddress struct{ Prop }
	// IPMethod is how it is had.
	IPMethod struct {
		Prop
		// Gateway is the property that only a static address may have beside it.
		Gateway string
	}
)

// MethodStatic is the method of a configured address.
const MethodStatic = "static"

// Get finds the setting's text.
func (p IPAddress) Get(value string) (string, bool) {
	text, ok := p.Prop.Get(value)
	return text, ok && strings.Contains(text, "/")
}

// Get finds the setting's text.
func (p IPMethod) Get(value string) (string, bool) {
	text, ok := p.Prop.Get(value)
	if strings.Contains(text, "/") {
		return MethodStatic, true
	}
	return text, ok
}

// Put changes the setting in a value.
func (p IPMethod) Put(value, text string) (string, error) {
	if text != MethodStatic {
		value, err := Prop{Name: p.Gateway}.Drop(value)
		if err != nil {
			return "", err
		}
		return p.Prop.Put(value, text)
	}
	if current, ok := p.Prop.Get(value); !ok || !strings.Contains(current, "/") {
		return "", fmt.Errorf("%s: the method %q needs an address", p.Name, MethodStatic)
	}
	return value, nil
}

// Drop leaves an address alone, which came from the other setting.
func (p IPMethod) Drop(value string) (string, error) {
	if current, ok := p.Prop.Get(value); ok && strings.Contains(current, "/") {
		return value, nil
	}
	return p.Prop.Drop(value)
}
