package framework_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// TestAddLacks names what is missing at once, and leaves what may be held to
// the call that needs it.
func TestAddLacks(t *testing.T) {
	t.Parallel()

	clone := proxmox.Lack{Path: "/vms/9000", Privilege: "VM.Clone", Capability: "vm.create", Need: proxmox.Need{Why: "clone the template"}}
	space := proxmox.Lack{Path: "/storage/x", Privilege: "Datastore.AllocateSpace", Need: proxmox.Need{Why: "make disks on the storage"}}
	perhaps := proxmox.Lack{Path: "/vms/{vmid}", Privilege: "VM.Audit", Proof: proxmox.Inferred}
	some := proxmox.Permissions{"/": {"Sys.Audit": true}}

	for name, test := range map[string]struct {
		held            proxmox.Permissions
		lacks           []proxmox.Lack
		summary, detail []string
	}{
		"none":          {some, []proxmox.Lack{perhaps}, nil, nil},
		"one":           {some, []proxmox.Lack{clone, perhaps}, []string{"Cannot make it", "lacks a privilege"}, []string{"VM.Clone on /vms/9000, to clone the template (vm.create)"}},
		"two":           {some, []proxmox.Lack{clone, space}, []string{"lacks privileges"}, []string{"VM.Clone", "Datastore.AllocateSpace on /storage/x"}},
		"no rights yet": {nil, []proxmox.Lack{clone}, []string{"no privileges at all"}, []string{"privilege separation", "--privsep 0", "VM.Clone on /vms/9000"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var diags diag.Diagnostics
			if added := framework.AddLacks(&diags, "make it", test.held, test.lacks); added != (test.summary != nil) || added != diags.HasError() {
				t.Fatalf("added %v: %v", added, diags)
			}
			if test.summary == nil {
				return
			}
			holds(t, "summary", diags[0].Summary(), test.summary)
			holds(t, "detail", diags[0].Detail(), test.detail)
		})
	}
}
