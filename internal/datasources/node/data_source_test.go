package node_test

import (
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

func TestNode(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	state := read(t, lab, "proxmox_node", protocol.Object{"name": "pve1"})
	if state["status"] != "online" || state["answers_api"] != true {
		t.Errorf("status %v, answers %v", state["status"], state["answers_api"])
	}
	if version, _ := state["version"].(string); !strings.HasPrefix(version, "9.") {
		t.Errorf("version %v, want one of 9", state["version"])
	}
	if state["tls_fingerprint"] != lab.Fingerprint() {
		t.Errorf("fingerprint %v, want %s", state["tls_fingerprint"], lab.Fingerprint())
	}
	bridge := object(t, object(t, state["bridges"])["vmbr0"])
	if bridge["type"] != "bridge" || bridge["active"] != true {
		t.Errorf("vmbr0 is %v", bridge)
	}
	storages := object(t, state["storages"])
	if local := object(t, storages["local"]); local["type"] != "dir" || local["shared"] != false || local["active"] != true ||
		!slices.Contains(local["content_types"].([]any), any("iso")) {
		t.Errorf("local is %v", local)
	}
	if nfs := object(t, storages["shared-nfs"]); nfs["shared"] != true {
		t.Errorf("shared-nfs is %v", nfs)
	}
	if cpus, _ := state["cpus"].(float64); cpus < 1 {
		t.Errorf("cpus %v", state["cpus"])
	}
	if other := read(t, lab, "proxmox_node", protocol.Object{"name": "pve2"}); other["answers_api"] != false || other["status"] != "online" {
		t.Errorf("pve2: status %v, answers %v", other["status"], other["answers_api"])
	}
}

func TestNodeThatIsNone(t *testing.T) {
	t.Parallel()

	_, diagnostics := newLab(t, "full").ReadDataSource(t, "proxmox_node", protocol.Object{"name": "pve9"})
	if text := diagnostics.String(); !strings.Contains(text, "pve9") || !strings.Contains(text, "pve1, pve2, pve3") {
		t.Errorf("got %s", text)
	}
}

// TestNodeWithoutRights holds that what the token may not know reads as
// unknown.
func TestNodeWithoutRights(t *testing.T) {
	t.Parallel()

	state := read(t, newLab(t, "nothing"), "proxmox_node", protocol.Object{"name": "pve1"})
	if state["status"] != "online" || state["version"] == nil {
		t.Errorf("status %v, version %v: they need no privilege", state["status"], state["version"])
	}
	for _, unknown := range []string{"answers_api", "cpus", "memory_bytes", "memory_used_bytes"} {
		if state[unknown] != nil {
			t.Errorf("%s is %v, want null", unknown, state[unknown])
		}
	}
	if len(object(t, state["bridges"])) != 0 || len(object(t, state["storages"])) != 0 {
		t.Errorf("bridges %v, storages %v: the token may see none", state["bridges"], state["storages"])
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	if err := lab.Faults().NodeOffline("pve3"); err != nil {
		t.Fatal(err)
	}
	state := read(t, lab, "proxmox_nodes", protocol.Object{})
	if online := state["online"].([]any); !slices.Equal(online, []any{"pve1", "pve2"}) {
		t.Errorf("online are %v", online)
	}
	nodes := object(t, state["nodes"])
	if len(nodes) != 3 {
		t.Fatalf("got %d nodes, want 3", len(nodes))
	}
	for name, answers := range map[string]bool{"pve1": true, "pve2": false, "pve3": false} {
		if node := object(t, nodes[name]); node["name"] != name || node["answers_api"] != answers {
			t.Errorf("%s: name %v, answers %v", name, node["name"], node["answers_api"])
		}
	}
	down := object(t, nodes["pve3"])
	if down["status"] != "offline" {
		t.Errorf("pve3 is %v", down["status"])
	}
	for _, unknown := range []string{"version", "bridges", "storages"} {
		if down[unknown] != nil {
			t.Errorf("pve3: %s is %v, want null", unknown, down[unknown])
		}
		if object(t, nodes["pve2"])[unknown] == nil {
			t.Errorf("pve2: %s is null", unknown)
		}
	}
}

func newLab(t *testing.T, token string) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), token, nil)
}

func read(t *testing.T, lab *protocol.Lab, name string, config protocol.Object) protocol.Object {
	t.Helper()

	state, diagnostics := lab.ReadDataSource(t, name, config)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	return state
}

func object(t *testing.T, value any) protocol.Object {
	t.Helper()

	o, ok := value.(protocol.Object)
	if !ok {
		t.Fatalf("%v is no object", value)
	}
	return o
}
