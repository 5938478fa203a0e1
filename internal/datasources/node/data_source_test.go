package node_test

import (
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestNode(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version, "full")
		state := read(t, lab, "proxmox_node", protocol.Object{"name": "pve1"})
		state.Want(t, protocol.Object{"status": "online", "answers_api": true, "tls_fingerprint": lab.Fingerprint()})
		if got, _ := state["version"].(string); !strings.HasPrefix(got, version) {
			t.Errorf("version %v, want %s", state["version"], version)
		}
		if cpus, _ := state["cpus"].(float64); cpus < 1 {
			t.Errorf("cpus %v", state["cpus"])
		}
		state.At(t, "bridges", "vmbr0").Want(t, protocol.Object{"type": "bridge", "active": true})
		local := state.At(t, "storages", "local")
		local.Want(t, protocol.Object{"type": "dir", "shared": false, "enabled": true, "active": true})
		if kinds := local["content_types"].([]any); !slices.Contains(kinds, any("iso")) {
			t.Errorf("local may hold %v, want iso among them", kinds)
		}
		state.At(t, "storages", "shared-nfs").Want(t, protocol.Object{"shared": true})

		other := read(t, lab, "proxmox_node", protocol.Object{"name": "pve2"})
		other.Want(t, protocol.Object{"answers_api": false, "status": "online"})
	})
}

func TestNodeThatIsNone(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		_, diagnostics := newLab(t, version, "full").ReadDataSource(t, "proxmox_node", protocol.Object{"name": "pve9"})
		if text := diagnostics.String(); !strings.Contains(text, "pve9") || !strings.Contains(text, "pve1, pve2, pve3") {
			t.Errorf("got %s", text)
		}
	})
}

// TestNodeWithoutRights holds that what the token may not know reads as
// unknown.
func TestNodeWithoutRights(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		state := read(t, newLab(t, version, "nothing"), "proxmox_node", protocol.Object{"name": "pve1"})
		if state["status"] != "online" || state["version"] == nil {
			t.Errorf("status %v, version %v: they need no privilege", state["status"], state["version"])
		}
		state.Want(t, protocol.Object{
			"answers_api": nil, "cpus": nil, "memory_bytes": nil, "memory_used_bytes": nil,
			"bridges": protocol.Object{}, "storages": protocol.Object{},
		})
	})
}

func TestNodes(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version, "full")
		if err := lab.Faults().NodeOffline("pve3"); err != nil {
			t.Fatal(err)
		}
		state := read(t, lab, "proxmox_nodes", protocol.Object{})
		state.Want(t, protocol.Object{"online": []any{"pve1", "pve2"}})
		if nodes := state.At(t, "nodes"); len(nodes) != 3 {
			t.Errorf("got %d nodes, want 3", len(nodes))
		}
		for name, answers := range map[string]bool{"pve1": true, "pve2": false, "pve3": false} {
			state.At(t, "nodes", name).Want(t, protocol.Object{"name": name, "answers_api": answers})
		}
		state.At(t, "nodes", "pve3").Want(t, protocol.Object{"status": "offline", "version": nil, "bridges": nil, "storages": nil})
		up := state.At(t, "nodes", "pve2")
		for _, known := range []string{"version", "bridges", "storages"} {
			if up[known] == nil {
				t.Errorf("pve2: %s is null", known)
			}
		}
	})
}

func newLab(t *testing.T, version, token string) *protocol.Lab {
	t.Helper()
	return protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), token, nil)
}

func read(t *testing.T, lab *protocol.Lab, name string, config protocol.Object) protocol.Object {
	t.Helper()

	state, diagnostics := lab.ReadDataSource(t, name, config)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	return state
}
