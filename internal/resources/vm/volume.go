package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// volume is a device that is configured and has a volume: a disk, the EFI
// variables or the TPM's state.
type volume struct {
	slot            string
	config, planned map[string]attr.Value
}

// volumes are the configured ones, in order of their slots.
func (j *job) volumes() []volume {
	var all []volume
	planned := settings.Entries(j.Plan.Values[disksGroup.Name])
	for slot, config := range settings.Entries(j.Config.Values[disksGroup.Name]) {
		all = append(all, volume{slot, settings.Fields(config), settings.Fields(planned[slot])})
	}
	for _, g := range volumeGroups {
		if config := j.Config.Values[g.Name]; !settings.IsNull(config) {
			all = append(all, volume{g.Device, settings.Fields(config), settings.Fields(j.Plan.Values[g.Name])})
		}
	}
	slices.SortFunc(all, func(a, b volume) int {
		if a.slot < b.slot {
			return -1
		}
		return 1
	})
	return all
}

// volumeGroups are the devices beside the disks that have a volume.
var volumeGroups = []*settings.Group{efiGroup, tpmGroup}

// move is a volume that is to be on another storage, or in another format; what
// is empty stays as it is.
type move struct{ slot, storage, format string }

// moves finds the volumes that are elsewhere than configured.
func (j *job) moves(config *proxmox.GuestConfig) []move {
	real := guests.Wanted(config)
	var moves []move
	for _, v := range j.volumes() {
		disk, err := proxmox.ParseDisk(real[v.slot])
		if err != nil || disk.Storage() == "" {
			continue
		}
		m := move{slot: v.slot}
		if !settings.IsNull(v.config["storage"]) && settings.TextOf(v.planned["storage"]) != disk.Storage() {
			m.storage = settings.TextOf(v.planned["storage"])
		}
		if !settings.IsNull(v.config["format"]) && settings.TextOf(v.planned["format"]) != disk.VolumeFormat() {
			m.format = settings.TextOf(v.planned["format"])
		}
		if m.storage != "" || m.format != "" {
			moves = append(moves, m)
		}
	}
	return moves
}

// moveVolumes brings volumes to the storages that are configured.
func (j *job) moveVolumes(ctx context.Context, config *proxmox.GuestConfig) error {
	for _, m := range j.moves(config) {
		if _, err := j.Client.Move(ctx, j.Guest, j.Spend(), m.slot, m.storage, m.format, j.Progress(ctx)); err != nil {
			return fmt.Errorf("move %s: %w", m.slot, err)
		}
	}
	return nil
}

// newVolume asks for the volume of a device whose size is PVE's.
func (j *job) newVolume(config *proxmox.GuestConfig, slot string, planned map[string]attr.Value) (string, error) {
	storage := settings.TextOf(planned["storage"])
	if storage == "" {
		storage = j.storage(config)
	}
	if storage == "" {
		return "", fmt.Errorf("the new volume %s needs a storage", slot)
	}
	return storage + ":1", nil
}

// destroyedSlots are the devices that are no longer configured and whose volume
// is to go with them.
func (j *job) destroyedSlots() []string {
	held := settings.Entries(j.State.Values[disksGroup.Name])
	return slices.DeleteFunc(removedVolumes(j.Applied, j.Config), func(slot string) bool {
		state := held[slot]
		for _, g := range volumeGroups {
			if g.Device == slot {
				state = j.State.Values[g.Name]
			}
		}
		return !guests.DestroysOnRemoval(state)
	})
}

// destroyVolumes removes disks with their volumes. It is a call of its own: the
// parameter that removes volumes would hold for every deleted key. It comes
// before the write of the rest, which may protect the VM, and after one that
// takes its protection off.
func (j *job) destroyVolumes(ctx context.Context) error {
	if j.liftsProtection() {
		if _, err := j.Client.Configure(ctx, j.Guest, j.Spend(), func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
			update := proxmox.ConfigUpdate{}
			if config.Wanted("protection") != "" {
				update.Delete = []string{"protection"}
			}
			return update, nil
		}); err != nil {
			return fmt.Errorf("take the protection off: %w", err)
		}
	}
	slots := j.destroyedSlots()
	if len(slots) == 0 {
		return nil
	}
	_, err := j.Client.Configure(ctx, j.Guest, j.Spend(), func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
		update := proxmox.ConfigUpdate{Force: true}
		for _, slot := range slots {
			if config.Wanted(slot) != "" {
				update.Delete = append(update.Delete, slot)
			}
		}
		return update, nil
	})
	return err
}

// liftsProtection reports whether the change takes the VM's protection off and
// volumes away: PVE looks at the protection before the change.
func (j *job) liftsProtection() bool {
	if !settings.IsTrue(j.State.Values["protection"]) || settings.IsTrue(j.Plan.Values["protection"]) {
		return false
	}
	return len(removedDrives(j.Applied, j.Config)) > 0
}

// removedDrives are the removed volumes and CD-ROM drives: PVE keeps both where
// a VM is protected.
func removedDrives(applied settings.Applied, config settings.Document) []string {
	return append(removedVolumes(applied, config), guests.Removed(cdromGroup.Name, applied, config)...)
}

// removedVolumes are the slots of volumes that were applied and are no longer
// configured, the first one first.
func removedVolumes(applied settings.Applied, config settings.Document) []string {
	slots := guests.Removed(disksGroup.Name, applied, config)
	for _, g := range volumeGroups {
		if settings.IsNull(config.Values[g.Name]) && applied.Has(settings.At(g.Name)) {
			slots = append(slots, g.Device)
		}
	}
	return slots
}

// write writes the configuration, without what the node does not know. PVE
// appends each CD-ROM drive that is written to the boot order, before or after it
// takes the one that is written along: a configured order takes a second write.
func (j *job) write(ctx context.Context) error {
	err := j.Configure(ctx, j.update)
	if slices.Contains(proxmox.UnknownParams(err), upgradeKey) {
		j.Diags.AddAttributeWarning(settings.At(cloudInitGroup.Name).AtName("upgrade"), "The node does not know this setting",
			"All else was written. Cloud-init decides by itself whether it upgrades packages, and this stays a difference until the node is upgraded.")
		j.withoutUpgrade = true
		err = j.Configure(ctx, j.update)
	}
	order := settings.At("boot_order")
	if err != nil || !j.writesDrive || settings.IsNull(j.Config.Values["boot_order"]) && !j.Applied.Has(order) {
		return err
	}
	return j.Configure(ctx, j.update)
}

// setsDrive reports whether an update sets a CD-ROM drive other than
// cloud-init's.
func setsDrive(update proxmox.ConfigUpdate) bool {
	for key, value := range update.Set {
		disk, err := proxmox.ParseDisk(value)
		if diskSlot.MatchString(key) && err == nil && disk.IsCDROM() && !disk.IsCloudInit() {
			return true
		}
	}
	return false
}

// upgradeKey is the configuration key of cloud_init.upgrade.
const upgradeKey = "ciupgrade"
