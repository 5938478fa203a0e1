package container

import (
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// lasting is a key that PVE does not delete: it returns to a value.
type lasting struct{ value string }

// Get finds the setting's text.
func (lasting) Get(value string) (string, bool) { return settings.Whole{}.Get(value) }

// Put changes it.
func (lasting) Put(_, text string) (string, error) { return text, nil }

// Drop returns to the default.
func (l lasting) Drop(string) (string, error) { return l.value, nil }

// volumeStorage is the storage that holds a volume. It is read only: a volume is
// not moved by writing another storage into the configuration.
type volumeStorage struct{}

// Get finds the storage's name.
func (volumeStorage) Get(value string) (string, bool) {
	storage := proxmox.ParseMount(value).Storage()
	return storage, storage != ""
}

// Put changes nothing.
func (volumeStorage) Put(value, _ string) (string, error) { return value, nil }

// Drop changes nothing.
func (volumeStorage) Drop(value string) (string, error) { return value, nil }

// inBackup is whether backups include a mount point, as PVE decides it.
type inBackup struct{}

// Get tells it in PVE's spelling.
func (inBackup) Get(value string) (string, bool) {
	mount := proxmox.ParseMount(value)
	if mount.IsVolume() && mount.Backup != nil && *mount.Backup {
		return "1", true
	}
	return "0", value != ""
}

// Put changes nothing.
func (inBackup) Put(value, _ string) (string, error) { return value, nil }

// Drop changes nothing.
func (inBackup) Drop(value string) (string, error) { return value, nil }

// always is what is true of every value there is.
type always struct{}

// Get is true.
func (always) Get(value string) (string, bool) { return "1", value != "" }

// Put changes nothing.
func (always) Put(value, _ string) (string, error) { return value, nil }

// Drop changes nothing.
func (always) Drop(value string) (string, error) { return value, nil }

// nulList is how PVE writes variables of the environment.
var nulList = settings.ListSpelling{
	Split: func(text string) ([]string, error) {
		items := strings.FieldsFunc(text, func(r rune) bool { return r == 0 })
		slices.Sort(items)
		return items, nil
	},
	Join: func(items []string) string { return strings.Join(items, "\x00") },
}
