package protocol

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// propose is what the CLI proposes: the configuration, and where it leaves out
// what the provider may compute, the state's value.
func propose(t testing.TB, schema []*tfprotov6.SchemaAttribute, config, state tftypes.Value) tftypes.Value {
	t.Helper()

	if config.IsNull() || !config.IsKnown() {
		return config
	}
	given, held := members(t, config), members(t, state)
	proposed := map[string]tftypes.Value{}
	for _, attribute := range schema {
		each := given[attribute.Name]
		before, there := held[attribute.Name]
		if !there {
			before = tftypes.NewValue(each.Type(), nil)
		}
		switch {
		case attribute.Computed && each.IsNull() && !wasConfigured(t, attribute, before):
			proposed[attribute.Name] = before
		case attribute.NestedType != nil:
			proposed[attribute.Name] = proposeNested(t, attribute.NestedType, each, before)
		default:
			proposed[attribute.Name] = each
		}
	}
	return tftypes.NewValue(config.Type(), proposed)
}

// proposeNested proposes the objects of an attribute: those of a list are matched
// with the state's by their place, those of a map by their key. A set's are as
// configured.
func proposeNested(t testing.TB, schema *tfprotov6.SchemaObject, config, state tftypes.Value) tftypes.Value {
	t.Helper()

	if config.IsNull() || !config.IsKnown() {
		return config
	}
	switch schema.Nesting {
	case tfprotov6.SchemaObjectNestingModeSingle:
		return propose(t, schema.Attributes, config, state)
	case tfprotov6.SchemaObjectNestingModeMap:
		held := members(t, state)
		proposed := map[string]tftypes.Value{}
		for key, each := range members(t, config) {
			proposed[key] = propose(t, schema.Attributes, each, held[key])
		}
		return tftypes.NewValue(config.Type(), proposed)
	case tfprotov6.SchemaObjectNestingModeList:
		held := elements(t, state)
		var proposed []tftypes.Value
		for i, each := range elements(t, config) {
			var before tftypes.Value
			if i < len(held) {
				before = held[i]
			}
			proposed = append(proposed, propose(t, schema.Attributes, each, before))
		}
		return tftypes.NewValue(config.Type(), proposed)
	default:
		return config
	}
}

// wasConfigured reports whether objects in the state have what no provider
// computes: they were configured, and are proposed as removed once they are not.
func wasConfigured(t testing.TB, attribute *tfprotov6.SchemaAttribute, state tftypes.Value) bool {
	t.Helper()

	if !attribute.Optional || attribute.NestedType == nil {
		return false
	}
	for _, object := range objects(t, attribute.NestedType, state) {
		held := members(t, object)
		for _, each := range attribute.NestedType.Attributes {
			value := held[each.Name]
			if !value.IsNull() && (!each.Computed || wasConfigured(t, each, value)) {
				return true
			}
		}
	}
	return false
}

// objects are the objects of a nested attribute.
func objects(t testing.TB, schema *tfprotov6.SchemaObject, of tftypes.Value) []tftypes.Value {
	t.Helper()

	switch schema.Nesting {
	case tfprotov6.SchemaObjectNestingModeSingle:
		return []tftypes.Value{of}
	case tfprotov6.SchemaObjectNestingModeMap:
		var all []tftypes.Value
		for _, each := range members(t, of) {
			all = append(all, each)
		}
		return all
	default:
		return elements(t, of)
	}
}

// elements are the elements of a list or set, none of one that is null or unknown.
func elements(t testing.TB, of tftypes.Value) []tftypes.Value {
	t.Helper()

	if of.IsNull() || !of.IsKnown() {
		return nil
	}
	return plain[[]tftypes.Value](t, of)
}
