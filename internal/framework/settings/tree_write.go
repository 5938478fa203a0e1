package settings

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/proxmox"
)

// Writer turns what is configured into changes of a guest's configuration: it
// compares with the real values, so that nothing is sent that holds already.
type Writer struct {
	Applied Applied
	// Real are the values found, now the ones wanted.
	Real, Now map[string]string
	// Create gives the first value of a slot that the guest lacks.
	Create   func(g *Group, slot string, planned attr.Value) (string, error)
	Problems []error
}

// group writes a group; config is what is configured, planned what is planned.
func (w *Writer) group(g *Group, at path.Path, config, planned attr.Value) {
	switch {
	case g.Device != "":
		w.device(g, at, config, planned)
		return
	case g.Slots == nil:
		w.Object(g, at, "", config, planned)
		return
	}
	wanted := Entries(config)
	for _, slot := range w.Applied.Slots(at) {
		if _, kept := wanted[slot]; !kept {
			w.Now[g.Slots.Key(slot)] = ""
		}
	}
	for slot, element := range wanted {
		w.slot(g, at.AtMapKey(slot), slot, element, Entries(planned)[slot])
	}
}

func (w *Writer) device(g *Group, at path.Path, config, planned attr.Value) {
	switch {
	case !IsNull(config):
		w.slot(g, at, g.Device, config, planned)
	case w.Applied.Has(at):
		w.Now[g.Device] = ""
	}
}

func (w *Writer) slot(g *Group, at path.Path, slot string, config, planned attr.Value) {
	key := slot
	if g.Slots != nil {
		key = g.Slots.Key(slot)
	}
	if w.Now[key] == "" && w.Create != nil {
		value, err := w.Create(g, slot, planned)
		if err != nil {
			w.fail(at, err)
			return
		}
		w.Now[key] = value
	}
	w.Object(g, at, key, config, planned)
}

// Object handles one object of a group.
func (w *Writer) Object(g *Group, at path.Path, slotKey string, config, planned attr.Value) {
	given, wanted := Fields(config), Fields(planned)
	for i := range g.Settings {
		s := &g.Settings[i]
		w.setting(s, at.AtName(s.Name), slotKey, given[s.Name], wanted[s.Name])
	}
	for _, sub := range g.Groups {
		if sub.Slots == nil && sub.Device == "" {
			w.Object(sub, at.AtName(sub.Name), slotKey, given[sub.Name], wanted[sub.Name])
			continue
		}
		w.group(sub, at.AtName(sub.Name), given[sub.Name], wanted[sub.Name])
	}
}

func (w *Writer) setting(s *Setting, at path.Path, slotKey string, config, planned attr.Value) {
	if s.Source != Configured && s.Source != Required {
		return
	}
	isConfigured := !IsNull(config)
	if !isConfigured && (!w.Applied.Has(at) || s.Kept) {
		return
	}
	key := s.keyIn(slotKey)
	var value string
	var err error
	if isConfigured && IsKnown(planned) && s.Form.Print(planned) != "" {
		value, err = w.put(s, at, w.Now[key], planned)
	} else {
		value, err = s.Place.Drop(w.Now[key])
	}
	if err != nil {
		w.fail(at, err)
		return
	}
	w.Now[key] = value
}

// put changes a setting inside a key's value, unless the value says the same
// already. What was not applied before is written even where PVE's default is
// the same: what is configured stands in PVE's configuration.
func (w *Writer) put(s *Setting, at path.Path, value string, want attr.Value) (string, error) {
	text, said := s.Place.Get(value)
	if !said && w.Applied.Has(at) && s.Form.Same(s.None(), want) {
		return value, nil
	}
	if said {
		if real, err := s.Form.Parse(text); err == nil && s.Form.Same(real, want) {
			return value, nil
		}
	}
	return s.Place.Put(value, s.Form.Print(want))
}

func (w *Writer) fail(at path.Path, err error) {
	w.Problems = append(w.Problems, fmt.Errorf("%s: %w", at, err))
}

// Update is the difference between the real and the wanted values.
func (w *Writer) Update() proxmox.ConfigUpdate {
	update := proxmox.ConfigUpdate{Set: map[string]string{}}
	for key, value := range w.Now {
		switch real, exists := w.Real[key]; {
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
