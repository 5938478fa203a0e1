package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// wantedSizes are the sizes that the configuration gives, by slot.
func wantedSizes(d settings.Document) map[string]attr.Value {
	sizes := map[string]attr.Value{rootSlot: settings.Fields(d.Values["root_volume"])["size_gib"]}
	for slot, mount := range settings.Entries(d.Values["mount_points"]) {
		sizes[slot] = settings.Fields(mount)["size_gib"]
	}
	return sizes
}

// firstSettings are the configuration keys of a container that is to be made: what
// is configured, and of one that is made anew what it had besides, such as the
// addresses of its interfaces. PVE's defaults are written only where they are
// configured.
func (j *job) firstSettings() (map[string]string, error) {
	w := &settings.Writer{Real: map[string]string{}, Now: map[string]string{}, Create: func(g *settings.Group, slot string, planned attr.Value) (string, error) {
		return j.newDevice(g, slot, settings.Fields(planned))
	}}
	config := j.Config.Object()
	if j.State.Exists() {
		w.Applied = settings.Applied{}
		table.Walk(path.Empty(), j.Plan.Object(), func(at path.Path) { w.Applied[at.String()] = true })
		table.Walk(path.Empty(), config, func(at path.Path) { delete(w.Applied, at.String()) })
		config = j.Plan.Object()
	}
	w.Object(table, path.Empty(), "", config, j.Plan.Object())
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
	w, err := j.Writer(config, j.newDevice)
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	marker, _ := config.Marker()
	return j.ConfigUpdate(w, config, marker)
}

// newDevice is the first value of a slot that the container lacks.
func (j *job) newDevice(g *settings.Group, slot string, planned map[string]attr.Value) (string, error) {
	switch g {
	case rootGroup, mountGroup:
		return j.newVolume(slot, planned)
	case networkGroup:
		return j.newInterface(slot, planned)
	}
	return "", nil
}

// defaultRootGiB is the size that PVE gives a root volume.
const defaultRootGiB = 4

// newVolume asks for a new volume, which PVE takes as "storage:size" with the size
// in GiB, or names one that there is.
func (j *job) newVolume(slot string, planned map[string]attr.Value) (string, error) {
	given := settings.Fields(settings.Entries(j.Config.Values["mount_points"])[slot])["volume"]
	if settings.IsKnown(given) {
		return settings.TextOf(given), nil
	}
	storage := settings.TextOf(planned["storage"])
	if storage == "" {
		storage = j.Defaults.Storage
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
	if j.Defaults.Bridge == "" {
		return "", fmt.Errorf("the new interface %s needs a bridge: set it, or the provider's defaults.bridge", slot)
	}
	return settings.Prop{Name: "bridge"}.Put(value, j.Defaults.Bridge)
}

// destroyVolumes removes volumes whose mount points went, where they are to go with
// them: PVE keeps such a volume as unusedN, and removes it when that is deleted.
func (j *job) destroyVolumes(ctx context.Context) error {
	held := settings.Entries(j.State.Values["mount_points"])
	var gone []string
	for _, slot := range guests.Removed("mount_points", j.Applied, j.Config) {
		if volume := settings.TextOf(settings.Fields(held[slot])["volume"]); volume != "" && guests.DestroysOnRemoval(held[slot]) {
			gone = append(gone, volume)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	err := j.Configure(ctx, func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
		var update proxmox.ConfigUpdate
		for key, unused := range config.Unused() {
			if slices.Contains(gone, unused.Volume) {
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
