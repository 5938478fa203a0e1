package container_test

import (
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestPasswordIsKeptNowhere: root's password is in no plan and no state.
func TestPasswordIsKeptNowhere(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-7-battery"
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	for _, description := range []string{"", "another"} {
		plan, diagnostics := guest.Plan(t, placed(protocol.Object{"node": "pve1", "password_wo": password, "description": description}))
		if plan == nil {
			t.Fatal(diagnostics)
		}
		if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
			t.Fatal(diagnostics)
		}
		applied := guest.State
		guest.Refresh(t)
		for when, held := range map[string]protocol.Object{"planned": plan.After, "applied": applied, "refreshed": guest.State} {
			if held == nil || strings.Contains(fmt.Sprint(held), password) {
				t.Errorf("%s is %v", when, held)
			}
		}
	}
}
