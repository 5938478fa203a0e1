package container

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// listed are the mount points that a document names, and those that were applied.
func listed(d settings.Document, applied settings.Applied) []string {
	slots := applied.Slots(settings.At("mount_points"))
	for slot := range settings.Entries(d.Values["mount_points"]) {
		slots = append(slots, slot)
	}
	return slots
}

// mayTakeUnknown reports whether volumes may go that nobody listed.
func mayTakeUnknown(d settings.Document) bool {
	return settings.TextOf(settings.Fields(d.Values["on_destroy"])["unknown_disks"]) == unknownDestroy
}

// unknownVolumes names the volumes among a container's keys that are at none of the
// slots known.
func unknownVolumes(values map[string]string, known []string) []string {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		mount := proxmox.ParseMount(values[key])
		if volumeSlot.MatchString(key) && key != rootSlot && !slices.Contains(known, key) && mount.IsVolume() {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", key, mount.Volume))
		}
	}
	return unknown
}

// checkUnknown refuses, right before a container is destroyed, what nobody listed.
func checkUnknown(d settings.Document, known []string) func(*proxmox.GuestConfig) error {
	if mayTakeUnknown(d) {
		return nil
	}
	return func(config *proxmox.GuestConfig) error {
		values := maps.Clone(config.Current)
		maps.Copy(values, config.Pending)
		if unknown := unknownVolumes(values, known); len(unknown) > 0 {
			return fmt.Errorf("it has volumes that this configuration did not put there (%s), and on_destroy.unknown_disks does not let them go",
				strings.Join(unknown, ", "))
		}
		return nil
	}
}

// checkDestruction refuses in the plan what the destruction would refuse.
func checkDestruction(state settings.Document, applied settings.Applied, diags *diag.Diagnostics) {
	if mayTakeUnknown(state) {
		return
	}
	values := map[string]string{}
	for key, value := range settings.Entries(state.Values["devices"]) {
		values[key] = settings.TextOf(value)
	}
	if unknown := unknownVolumes(values, listed(state, applied)); len(unknown) > 0 {
		diags.AddError(fmt.Sprintf("Container %d has volumes that this configuration did not put there", state.Integer("vmid")),
			"They would be destroyed with it: "+strings.Join(unknown, ", ")+". Move or remove them in Proxmox VE, or apply on_destroy = { unknown_disks = \"destroy\" } first.")
	}
}
