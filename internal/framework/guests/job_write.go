package guests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Wanted are a configuration's values with pending changes merged in, and the
// description without its marker.
func Wanted(config *proxmox.GuestConfig) map[string]string {
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

// Configure writes the configuration. What PVE refuses, or a node does not know,
// is the caller's to judge by the error.
func (j *Job) Configure(ctx context.Context, build func(*proxmox.GuestConfig) (proxmox.ConfigUpdate, error)) error {
	before, err := j.Client.Configure(ctx, j.Guest, j.Spend(), build)
	if before != nil {
		j.note(before)
	}
	return err
}

// Writer compares what is configured with what was read, and asks create for the
// first value of a slot that the guest lacks.
func (j *Job) Writer(config *proxmox.GuestConfig, create func(g *settings.Group, slot string, planned map[string]attr.Value) (string, error)) (*settings.Writer, error) {
	real := Wanted(config)
	w := &settings.Writer{Applied: j.applied(), Real: real, Now: maps.Clone(real), Create: func(g *settings.Group, slot string, planned attr.Value) (string, error) {
		return create(g, slot, settings.Fields(planned))
	}}
	w.Object(j.Kind.Table, path.Empty(), "", j.Config.Object(), j.Plan.Object())
	return w, errors.Join(w.Problems...)
}

// applied are the paths of what was applied, and of what is configured and, by the
// state, holds already: an imported guest's defaults are not written out, some of
// which PVE takes from root alone.
func (j *Job) applied() settings.Applied {
	applied := settings.Applied{}
	maps.Copy(applied, j.Applied)
	j.Kind.Table.EachIn(path.Empty(), j.Config.Object(), j.Plan.Object(), j.State.Object(), func(_ *settings.Setting, at path.Path, planned, held attr.Value) {
		if held != nil && settings.IsKnown(planned) && planned.Equal(held) {
			applied[at.String()] = true
		}
	})
	return applied
}

// ConfigUpdate turns what was compared into one change, the marker kept in the
// description, and notes the volumes that it makes.
func (j *Job) ConfigUpdate(w *settings.Writer, config *proxmox.GuestConfig, marker proxmox.Marker) (proxmox.ConfigUpdate, error) {
	description, err := proxmox.JoinDescription(w.Now["description"], marker)
	if err != nil {
		return proxmox.ConfigUpdate{}, err
	}
	w.Now["description"], w.Real["description"] = description, strings.TrimRight(config.Description(), "\n")
	update := w.Update()
	j.Known = append(j.Known, j.Kind.volumeSlots(update.Set)...)
	return update, nil
}

// Grow makes volumes as large as is configured, in order of their slots. sizes are
// the configured ones; what is null or not there yet is left alone.
func (j *Job) Grow(ctx context.Context, config *proxmox.GuestConfig, sizes map[string]attr.Value) error {
	j.Grown = map[string]proxmox.Size{}
	growths, err := growths(config, sizes)
	if err != nil {
		return err
	}
	for _, growth := range growths {
		if _, err := j.Client.Grow(ctx, j.Guest, j.Spend(), growth.slot, growth.size, progress(ctx)); err != nil {
			return fmt.Errorf("grow %s: %w", growth.slot, err)
		}
		j.Grown[growth.slot] = growth.size
	}
	return nil
}

// growth is a volume that is to become larger.
type growth struct {
	slot string
	size proxmox.Size
}

// growths finds the volumes that are smaller than configured, in order.
func growths(config *proxmox.GuestConfig, sizes map[string]attr.Value) ([]growth, error) {
	var growths []growth
	for slot, want := range sizes {
		real, exists := config.SizeOf(slot)
		if !settings.IsKnown(want) || !exists || real == nil {
			continue
		}
		size := settings.BytesOf(want)
		if size < *real {
			return nil, fmt.Errorf("%s has %s, more than the %s configured: volumes never shrink", slot, *real, size)
		}
		if size > *real {
			growths = append(growths, growth{slot, size})
		}
	}
	slices.SortFunc(growths, func(a, b growth) int { return cmp.Compare(a.slot, b.slot) })
	return growths, nil
}

// Removed are the slots of a map that were applied and are no longer configured.
func Removed(name string, applied settings.Applied, config settings.Document) []string {
	configured := config.Values[name]
	if configured != nil && configured.IsUnknown() {
		return nil
	}
	kept := settings.Entries(configured)
	return slices.DeleteFunc(applied.Slots(settings.At(name)), func(slot string) bool {
		_, stays := kept[slot]
		return stays
	})
}
