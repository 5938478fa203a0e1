package container_test

import (
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestTagsByThePool: a container gets its tags where the rights come from the pool
// alone, though PVE asks for them before the container is in it; and a tag that the
// cluster has registered is refused by the privilege that it takes.
func TestTagsByThePool(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			lab := place(t, version)
			lab.Restrict(t, map[string]string{
				"/":               "Sys.Audit",
				"/pool/terraform": "VM.Allocate VM.Audit VM.Config.Options VM.Config.CPU VM.Config.Memory VM.Config.Disk VM.Config.Network VM.PowerMgmt Pool.Audit Pool.Allocate",
				"/storage":        "Datastore.Audit Datastore.AllocateSpace",
				"/sdn/zones":      "SDN.Use",
			})
			guest := lab.Manage(t, "proxmox_container")
			tagged := func(tags ...any) protocol.Object {
				return placed(protocol.Object{"node": "pve1", "pool": "terraform", "tags": tags})
			}
			apply(t, guest, tagged("db", "test"))
			if got := of(t, lab, 20000)["tags"]; got != "db;test" {
				t.Errorf("the tags are %q", got)
			}
			protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPut, "/cluster/options", byhand.Params{"registered-tags": "prod"}, nil))
			plan, diagnostics := guest.Plan(t, tagged("db", "prod"))
			if plan == nil {
				t.Fatal(diagnostics)
			}
			if said := plan.Apply(t).String(); !strings.Contains(said, "lacks Sys.Modify on /") || !strings.Contains(said, "tag 'prod'") {
				t.Errorf("the refusal reads %s", said)
			}
		})
	}
}
