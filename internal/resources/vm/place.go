package vm

import "terraform-provider-proxmox/internal/proxmox"

// nicModel is the model of a network device.
type nicModel struct{}

func (nicModel) Get(value string) (string, bool) {
	nic, err := proxmox.ParseNIC(value)
	return nic.Model, err == nil && nic.Model != ""
}

func (nicModel) Put(value, text string) (string, error) {
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
func (p nicModel) Drop(value string) (string, error) { return p.Put(value, defaultModel) }

// nicMAC is the address of a network device, which PVE writes as the value of
// its model.
type nicMAC struct{}

func (nicMAC) Get(value string) (string, bool) {
	nic, err := proxmox.ParseNIC(value)
	if err != nil || nic.MAC == nil {
		return "", false
	}
	return *nic.MAC, true
}

func (nicMAC) Put(value, text string) (string, error) {
	nic, err := proxmox.ParseNIC(value)
	if err != nil {
		return "", err
	}
	nic.MAC = &text
	return nic.String(), nil
}

// drop keeps the address: a device always has one, and losing it would make a
// guest's system see a new device.
func (nicMAC) Drop(value string) (string, error) { return value, nil }

// volumeStorage is the storage that holds a disk. It is read only: a volume is
// not moved by writing another storage into the configuration.
type volumeStorage struct{}

func (volumeStorage) Get(value string) (string, bool) {
	disk, err := proxmox.ParseDisk(value)
	if err != nil {
		return "", false
	}
	storage := disk.Storage()
	return storage, storage != ""
}

func (volumeStorage) Put(value, _ string) (string, error) { return value, nil }

func (volumeStorage) Drop(value string) (string, error) { return value, nil }
