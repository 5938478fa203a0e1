package vm

import (
	"encoding/base64"
	"slices"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// bootOrder is the order of the devices to boot from. What PVE has in its old
// form, letters such as "cdn", names no device.
type bootOrder struct{ settings.Prop }

// put forgets the old form.
func (bootOrder) Put(_, text string) (string, error) { return "order=" + text, nil }

func (bootOrder) Drop(string) (string, error) { return "", nil }

// serialSocket is a serial port that the console opens.
const serialSocket = "socket"

// serialDevice is what a serial port is attached to; a port without a device of
// the node stays.
type serialDevice struct{ settings.Whole }

func (serialDevice) Drop(string) (string, error) { return serialSocket, nil }

// diskFormat is the format of a disk's volume. PVE writes it into the volume's
// name where a storage knows several, and takes it when a volume is made.
type diskFormat struct{}

func (diskFormat) Get(value string) (string, bool) {
	disk, err := proxmox.ParseDisk(value)
	if err != nil || disk.Storage() == "" {
		return "", false
	}
	return disk.VolumeFormat(), true
}

func (diskFormat) Put(value, _ string) (string, error) { return value, nil }
func (diskFormat) Drop(value string) (string, error)   { return value, nil }

// smbiosText is a text of smbios1, where PVE keeps either all texts in base64
// or none. The machine's uuid is in the same value and stays.
type smbiosText struct{ settings.Prop }

// smbiosTexts are the properties of smbios1 that are texts.
var smbiosTexts = []string{"manufacturer", "product", "version", "serial", "sku", "family"}

func (p smbiosText) Get(value string) (string, bool) {
	text, ok := p.Prop.Get(value)
	if !ok || !inBase64(value) {
		return text, ok
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	return string(plain), err == nil
}

func (p smbiosText) Put(value, text string) (string, error) {
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	if !inBase64(value) {
		for _, name := range smbiosTexts {
			if plain, ok := props.Get(name); ok {
				props.Set(name, base64.StdEncoding.EncodeToString([]byte(plain)))
			}
		}
		props.Set("base64", "1")
	}
	props.Set(p.Name, base64.StdEncoding.EncodeToString([]byte(text)))
	return settings.Render(props), nil
}

func (p smbiosText) Drop(value string) (string, error) {
	props, err := proxmox.ParseProps(value)
	if err != nil {
		return "", err
	}
	props.Delete(p.Name)
	if !slices.ContainsFunc(smbiosTexts, func(name string) bool { _, ok := props.Get(name); return ok }) {
		props.Delete("base64")
	}
	return settings.Render(props), nil
}

func inBase64(value string) bool {
	text, _ := settings.Prop{Name: "base64"}.Get(value)
	return text == "1" || text == "on" || text == "yes" || text == "true"
}
