package provider

import (
	"fmt"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestReuseIsWarnedOnce: a plan of twenty guests whose ids may come back says so
// once, and one whose ids are reserved does not.
func TestReuseIsWarnedOnce(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		defaults protocol.Object
		token    string
		vmid     bool
		warnings int
	}{
		"without a pool":              {protocol.Object{}, "full", false, 1},
		"in a pool":                   {protocol.Object{"pool": "terraform"}, "least", false, 0},
		"in a pool of others":         {protocol.Object{"pool": "elsewhere"}, "least", false, 1},
		"with ids of their own":       {protocol.Object{}, "full", true, 0},
		"in a pool that is to be yet": {protocol.Object{"pool": "fresh"}, "full", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			test.defaults["node"] = "pve1"
			lab := protocol.NewLab(t, New("test")(), test.token, protocol.Object{
				"vmid_range": protocol.Object{"first": 20000, "last": 20099}, "defaults": test.defaults,
			})
			warnings := 0
			for i := range 20 {
				block := protocol.Object{"name": fmt.Sprintf("web-%d", i), "template": 9000, "storage": "shared-nfs", "pool": "terraform"}
				kind := "proxmox_vm"
				if test.vmid {
					block["vmid"] = 20000 + i
				}
				if i == 0 && !test.vmid {
					kind = "proxmox_container"
					block = protocol.Object{
						"hostname": "db", "template": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst", "pool": "terraform",
						"root_volume": protocol.Object{"size_gib": 4, "storage": "local-lvm"},
					}
				}
				plan, diagnostics := lab.Manage(t, kind).Plan(t, block)
				if plan == nil {
					t.Fatal(diagnostics)
				}
				warnings += strings.Count(diagnostics.Warnings().String(), "Guest ids may be used again")
			}
			if warnings != test.warnings {
				t.Errorf("warned %d times, want %d", warnings, test.warnings)
			}
		})
	}
}
