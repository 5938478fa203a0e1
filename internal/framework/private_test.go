package framework_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
)

// private is private state as the framework keeps it: JSON by key.
type private map[string][]byte

func (p private) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p[key], nil
}

func (p private) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = value
	return nil
}

func TestPrivate(t *testing.T) {
	t.Parallel()

	ctx, state, diags := t.Context(), private{}, diag.Diagnostics{}
	if _, found := framework.GetPrivate[[]string](ctx, state, "slots", &diags); found {
		t.Error("a key that was never set is found")
	}
	framework.SetPrivate(ctx, state, "slots", []string{"scsi0", "net0"}, &diags)
	if slots, found := framework.GetPrivate[[]string](ctx, state, "slots", &diags); !found || !slices.Equal(slots, []string{"scsi0", "net0"}) {
		t.Errorf("got %v (%t)", slots, found)
	}
	framework.DropPrivate(ctx, state, "slots", &diags)
	if _, found := framework.GetPrivate[[]string](ctx, state, "slots", &diags); found {
		t.Error("a key that was dropped is found")
	}
	if diags.HasError() {
		t.Fatal(diags)
	}

	state["slots"] = []byte(`{"of": "another version"}`)
	if _, found := framework.GetPrivate[[]string](ctx, state, "slots", &diags); found || !diags.HasError() {
		t.Error("what cannot be read gives no error")
	}
	framework.SetPrivate(ctx, state, "task", func() {}, &diags)
	if diags.ErrorsCount() != 2 {
		t.Errorf("what cannot be written gives no error: %v", diags)
	}
}
