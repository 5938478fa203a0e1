package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// growth is a volume that is to become larger.
type growth struct {
	slot string
	size proxmox.Size
}

// wantedSizes are the sizes that the configuration gives, by slot.
func wantedSizes(d settings.Document) map[string]attr.Value {
	sizes := map[string]attr.Value{rootSlot: settings.Fields(d.Values["root_volume"])["size_gib"]}
	for slot, mount := range settings.Entries(d.Values["mount_points"]) {
		sizes[slot] = settings.Fields(mount)["size_gib"]
	}
	return sizes
}

// growths finds the volumes that are smaller than configured, in order.
func (j *job) growths(config *proxmox.GuestConfig) ([]growth, error) {
	mounts := config.Mounts()
	var growths []growth
	for slot, want := range wantedSizes(j.config) {
		real, exists := mounts[slot]
		if !settings.IsKnown(want) || !exists || real.Size == nil {
			continue
		}
		size := settings.BytesOf(want)
		if size < *real.Size {
			return nil, fmt.Errorf("%s has %s, more than the %s configured: volumes never shrink", slot, *real.Size, size)
		}
		if size > *real.Size {
			growths = append(growths, growth{slot, size})
		}
	}
	slices.SortFunc(growths, func(a, b growth) int { return cmp.Compare(a.slot, b.slot) })
	return growths, nil
}

// wanted are a configuration's values with pending changes merged in.
func wanted(config *proxmox.GuestConfig) map[string]string {
	values := maps.Clone(config.Current)
	maps.Copy(values, config.Pending)
	for _, key := range config.PendingDelete {
		delete(values, key)
	}
	values["description"] = proxmox.SplitDescription(values["description"])
	return values
}

// firstSettings are the configuration keys of a container that is to be made: what
// is configured, and of one that is made anew what it had besides, such as the
// addresses of its interfaces. PVE's defaults are written only where they are
// configured.
func (j *job) firstSettings() (map[string]string, error) {
	w := &settings.Writer{Real: map[string]string{}, Now: map[string]string{}, Create: j.newDevice}
	config := j.config.Object()
	if j.state.Exists() {
		w.Applied = settings.Applied{}
		table.Walk(path.Empty(), j.plan.Object(), func(at path.Path) { w.Applied[at.String()] = true })
		table.Walk(path.Empty(), config, func(at path.Path) { delete(w.Applied, at.String()) })
		config = j.plan.Object()
	}
	w.Object(table, path.Empty(), "", config, j.plan.Object())
	if err := errors.Join(w.Problems...); err != nil {
		return nil, err
	}
	values := w.Update().Set
	if values[rootSlot] == "" {
		value, err := j.newVolume(rootSlot, nil)
		if err != nil {
			return nil, err
		}
		values[rootSlot] = value
	}
	return values, nil
}

// update says what to change in a container's configuration, all at once. The
// marker stays as it is.
func (j *job) update(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
	real := wanted(config)
	w := &settings.Writer{Applied: j.applied, Real: real, Now: maps.Clone(real), Create: j.newDevice}
	w.Object(table, path.Empty(), "", j.config.Object(), j.plan.Object())
	if err := errors.Join(w.Problems...); err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	marker, _ := config.Marker()
	description, err := proxmox.JoinDescription(w.Now["description"], marker)
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	w.Now["description"], w.Real["description"] = description, strings.TrimRight(config.Description(), "\n")
	return w.Update(), nil
}

// newDevice is the first value of a slot that the container lacks.
func (j *job) newDevice(g *settings.Group, slot string, planned attr.Value) (string, error) {
	switch g {
	case rootGroup, mountGroup:
		return j.newVolume(slot, settings.Fields(planned))
	case networkGroup:
		return j.newInterface(slot, settings.Fields(planned))
	}
	return "", nil
}

// defaultRootGiB is the size that PVE gives a root volume.
const defaultRootGiB = 4

// newVolume asks for a new volume, which PVE takes as "storage:size" with the size
// in GiB, or names one that there is.
func (j *job) newVolume(slot string, planned map[string]attr.Value) (string, error) {
	given := settings.Fields(settings.Entries(j.config.Values["mount_points"])[slot])["volume"]
	if settings.IsKnown(given) {
		return settings.TextOf(given), nil
	}
	storage := settings.TextOf(planned["storage"])
	if storage == "" {
		storage = j.defaults.Storage
	}
	if storage == "" {
		return "", fmt.Errorf("the new volume %s needs a storage: set it, or the provider's defaults.storage", slot)
	}
	size, known := planned["size_gib"].(types.Float64)
	switch {
	case known && settings.IsKnown(size):
		return storage + ":" + strconv.FormatFloat(size.ValueFloat64(), 'f', -1, 64), nil
	case slot == rootSlot:
		return storage + ":" + strconv.Itoa(defaultRootGiB), nil
	}
	return "", fmt.Errorf("there is no volume %s, and a new one needs size_gib", slot)
}

// newInterface names a new interface and finds its bridge.
func (j *job) newInterface(slot string, planned map[string]attr.Value) (string, error) {
	value := ""
	if settings.TextOf(planned["name"]) == "" {
		value = "name=eth" + strings.TrimPrefix(slot, "net")
	}
	if settings.TextOf(planned["bridge"]) != "" {
		return value, nil
	}
	if j.defaults.Bridge == "" {
		return "", fmt.Errorf("the new interface %s needs a bridge: set it, or the provider's defaults.bridge", slot)
	}
	return settings.Prop{Name: "bridge"}.Put(value, j.defaults.Bridge)
}

// destroyedSlots are the mount points that are no longer configured and whose
// volume is to go with them.
func (j *job) destroyedSlots() []string {
	kept := settings.Entries(j.config.Values["mount_points"])
	held := settings.Entries(j.state.Values["mount_points"])
	var slots []string
	for _, slot := range j.applied.Slots(settings.At("mount_points")) {
		_, configured := kept[slot]
		if !configured && settings.TextOf(settings.Fields(held[slot])["on_removal"]) == removalDestroy {
			slots = append(slots, slot)
		}
	}
	return slots
}

// destroyVolumes removes volumes whose mount points went: PVE keeps such a volume
// as unusedN, and removes it when that is deleted.
func (j *job) destroyVolumes(ctx context.Context) error {
	held := settings.Entries(j.state.Values["mount_points"])
	var gone []string
	for _, slot := range j.destroyedSlots() {
		if volume := settings.TextOf(settings.Fields(held[slot])["volume"]); volume != "" {
			gone = append(gone, volume)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := j.client.Configure(ctx, j.guest, nil, func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
		var update proxmox.ConfigUpdate
		for key, volume := range config.Current {
			if strings.HasPrefix(key, "unused") && slices.Contains(gone, volume) {
				update.Delete = append(update.Delete, key)
			}
		}
		return update, nil
	})
	if err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	return nil
}
