package settings

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// Reader fills the table's settings from a guest's configuration.
type Reader struct {
	// Values are the configuration's, pending changes merged in.
	Values  map[string]string
	Purpose purpose
	// problems are the values that could not be read.
	problems []error
}

// purpose is what a configuration is read for, which decides what becomes of
// the value known before.
type purpose int

const (
	// Refreshing compares with state: the real value counts, in state's
	// spelling where both mean one thing, and only state's slots are read.
	Refreshing purpose = iota
	// Settling completes a plan that was applied: planned values stand, and
	// what was to be known after apply is read.
	Settling
	// Importing knows nothing: all slots are read.
	Importing
)

// Group reads a group; prior is its value in state or plan, slotKey the
// configuration key of the slot that it is in.
func (r *Reader) Group(g *Group, slotKey string, prior attr.Value) attr.Value {
	switch {
	case g.Optional && r.Purpose != Importing && IsNull(prior):
		return g.null()
	case g.Optional && r.Purpose == Importing && !r.holdsAny(g):
		return g.null()
	case r.Purpose == Settling && prior != nil && prior.IsNull():
		return g.null()
	case g.Device != "" && r.Values[g.Device] == "" && (r.Purpose != Settling || !IsKnown(prior)):
		return g.null()
	case g.Device != "":
		return r.Object(g, g.Device, prior)
	case g.Slots == nil:
		return r.Object(g, slotKey, prior)
	}
	return r.SlotsOf(g, prior)
}

// SlotsOf reads a map of slots.
func (r *Reader) SlotsOf(g *Group, prior attr.Value) attr.Value {
	if r.Values == nil && Entries(prior) == nil {
		return g.null()
	}
	found := map[string]bool{}
	for _, slot := range g.Slots.Found(r.Values) {
		found[slot] = true
	}
	elements := map[string]attr.Value{}
	known := Entries(prior)
	if r.Purpose == Importing || known == nil {
		for slot := range found {
			elements[slot] = r.Object(g, g.Slots.Key(slot), nil)
		}
		return g.Mapping(elements)
	}
	for slot, element := range known {
		if r.Purpose == Settling || found[slot] {
			elements[slot] = r.Object(g, g.Slots.Key(slot), element)
		}
	}
	return g.Mapping(elements)
}

// Object handles one object of a group.
func (r *Reader) Object(g *Group, slotKey string, prior attr.Value) attr.Value {
	held := Fields(prior)
	read := make(map[string]attr.Value, len(g.Settings)+len(g.Groups))
	for i := range g.Settings {
		s := &g.Settings[i]
		read[s.Name] = r.setting(s, slotKey, held[s.Name])
	}
	for _, sub := range g.Groups {
		read[sub.Name] = r.Group(sub, slotKey, held[sub.Name])
	}
	return g.Object(read)
}

func (r *Reader) setting(s *Setting, slotKey string, prior attr.Value) attr.Value {
	if s.Source == Secret {
		return s.Form.Null()
	}
	if s.Source == Local {
		switch {
		case IsKnown(prior), r.Purpose == Settling && prior != nil && prior.IsNull():
			return prior
		case r.Purpose == Importing && s.Imported != nil:
			return s.Imported
		}
		return s.None()
	}
	if r.Purpose == Settling && prior != nil && !prior.IsUnknown() {
		return prior
	}
	if s.Source == Reported && s.Place == nil {
		if IsKnown(prior) {
			return prior
		}
		return s.None()
	}
	real := r.Value(s, slotKey)
	if r.Purpose == Refreshing && IsKnown(prior) && r.means(s, prior, real) {
		return prior
	}
	return real
}

// means reports whether the real value is what the prior one says. An empty
// text or collection is what PVE keeps as nothing at all.
func (r *Reader) means(s *Setting, prior, real attr.Value) bool {
	if IsNull(real) {
		return s.Form.Print(prior) == ""
	}
	return s.Form.Same(prior, real)
}

// Value is what the configuration holds for a setting.
func (r *Reader) Value(s *Setting, slotKey string) attr.Value {
	text, ok := s.Place.Get(r.Values[s.keyIn(slotKey)])
	if !ok {
		return s.None()
	}
	value, err := s.Form.Parse(text)
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", s.keyIn(slotKey), err))
		return s.None()
	}
	return value
}

// holdsAny reports whether the configuration holds anything of the group.
func (r *Reader) holdsAny(g *Group) bool {
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Place == nil || s.Key == "" {
			continue
		}
		if _, ok := s.Place.Get(r.Values[s.Key]); ok {
			return true
		}
	}
	for _, sub := range g.Groups {
		if sub.Slots != nil && len(sub.Slots.Found(r.Values)) > 0 || sub.Slots == nil && r.holdsAny(sub) {
			return true
		}
	}
	return false
}

// Err joins the problems.
func (r *Reader) Err() error { return errors.Join(r.problems...) }
