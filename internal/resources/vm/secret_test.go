package vm_test

import (
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestSecretsAreKeptNowhere: what is write-only reaches the guest, and is in no
// plan and no state, whether it is made, changed, read or fails.
func TestSecretsAreKeptNowhere(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-7-battery"
	d := newDevice(t, "9.2")
	secret := func(version int, more block) block {
		vm := config(more)
		vm["cloud_init"] = block{"user": "ops", "password_wo": password, "password_wo_version": version}
		return vm
	}
	hidden := func(when string, held ...protocol.Object) {
		t.Helper()
		for _, each := range held {
			if strings.Contains(fmt.Sprint(each), password) {
				t.Errorf("%s it holds the password: %v", when, each)
			}
		}
	}
	for version, more := range []block{nil, {"description": "another"}} {
		plan, diagnostics := d.Plan(t, secret(version, more))
		if plan == nil {
			t.Fatal(diagnostics)
		}
		hidden("planned", plan.After)
		if diagnostics := plan.Apply(t); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		hidden("applied", d.State)
		if got := d.real(t)["cipassword"]; got == "" {
			t.Error("the guest has no password")
		}
		if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		hidden("refreshed", d.State)
	}
	must(t, d.lab.Hand.Configure(t.Context(), 20000, map[string]any{"description": ""}))
	if said := d.try(t, secret(3, nil)); len(said.Errors()) == 0 {
		t.Error("a guest without a marker was changed")
	}
	hidden("after a failure", d.State)
}
