package guests

import (
	"testing"

	"terraform-provider-proxmox/internal/proxmox"
)

// TestTells holds that a need is told once for each object that it is about.
func TestTells(t *testing.T) {
	t.Parallel()

	image := proxmox.Need{Path: "/storage/{iso}", Privilege: "Datastore.Audit"}
	c := &Checker{}
	for i, test := range []struct {
		need  proxmox.Need
		isos  []string
		fresh bool
	}{
		{image, []string{"seeds"}, true},
		{image, []string{"seeds"}, false},
		{image, []string{"seeds", "tools"}, true},
		{image, []string{"tools"}, false},
		{image, nil, true},
		{image, nil, false},
		{proxmox.Need{Path: "/storage/{iso}", Privilege: "Datastore.Allocate"}, []string{"seeds"}, true},
		{proxmox.Need{Path: "/", Privilege: "Sys.Audit"}, nil, true},
		{proxmox.Need{Path: "/", Privilege: "Sys.Audit"}, []string{"seeds"}, false},
	} {
		if got := c.tells(test.need, proxmox.Scope{"iso": test.isos}); got != test.fresh {
			t.Errorf("%d: %v is told: %v, want %v", i, test.need, got, test.fresh)
		}
	}
}
