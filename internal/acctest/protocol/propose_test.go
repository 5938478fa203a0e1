package protocol

import (
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// TestPropose holds proposals against the CLI's: a value that only a
// configuration gives goes with it, one that the provider may compute stays.
func TestPropose(t *testing.T) {
	t.Parallel()

	text := func(name string, optional, computed bool) *tfprotov6.SchemaAttribute {
		return &tfprotov6.SchemaAttribute{Name: name, Type: tftypes.String, Optional: optional, Computed: computed}
	}
	inner := []*tfprotov6.SchemaAttribute{text("given", true, false), text("either", true, true)}
	nested := func(name string, mode tfprotov6.SchemaObjectNestingMode, computed bool) *tfprotov6.SchemaAttribute {
		return &tfprotov6.SchemaAttribute{
			Name: name, Optional: true, Computed: computed, NestedType: &tfprotov6.SchemaObject{Nesting: mode, Attributes: inner},
		}
	}
	schema := &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
		text("given", true, false), text("either", true, true), text("found", false, true),
		nested("one", tfprotov6.SchemaObjectNestingModeSingle, false),
		nested("map", tfprotov6.SchemaObjectNestingModeMap, false),
		nested("list", tfprotov6.SchemaObjectNestingModeList, false),
		nested("kept", tfprotov6.SchemaObjectNestingModeSingle, true),
		nested("removed", tfprotov6.SchemaObjectNestingModeSingle, true),
	}}
	both := Object{"given": "was", "either": "was"}
	state := Object{
		"given": "was", "either": "was", "found": "was", "one": both,
		"map": Object{"a": both, "b": both}, "list": []any{both, both}, "kept": Object{"either": "was"}, "removed": both,
	}
	config := Object{
		"one": Object{}, "map": Object{"a": Object{}, "c": Object{}}, "list": []any{Object{"given": "is"}, Object{"either": "is"}, Object{}},
	}
	none, computed := Object{"given": nil, "either": nil}, Object{"given": nil, "either": "was"}
	want := Object{
		"given": nil, "either": "was", "found": "was", "one": computed, "map": Object{"a": computed, "c": none},
		"list": []any{Object{"given": "is", "either": "was"}, Object{"given": nil, "either": "is"}, none},
		"kept": Object{"given": nil, "either": "was"}, "removed": nil,
	}
	as := schema.ValueType()
	if got := objectOf(t, propose(t, schema.Attributes, value(t, as, config), value(t, as, state))); !reflect.DeepEqual(got, want) {
		t.Errorf("proposed is\n%v, want\n%v", got, want)
	}
	first := propose(t, schema.Attributes, value(t, as, config), value(t, as, nil))
	objectOf(t, first).Want(t, Object{"given": nil, "either": nil, "one": none})
}
