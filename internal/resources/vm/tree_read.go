package vm

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// reader fills the table's settings from a guest's configuration.
type reader struct {
	// values are the configuration's, pending changes merged in.
	values  map[string]string
	purpose purpose
	// problems are the values that could not be read.
	problems []error
}

// purpose is what a configuration is read for, which decides what becomes of
// the value known before.
type purpose int

const (
	// refreshing compares with state: the real value counts, in state's
	// spelling where both mean one thing, and only state's slots are read.
	refreshing purpose = iota
	// settling completes a plan that was applied: planned values stand, and
	// what was to be known after apply is read.
	settling
	// importing knows nothing: all slots are read.
	importing
)

// group reads a group; prior is its value in state or plan, slotKey the
// configuration key of the slot that it is in.
func (r *reader) group(g *group, slotKey string, prior attr.Value) attr.Value {
	switch {
	case g.optional && r.purpose != importing && isNull(prior):
		return g.null()
	case g.optional && r.purpose == importing && !r.holdsAny(g):
		return g.null()
	case r.purpose == settling && prior != nil && prior.IsNull():
		return g.null()
	case g.device != "" && r.values[g.device] == "" && (r.purpose != settling || !isKnown(prior)):
		return g.null()
	case g.device != "":
		return r.object(g, g.device, prior)
	case g.slots == nil:
		return r.object(g, slotKey, prior)
	}
	return r.slotsOf(g, prior)
}

func (r *reader) slotsOf(g *group, prior attr.Value) attr.Value {
	if r.values == nil {
		return g.null()
	}
	found := map[string]bool{}
	for _, slot := range g.slots.found(r.values) {
		found[slot] = true
	}
	elements := map[string]attr.Value{}
	known := entries(prior)
	if r.purpose == importing || known == nil {
		for slot := range found {
			elements[slot] = r.object(g, g.slots.key(slot), nil)
		}
		return g.mapping(elements)
	}
	for slot, element := range known {
		if r.purpose == settling || found[slot] {
			elements[slot] = r.object(g, g.slots.key(slot), element)
		}
	}
	return g.mapping(elements)
}

func (r *reader) object(g *group, slotKey string, prior attr.Value) attr.Value {
	held := fields(prior)
	read := make(map[string]attr.Value, len(g.settings)+len(g.groups))
	for i := range g.settings {
		s := &g.settings[i]
		read[s.name] = r.setting(s, slotKey, held[s.name])
	}
	for _, sub := range g.groups {
		read[sub.name] = r.group(sub, slotKey, held[sub.name])
	}
	return g.object(read)
}

func (r *reader) setting(s *setting, slotKey string, prior attr.Value) attr.Value {
	if s.source == secret {
		return s.form.null()
	}
	if s.source == local {
		switch {
		case isKnown(prior):
			return prior
		case r.purpose == importing && s.imported != nil:
			return s.imported
		}
		return s.none()
	}
	if r.purpose == settling && prior != nil && !prior.IsUnknown() {
		return prior
	}
	if s.source == reported && s.place == nil {
		if isKnown(prior) {
			return prior
		}
		return s.none()
	}
	real := r.value(s, slotKey)
	if r.purpose == refreshing && isKnown(prior) && r.means(s, prior, real) {
		return prior
	}
	return real
}

// means reports whether the real value is what the prior one says. An empty
// text or collection is what PVE keeps as nothing at all.
func (r *reader) means(s *setting, prior, real attr.Value) bool {
	if isNull(real) {
		return s.form.print(prior) == ""
	}
	return s.form.same(prior, real)
}

// value is what the configuration holds for a setting.
func (r *reader) value(s *setting, slotKey string) attr.Value {
	text, ok := s.place.get(r.values[s.keyIn(slotKey)])
	if !ok {
		return s.none()
	}
	value, err := s.form.parse(text)
	if err != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: %w", s.keyIn(slotKey), err))
		return s.none()
	}
	return value
}

// holdsAny reports whether the configuration holds anything of the group.
func (r *reader) holdsAny(g *group) bool {
	for i := range g.settings {
		s := &g.settings[i]
		if s.place == nil || s.key == "" {
			continue
		}
		if _, ok := s.place.get(r.values[s.key]); ok {
			return true
		}
	}
	for _, sub := range g.groups {
		if sub.slots != nil && len(sub.slots.found(r.values)) > 0 || sub.slots == nil && r.holdsAny(sub) {
			return true
		}
	}
	return false
}

func (r *reader) err() error { return errors.Join(r.problems...) }
