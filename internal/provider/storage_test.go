package provider

import (
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestPlansTellStoragesApart: a plan that names a storage which its node cannot
// use says whether that is disabled or of other nodes, which takes one call for
// all plans.
func TestPlansTellStoragesApart(t *testing.T) {
	t.Parallel()

	lab := protocol.NewLab(t, New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099}, "defaults": protocol.Object{"node": "pve1", "pool": "terraform"},
	})
	for _, storage := range []byhand.Params{
		{"storage": "off", "type": "dir", "path": "/srv/off", "content": "images,rootdir,iso", "disable": 1},
		{"storage": "away", "type": "dir", "path": "/srv/away", "content": "images,rootdir,iso", "nodes": "pve2,pve3"},
	} {
		if err := lab.Hand.Call(t.Context(), http.MethodPost, "/storage", storage, nil); err != nil {
			t.Fatal(err)
		}
	}
	before := lab.Counters().Snapshot().Requests["GET /storage"]
	for storage, says := range map[string]string{"off": "It is disabled. ", "away": "It is limited to other nodes: pve2, pve3. "} {
		for resource, block := range map[string]protocol.Object{
			"proxmox_vm": {"name": "web", "template": 9000, "storage": storage},
			"proxmox_container": {
				"hostname": "db", "template": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
				"root_volume": protocol.Object{"size_gib": 4, "storage": storage},
			},
			"proxmox_seed_iso": {"storage": storage, "user_data": "#cloud-config\n"},
		} {
			_, diagnostics := lab.Manage(t, resource).Plan(t, block)
			if text := diagnostics.Errors().String(); len(diagnostics.Errors()) != 1 || !strings.Contains(text, says) {
				t.Errorf("%s on %q: the plan does not say %q: %s", resource, storage, says, text)
			}
		}
	}
	if n := lab.Counters().Snapshot().Requests["GET /storage"] - before; n != 1 {
		t.Errorf("the storages' configuration was read %d times", n)
	}
}
