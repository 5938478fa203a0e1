package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"

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
	planned := entries(j.plan.values[disksGroup.name])
	for slot, config := range entries(j.config.values[disksGroup.name]) {
		all = append(all, volume{slot, fields(config), fields(planned[slot])})
	}
	for _, g := range volumeGroups {
		if config := j.config.values[g.name]; !isNull(config) {
			all = append(all, volume{g.device, fields(config), fields(j.plan.values[g.name])})
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
var volumeGroups = []*group{efiGroup, tpmGroup}

// move is a volume that is to be on another storage, or in another format; what
// is empty stays as it is.
type move struct{ slot, storage, format string }

// moves finds the volumes that are elsewhere than configured.
func (j *job) moves(config *proxmox.GuestConfig) []move {
	real := wanted(config)
	var moves []move
	for _, v := range j.volumes() {
		disk, err := proxmox.ParseDisk(real[v.slot])
		if err != nil || disk.Storage() == "" {
			continue
		}
		m := move{slot: v.slot}
		if !isNull(v.config["storage"]) && textOf(v.planned["storage"]) != disk.Storage() {
			m.storage = textOf(v.planned["storage"])
		}
		if !isNull(v.config["format"]) && textOf(v.planned["format"]) != disk.VolumeFormat() {
			m.format = textOf(v.planned["format"])
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
		if _, err := j.client.Move(ctx, j.guest, j.spend(), m.slot, m.storage, m.format, progress(ctx)); err != nil {
			return fmt.Errorf("move %s: %w", m.slot, err)
		}
	}
	return nil
}

// newVolume asks for the volume of a device whose size is PVE's.
func (j *job) newVolume(config *proxmox.GuestConfig, slot string, planned map[string]attr.Value) (string, error) {
	storage := textOf(planned["storage"])
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
	held := entries(j.state.values[disksGroup.name])
	return slices.DeleteFunc(removedVolumes(j.applied, j.config), func(slot string) bool {
		state := held[slot]
		for _, g := range volumeGroups {
			if g.device == slot {
				state = j.state.values[g.name]
			}
		}
		return textOf(fields(state)["on_removal"]) != removalDestroy
	})
}

// destroyVolumes removes disks with their volumes. It is a call of its own: the
// parameter that removes volumes would hold for every deleted key. It comes
// before the write of the rest, which may protect the VM, and after one that
// takes its protection off.
func (j *job) destroyVolumes(ctx context.Context) error {
	if j.liftsProtection() {
		if _, err := j.client.Configure(ctx, j.guest, j.spend(), func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
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
	_, err := j.client.Configure(ctx, j.guest, j.spend(), func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
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
	if !isTrue(j.state.values["protection"]) || isTrue(j.plan.values["protection"]) {
		return false
	}
	return len(removedDrives(j.applied, j.config)) > 0
}

// removedDrives are the removed volumes and CD-ROM drives: PVE keeps both where
// a VM is protected.
func removedDrives(applied applied, config document) []string {
	return append(removedVolumes(applied, config), removedSlots(cdromGroup, applied, config)...)
}

// removedSlots are the slots of a map that were applied and are no longer
// configured.
func removedSlots(g *group, applied applied, config document) []string {
	if isUnknown(config.values[g.name]) {
		return nil
	}
	kept := entries(config.values[g.name])
	return slices.DeleteFunc(applied.slots(at(g.name)), func(slot string) bool {
		_, configured := kept[slot]
		return configured
	})
}

// removedVolumes are the slots of volumes that were applied and are no longer
// configured, the first one first.
func removedVolumes(applied applied, config document) []string {
	slots := removedSlots(disksGroup, applied, config)
	for _, g := range volumeGroups {
		if isNull(config.values[g.name]) && applied.has(at(g.name)) {
			slots = append(slots, g.device)
		}
	}
	return slots
}

// write writes the configuration, without what the node does not know. PVE
// appends each CD-ROM drive that is written to the boot order, before or after it
// takes the one that is written along: a configured order takes a second write.
func (j *job) write(ctx context.Context) (*proxmox.GuestConfig, error) {
	before, err := j.client.Configure(ctx, j.guest, j.spend(), j.update)
	if slices.Contains(proxmox.UnknownParams(err), upgradeKey) {
		j.diags.AddAttributeWarning(at(cloudInitGroup.name).AtName("upgrade"), "The node does not know this setting",
			"All else was written. Cloud-init decides by itself whether it upgrades packages, and this stays a difference until the node is upgraded.")
		j.withoutUpgrade = true
		before, err = j.client.Configure(ctx, j.guest, nil, j.update)
	}
	order := at("boot_order")
	if err != nil || !j.writesDrive || isNull(j.config.values["boot_order"]) && !j.applied.has(order) {
		return before, err
	}
	return j.client.Configure(ctx, j.guest, nil, j.update)
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
