package protocol

import (
	"maps"
	"strconv"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// hideSecrets makes the write-only attributes null, as they are in all that the
// CLI keeps.
func hideSecrets(t testing.TB, schema []*tfprotov6.SchemaAttribute, object tftypes.Value) tftypes.Value {
	t.Helper()

	if object.IsNull() || !object.IsKnown() {
		return object
	}
	values := maps.Clone(members(t, object)) // They are the object's own.
	for _, attribute := range schema {
		switch {
		case attribute.WriteOnly:
			values[attribute.Name] = tftypes.NewValue(attribute.Type, nil)
		case attribute.NestedType != nil && attribute.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			values[attribute.Name] = hideSecrets(t, attribute.NestedType.Attributes, values[attribute.Name])
		}
	}
	return tftypes.NewValue(object.Type(), values)
}

// checkHidden fails the test where a provider answers with a write-only attribute:
// the CLI refuses such an answer.
func (r *Resource) checkHidden(t testing.TB, answer string, object tftypes.Value) {
	t.Helper()

	if !object.Equal(hideSecrets(t, r.schema.Block.Attributes, object)) {
		t.Errorf("the %s of %s holds a write-only attribute", answer, r.name)
	}
}

// checkPlan holds a plan against its configuration: what is configured is
// planned, or state's value that means the same; a configured map has the
// configured keys and no others.
func checkPlan(t testing.TB, at string, config, planned, state tftypes.Value) {
	t.Helper()

	switch {
	case config.IsNull() || !config.IsKnown() || planned.Equal(config) || planned.Equal(state):
		return
	case config.Type().Is(tftypes.List{}) && planned.IsKnown() && !planned.IsNull():
		checkList(t, at, config, planned)
		return
	case !isObject(config) || planned.IsNull() || !planned.IsKnown():
		t.Errorf("planned is %s = %s, configured %s", at, planned, config)
		return
	}
	given, wanted, held := members(t, config), members(t, planned), members(t, state)
	for name := range wanted {
		if _, configured := given[name]; !configured {
			t.Errorf("planned is %s.%s, which is not configured", at, name)
		}
	}
	for name, each := range given {
		after, exists := wanted[name]
		if !exists {
			t.Errorf("not planned is %s.%s", at, name)
			continue
		}
		checkPlan(t, at+"."+name, each, after, held[name])
	}
}

// checkList is [checkPlan] for a list, whose elements may have defaults of their
// own.
func checkList(t testing.TB, at string, config, planned tftypes.Value) {
	t.Helper()

	given, wanted := elements(t, config), elements(t, planned)
	if len(given) != len(wanted) {
		t.Errorf("planned are %d of %s, configured %d", len(wanted), at, len(given))
		return
	}
	for i, each := range given {
		checkPlan(t, at+"."+strconv.Itoa(i), each, wanted[i], tftypes.NewValue(each.Type(), nil))
	}
}

// checkApplied holds what was applied against the plan: what was known is so.
func checkApplied(t testing.TB, at string, planned, applied tftypes.Value) {
	t.Helper()

	switch {
	case !applied.IsFullyKnown():
		t.Errorf("%s is not known after apply: %s", at, applied)
	case !planned.IsKnown() || planned.Equal(applied):
	case !isObject(planned) || planned.IsNull() || applied.IsNull():
		t.Errorf("%s is %s after apply, planned was %s", at, applied, planned)
	default:
		wanted, got := members(t, planned), members(t, applied)
		if len(wanted) != len(got) {
			t.Errorf("%s has %d members after apply, planned were %d", at, len(got), len(wanted))
		}
		for name, each := range wanted {
			after, exists := got[name]
			if !exists {
				t.Errorf("%s.%s is not there after apply", at, name)
				continue
			}
			checkApplied(t, at+"."+name, each, after)
		}
	}
}

func isObject(v tftypes.Value) bool {
	return v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{})
}

// members are the attributes of an object or the elements of a map, none of one
// that is null or unknown.
func members(t testing.TB, of tftypes.Value) map[string]tftypes.Value {
	t.Helper()

	if of.IsNull() || !of.IsKnown() {
		return nil
	}
	return plain[map[string]tftypes.Value](t, of)
}

// objectOf is a value as an [Object], nil for null.
func objectOf(t testing.TB, of tftypes.Value) Object {
	t.Helper()

	object, _ := decode(t, of).(Object)
	return object
}
