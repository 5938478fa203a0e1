package vm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// sizes are the configured sizes of disks, by slot.
func (j *job) sizes() map[string]attr.Value {
	sizes := map[string]attr.Value{}
	configured := settings.Entries(j.Config.Values["disks"])
	for slot, planned := range settings.Entries(j.Plan.Values["disks"]) {
		if !settings.IsNull(settings.Fields(configured[slot])["size_gib"]) {
			sizes[slot] = settings.Fields(planned)["size_gib"]
		}
	}
	return sizes
}

// keepGrowth has the values of configured disks say how large their volumes
// are. PVE writes a new size into the value in force alone: one that waits for
// the next start would bring the size of before back into the configuration, and
// PVE corrects that no more, as the volume has the new one.
func (j *job) keepGrowth(config *proxmox.GuestConfig, values map[string]string) error {
	disks := config.Disks()
	for slot := range settings.Entries(j.Config.Values["disks"]) {
		disk, err := proxmox.ParseDisk(values[slot])
		real, exists := disks[slot]
		if err != nil || disk.Size == nil || !exists || disk.Volume != real.Volume {
			continue
		}
		size := max(*disk.Size, j.Grown[slot])
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

// update says what to change in a guest's configuration, all at once. The marker
// says "creating" until all else is done.
func (j *job) update(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
	w, err := j.Writer(config, func(g *settings.Group, slot string, planned map[string]attr.Value) (string, error) {
		return j.newDevice(config, g, slot, planned)
	})
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	if err := j.keepGrowth(config, w.Now); err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	j.addCloudInitDrive(config, w.Now)
	j.attachSeed(w.Real, w.Now)
	for _, slot := range j.destroyedSlots() {
		w.Now[slot] = w.Real[slot] // Removed with its volume afterwards.
	}
	update, err := j.ConfigUpdate(w, config, proxmox.Marker{UID: j.Guest.UID, VMID: j.Guest.VMID, Creating: j.First})
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	j.writePassword(&update)
	if j.withoutUpgrade {
		delete(update.Set, upgradeKey)
	}
	j.writesDrive = setsDrive(update)
	j.outdatesImage = j.outdatesImage || outdatesImage(config, update)
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
	if j.Defaults.Bridge == "" {
		return "", fmt.Errorf("the new device %s needs a bridge: set it, or the provider's defaults.bridge", slot)
	}
	return settings.Prop{Name: "bridge"}.Put(model, j.Defaults.Bridge)
}

// storage is where new volumes of the guest go: the VM's storage, else the one
// that its boot disk is on.
func (j *job) storage(config *proxmox.GuestConfig) string {
	if storage := j.Plan.Text("storage"); storage != "" {
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
	if settings.IsNull(j.Config.Values["cloud_init"]) {
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
	given := settings.Fields(j.Config.Values["cloud_init"])
	password := given["password_wo"]
	changed := !settings.IsSame(given["password_wo_version"], settings.Fields(j.State.Values["cloud_init"])["password_wo_version"])
	switch {
	case settings.IsKnown(password) && (j.First || changed || !j.Applied.Has(here)):
		update.Set["cipassword"] = settings.TextOf(password)
	case settings.IsNull(password) && j.Applied.Has(here):
		update.Delete = append(update.Delete, "cipassword")
	}
}
