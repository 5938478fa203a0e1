package vm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// growth is a disk that is to become larger.
type growth struct {
	slot string
	size proxmox.Size
}

// growths finds the disks that are smaller than configured, in order.
func (j *job) growths(config *proxmox.GuestConfig) ([]growth, error) {
	disks := config.Disks()
	var growths []growth
	for slot, planned := range settings.Entries(j.plan.Values["disks"]) {
		want := settings.Fields(settings.Entries(j.config.Values["disks"])[slot])["size_gib"]
		real, exists := disks[slot]
		if settings.IsNull(want) || !exists || real.Size == nil {
			continue
		}
		size := settings.BytesOf(settings.Fields(planned)["size_gib"])
		if size < *real.Size {
			return nil, fmt.Errorf("disk %s has %s, more than the %s configured: disks never shrink", slot, *real.Size, size)
		}
		if size > *real.Size {
			growths = append(growths, growth{slot, size})
		}
	}
	slices.SortFunc(growths, func(a, b growth) int {
		if a.slot < b.slot {
			return -1
		}
		return 1
	})
	return growths, nil
}

// keepGrowth has the values of configured disks say how large their volumes
// are. PVE writes a new size into the value in force alone: one that waits for
// the next start would bring the size of before back into the configuration, and
// PVE corrects that no more, as the volume has the new one.
func (j *job) keepGrowth(config *proxmox.GuestConfig, values map[string]string) error {
	disks := config.Disks()
	for slot := range settings.Entries(j.config.Values["disks"]) {
		disk, err := proxmox.ParseDisk(values[slot])
		real, exists := disks[slot]
		if err != nil || disk.Size == nil || !exists || disk.Volume != real.Volume {
			continue
		}
		size := max(*disk.Size, j.grown[slot])
		if real.Size != nil {
			size = max(size, *real.Size)
		}
		if size == *disk.Size {
			continue
		}
		if values[slot], err = (settings.Prop{Name: "size"}).Put(values[slot], size.String()); err != nil {
			return err
		}
	}
	return nil
}

// wanted are a configuration's values with pending changes merged in.
func wanted(config *proxmox.GuestConfig) map[string]string {
	values := maps.Clone(config.Current)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, config.Pending)
	for _, key := range config.PendingDelete {
		delete(values, key)
	}
	values["description"] = proxmox.SplitDescription(values["description"])
	return values
}

// update says what to change in a guest's configuration, all at once. The marker
// says "creating" until all else is done.
func (j *job) update(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
	real := wanted(config)
	w := &settings.Writer{Applied: j.applied, Real: real, Now: maps.Clone(real), Create: func(g *settings.Group, slot string, planned attr.Value) (string, error) {
		return j.newDevice(config, g, slot, settings.Fields(planned))
	}}
	w.Object(table, path.Empty(), "", j.config.Object(), j.plan.Object())
	if err := errors.Join(w.Problems...); err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	if err := j.keepGrowth(config, w.Now); err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	j.addCloudInitDrive(config, w.Now)
	j.attachSeed(real, w.Now)
	for _, slot := range j.destroyedSlots() {
		w.Now[slot] = real[slot] // Removed with its volume afterwards.
	}
	description, err := proxmox.JoinDescription(w.Now["description"], proxmox.Marker{UID: j.guest.UID, VMID: j.guest.VMID, Creating: j.first})
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	w.Now["description"], w.Real["description"] = description, config.Description()
	update := w.Update()
	j.writePassword(&update)
	if j.withoutUpgrade {
		delete(update.Set, upgradeKey)
	}
	j.writesDrive = setsDrive(update)
	j.outdatesImage = j.outdatesImage || outdatesImage(config, update)
	j.known = append(j.known, volumeSlots(update.Set)...)
	return update, nil
}

// newDevice is the first value of a slot that the guest lacks.
func (j *job) newDevice(config *proxmox.GuestConfig, g *settings.Group, slot string, planned map[string]attr.Value) (string, error) {
	switch g {
	case disksGroup:
		return j.newDisk(config, slot, planned)
	case networkGroup:
		return j.newNIC(slot, planned)
	case serialGroup:
		return newSerial(planned), nil
	case efiGroup, tpmGroup:
		return j.newVolume(config, slot, planned)
	}
	return "", nil
}

func newSerial(planned map[string]attr.Value) string {
	if device := settings.TextOf(planned["device"]); device != "" {
		return device
	}
	return serialSocket
}

// newDisk asks for a new volume: PVE takes "storage:size" with the size in GiB.
func (j *job) newDisk(config *proxmox.GuestConfig, slot string, planned map[string]attr.Value) (string, error) {
	if volume := settings.TextOf(planned["attach"]); volume != "" {
		return volume, checkUnused(config, slot, volume)
	}
	size, _ := planned["size_gib"].(types.Float64)
	if !settings.IsKnown(size) {
		return "", fmt.Errorf("there is no disk %s, and a new one needs size_gib", slot)
	}
	storage := settings.TextOf(planned["storage"])
	if storage == "" {
		storage = j.storage(config)
	}
	if storage == "" {
		return "", fmt.Errorf("the new disk %s needs a storage", slot)
	}
	disk := storage + ":" + strconv.FormatFloat(size.ValueFloat64(), 'f', -1, 64)
	if format := settings.TextOf(planned["format"]); format != "" {
		disk += ",format=" + format
	}
	return disk, nil
}

func (j *job) newNIC(slot string, planned map[string]attr.Value) (string, error) {
	model := settings.TextOf(planned["model"])
	if model == "" {
		model = defaultModel
	}
	if mac := j.seed.macs[slot]; mac != "" {
		model += "=" + mac
	}
	if bridge := settings.TextOf(planned["bridge"]); bridge != "" {
		return model, nil
	}
	if j.defaults.Bridge == "" {
		return "", fmt.Errorf("the new device %s needs a bridge: set it, or the provider's defaults.bridge", slot)
	}
	return settings.Prop{Name: "bridge"}.Put(model, j.defaults.Bridge)
}

// storage is where new volumes of the guest go: the VM's storage, else the one
// that its boot disk is on.
func (j *job) storage(config *proxmox.GuestConfig) string {
	if storage := j.plan.Text("storage"); storage != "" {
		return storage
	}
	return bootStorage(config)
}

// bootStorage is the storage that a guest's boot disk is on, or the first of
// its disks if it boots from none.
func bootStorage(config *proxmox.GuestConfig) string {
	disks := config.Disks()
	if boot, ok := config.BootDisk(); ok {
		return disks[boot].Storage()
	}
	for _, slot := range slices.Sorted(maps.Keys(disks)) {
		return disks[slot].Storage()
	}
	return ""
}

// cloudInitSlots are where a cloud-init drive goes, in PVE's own order of
// preference.
var cloudInitSlots = []string{"ide2", "ide0", "ide1", "ide3"}

// addCloudInitDrive adds the drive through which PVE passes cloud-init's data,
// where it is configured and the template has none.
func (j *job) addCloudInitDrive(config *proxmox.GuestConfig, values map[string]string) {
	if settings.IsNull(j.config.Values["cloud_init"]) {
		return
	}
	for _, drive := range config.CDROMs() {
		if drive.IsCloudInit() {
			return
		}
	}
	for _, slot := range cloudInitSlots {
		if values[slot] == "" {
			values[slot] = j.storage(config) + ":cloudinit"
			return
		}
	}
}

// writePassword sets the password where it is new or its version changed, and
// deletes one that is no longer configured. What PVE has cannot be compared: it
// shows a mask.
func (j *job) writePassword(update *proxmox.ConfigUpdate) {
	here := settings.At("cloud_init").AtName("password_wo")
	given := settings.Fields(j.config.Values["cloud_init"])
	password := given["password_wo"]
	changed := !isSame(given["password_wo_version"], settings.Fields(j.state.Values["cloud_init"])["password_wo_version"])
	switch {
	case settings.IsKnown(password) && (j.first || changed || !j.applied.Has(here)):
		update.Set["cipassword"] = settings.TextOf(password)
	case settings.IsNull(password) && j.applied.Has(here):
		update.Delete = append(update.Delete, "cipassword")
	}
}

func isSame(a, b attr.Value) bool {
	if settings.IsNull(a) || settings.IsNull(b) {
		return settings.IsNull(a) == settings.IsNull(b)
	}
	return a.Equal(b)
}
