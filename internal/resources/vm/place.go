package vm

import (
	"fmt"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// place is where a setting is inside the value of a configuration key.
type place interface {
	// get finds the setting's text; a value that does not mention it has none.
	get(value string) (text string, ok bool)
	// put returns the value with the setting changed, everything else kept.
	put(value, text string) (string, error)
	// drop returns the value without the setting; "" when nothing is left.
	drop(value string) (string, error)
}

// whole is a setting that is a key's whole value. What was set to nothing reads
// back as one blank.
type whole struct{}

func (whole) get(value string) (string, bool)    { return value, strings.TrimSpace(value) != "" }
func (whole) put(_, text string) (string, error) { return text, nil }
func (whole) drop(string) (string, error)        { return "", nil }

// prop is a setting that is one property of a property string.
type prop struct {
	name string
	// aliases are other names that PVE reads it under.
	aliases []string
	// bare properties may be written without their name, in front.
	bare bool
	// off is written instead of dropping the property while others stay, where
	// PVE requires it beside them.
	off string
	// head is a bare property that PVE requires beside this one; what lacks it
	// gets its off.
	head *prop
	// alone properties are what the key is about: without one there is no key.
	alone bool
}

func (p prop) get(value string) (string, bool) {
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", false
	}
	return props.Get(p.written(props))
}

func (p prop) put(value, text string) (string, error) {
	if p.head != nil {
		if _, said := p.head.get(value); !said {
			var err error
			if value, err = p.head.put(value, p.head.off); err != nil {
				return "", err
			}
		}
	}
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	props.Set(p.written(props), text)
	return render(props), nil
}

func (p prop) drop(value string) (string, error) {
	if p.alone {
		return "", nil
	}
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	props.Delete(p.written(props))
	if rest := render(props); rest == "" || p.off == "" {
		return rest, nil
	}
	return p.put(value, p.off)
}

// written is the key that the property has in a property string: the name that
// it has there, none where it is or can be written bare, else its own.
func (p prop) written(props proxmox.Props) string {
	for _, name := range append([]string{p.name}, p.aliases...) {
		if _, named := props.Get(name); named {
			return name
		}
	}
	if p.bare {
		return ""
	}
	return p.name
}

// render writes a property string.
func render(props proxmox.Props) string {
	var parts []string
	for _, each := range props.All() {
		parts = append(parts, each.String())
	}
	return strings.Join(parts, ",")
}

// nicModel is the model of a network device.
type nicModel struct{}

func (nicModel) get(value string) (string, bool) {
	nic, err := proxmox.ParseNIC(value)
	return nic.Model, err == nil && nic.Model != ""
}

func (nicModel) put(value, text string) (string, error) {
	if value == "" {
		return text, nil
	}
	nic, err := proxmox.ParseNIC(value)
	if err != nil {
		return "", err
	}
	nic.Model = text
	return nic.String(), nil
}

// drop returns to the model that a new device gets; PVE knows no device
// without one.
func (p nicModel) drop(value string) (string, error) { return p.put(value, defaultModel) }

// nicMAC is the address of a network device, which PVE writes as the value of
// its model.
type nicMAC struct{}

func (nicMAC) get(value string) (string, bool) {
	nic, err := proxmox.ParseNIC(value)
	if err != nil || nic.MAC == nil {
		return "", false
	}
	return *nic.MAC, true
}

func (nicMAC) put(value, text string) (string, error) {
	nic, err := proxmox.ParseNIC(value)
	if err != nil {
		return "", err
	}
	nic.MAC = &text
	return nic.String(), nil
}

// drop keeps the address: a device always has one, and losing it would make a
// guest's system see a new device.
func (nicMAC) drop(value string) (string, error) { return value, nil }

// volumeStorage is the storage that holds a disk. It is read only: a volume is
// not moved by writing another storage into the configuration.
type volumeStorage struct{}

func (volumeStorage) get(value string) (string, bool) {
	disk, err := proxmox.ParseDisk(value)
	if err != nil {
		return "", false
	}
	storage := disk.Storage()
	return storage, storage != ""
}

func (volumeStorage) put(value, _ string) (string, error) { return value, nil }
func (volumeStorage) drop(value string) (string, error)   { return value, nil }

// ipAddress and ipMethod share a property of ipconfigN that holds either an
// address with its prefix length or the word for a method.
type (
	ipAddress struct{ prop }
	ipMethod  struct {
		prop
		// gateway is the property that only a static address may have beside it.
		gateway string
	}
)

const methodStatic = "static"

func (p ipAddress) get(value string) (string, bool) {
	text, ok := p.prop.get(value)
	return text, ok && strings.Contains(text, "/")
}

func (p ipMethod) get(value string) (string, bool) {
	text, ok := p.prop.get(value)
	if strings.Contains(text, "/") {
		return methodStatic, true
	}
	return text, ok
}

func (p ipMethod) put(value, text string) (string, error) {
	if text != methodStatic {
		value, err := prop{name: p.gateway}.drop(value)
		if err != nil {
			return "", err
		}
		return p.prop.put(value, text)
	}
	if current, ok := p.prop.get(value); !ok || !strings.Contains(current, "/") {
		return "", fmt.Errorf("%s: the method %q needs an address", p.name, methodStatic)
	}
	return value, nil
}

// drop leaves an address alone, which came from the other setting.
func (p ipMethod) drop(value string) (string, error) {
	if current, ok := p.prop.get(value); ok && strings.Contains(current, "/") {
		return value, nil
	}
	return p.prop.drop(value)
}
