package framework

import (
	"reflect"
	"testing"

	"terraform-provider-proxmox/internal/proxmox"
)

// Two fences may have one target, and the later one finds stopped what the earlier
// one has taken.
func TestFenceRunForgetsNothing(t *testing.T) {
	t.Parallel()
	took := proxmox.FenceBefore{Guests: []proxmox.FencedGuest{{Kind: proxmox.KindVM, VMID: 101}}, LinksUp: []string{}}
	for name, order := range map[string][]proxmox.FenceBefore{"first": {took, {}}, "last": {{}, took}} {
		var run FenceRun
		for _, each := range order {
			run.Saw("here", each)
		}
		run.Saw("elsewhere", proxmox.FenceBefore{})
		if got := run.Seen("here"); !reflect.DeepEqual(got.Guests, took.Guests) || !run.Seen("elsewhere").IsEmpty() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
