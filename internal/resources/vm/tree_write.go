package vm

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/proxmox"
)

// writer turns what is configured into changes of a guest's configuration: it
// compares with the real values, so that nothing is sent that holds already.
type writer struct {
	applied applied
	// real are the values found, now the ones wanted.
	real, now map[string]string
	// create gives the first value of a slot that the guest lacks.
	create   func(g *group, slot string, planned attr.Value) (string, error)
	problems []error
}

// group writes a group; config is what is configured, planned what is planned.
func (w *writer) group(g *group, at path.Path, config, planned attr.Value) {
	switch {
	case g.device != "":
		w.device(g, at, config, planned)
		return
	case g.slots == nil:
		w.object(g, at, "", config, planned)
		return
	}
	wanted := entries(config)
	for _, slot := range w.applied.slots(at) {
		if _, kept := wanted[slot]; !kept {
			w.now[g.slots.key(slot)] = ""
		}
	}
	for slot, element := range wanted {
		w.slot(g, at.AtMapKey(slot), slot, element, entries(planned)[slot])
	}
}

func (w *writer) device(g *group, at path.Path, config, planned attr.Value) {
	switch {
	case !isNull(config):
		w.slot(g, at, g.device, config, planned)
	case w.applied.has(at):
		w.now[g.device] = ""
	}
}

func (w *writer) slot(g *group, at path.Path, slot string, config, planned attr.Value) {
	key := slot
	if g.slots != nil {
		key = g.slots.key(slot)
	}
	if w.now[key] == "" && w.create != nil {
		value, err := w.create(g, slot, planned)
		if err != nil {
			w.fail(at, err)
			return
		}
		w.now[key] = value
	}
	w.object(g, at, key, config, planned)
}

func (w *writer) object(g *group, at path.Path, slotKey string, config, planned attr.Value) {
	given, wanted := fields(config), fields(planned)
	for i := range g.settings {
		s := &g.settings[i]
		w.setting(s, at.AtName(s.name), slotKey, given[s.name], wanted[s.name])
	}
	for _, sub := range g.groups {
		if sub.slots == nil && sub.device == "" {
			w.object(sub, at.AtName(sub.name), slotKey, given[sub.name], wanted[sub.name])
			continue
		}
		w.group(sub, at.AtName(sub.name), given[sub.name], wanted[sub.name])
	}
}

func (w *writer) setting(s *setting, at path.Path, slotKey string, config, planned attr.Value) {
	if s.source != configured && s.source != required {
		return
	}
	isConfigured := !isNull(config)
	if !isConfigured && (!w.applied.has(at) || s.kept) {
		return
	}
	key := s.keyIn(slotKey)
	var value string
	var err error
	if isConfigured && isKnown(planned) && s.form.print(planned) != "" {
		value, err = w.put(s, at, w.now[key], planned)
	} else {
		value, err = s.place.drop(w.now[key])
	}
	if err != nil {
		w.fail(at, err)
		return
	}
	w.now[key] = value
}

// put changes a setting inside a key's value, unless the value says the same
// already. What was not applied before is written even where PVE's default is
// the same: what is configured stands in PVE's configuration.
func (w *writer) put(s *setting, at path.Path, value string, want attr.Value) (string, error) {
	text, said := s.place.get(value)
	if !said && w.applied.has(at) && s.form.same(s.none(), want) {
		return value, nil
	}
	if said {
		if real, err := s.form.parse(text); err == nil && s.form.same(real, want) {
			return value, nil
		}
	}
	return s.place.put(value, s.form.print(want))
}

func (w *writer) fail(at path.Path, err error) {
	w.problems = append(w.problems, fmt.Errorf("%s: %w", at, err))
}

// update is the difference between the real and the wanted values.
func (w *writer) update() proxmox.ConfigUpdate {
	update := proxmox.ConfigUpdate{Set: map[string]string{}}
	for key, value := range w.now {
		switch real, exists := w.real[key]; {
		case value == real:
		case value != "":
			update.Set[key] = value
		case exists:
			update.Delete = append(update.Delete, key)
		}
	}
	slices.Sort(update.Delete)
	return update
}
