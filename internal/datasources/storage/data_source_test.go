package storage_test

import (
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

func TestStorage(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	state := read(t, lab, protocol.Object{"name": "local", "node": "pve1"})
	state.Want(t, protocol.Object{"type": "dir", "enabled": true, "active": true, "shared": false})
	if kinds := state["content_types"].([]any); !slices.Contains(kinds, any("iso")) || slices.Contains(kinds, any("images")) {
		t.Errorf("it may hold %v", kinds)
	}
	total, used, available := number(t, state["total_bytes"]), number(t, state["used_bytes"]), number(t, state["available_bytes"])
	if total <= 0 || used > total || available > total {
		t.Errorf("total %.0f, used %.0f, available %.0f", total, used, available)
	}
}

func TestStorageVolumes(t *testing.T) {
	t.Parallel()

	// The node is the provider's default: the lab's template is on pve1.
	const node = "pve1"
	lab := protocol.NewLab(t, provider.New("test")(), "full", protocol.Object{"defaults": protocol.Object{"node": node}})
	template, err := lab.Hand.Config(t.Context(), 9000)
	if err != nil {
		t.Fatal(err)
	}
	volume, _, _ := strings.Cut(template["scsi0"], ",")
	storage, _, _ := strings.Cut(volume, ":")

	state := read(t, lab, protocol.Object{"name": storage, "content": "images"})
	state.Want(t, protocol.Object{"node": node})
	var ids []string
	for _, v := range state["volumes"].([]any) {
		each := v.(protocol.Object)
		ids = append(ids, each["id"].(string))
		if each["content"] != "images" {
			t.Errorf("%v is %v", each["id"], each["content"])
		}
		if each["id"] == volume && (each["vmid"] != float64(9000) || number(t, each["size_bytes"]) <= 0) {
			t.Errorf("the template's disk reads %v", each)
		}
	}
	if !slices.Contains(ids, volume) || !slices.IsSorted(ids) {
		t.Errorf("volumes are %v, want them sorted, and %s among them", ids, volume)
	}
}

func TestStorageRefused(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	refused(t, lab, protocol.Object{"name": "nope", "node": "pve1"}, "no such storage", "nope")
	refused(t, lab, protocol.Object{"name": "local"}, "No node is configured", "PROXMOX_NODE")
	refused(t, lab, protocol.Object{"name": "local", "node": "pve1", "content": "films"}, "films")
	refused(t, newLab(t, "nothing"), protocol.Object{"name": "local", "node": "pve1"}, "lacks Datastore.Audit or Datastore.AllocateSpace on /storage/local")
}

func TestStorageOfANodeThatIsDown(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	if err := lab.Faults().NodeOffline("pve3"); err != nil {
		t.Fatal(err)
	}
	refused(t, lab, protocol.Object{"name": "local", "node": "pve3"}, "cannot be reached")
}

func newLab(t *testing.T, token string) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), token, nil)
}

func read(t *testing.T, lab *protocol.Lab, config protocol.Object) protocol.Object {
	t.Helper()

	state, diagnostics := lab.ReadDataSource(t, "proxmox_storage", config)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	return state
}

func refused(t *testing.T, lab *protocol.Lab, config protocol.Object, says ...string) {
	t.Helper()

	_, diagnostics := lab.ReadDataSource(t, "proxmox_storage", config)
	if len(diagnostics.Errors()) == 0 {
		t.Fatalf("%v is accepted", config)
	}
	for _, text := range says {
		if !strings.Contains(diagnostics.String(), text) {
			t.Errorf("%v: the error does not say %q: %s", config, text, diagnostics)
		}
	}
}

func number(t *testing.T, value any) float64 {
	t.Helper()

	n, ok := value.(float64)
	if !ok {
		t.Fatalf("%v is no number", value)
	}
	return n
}
