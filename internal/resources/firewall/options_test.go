package firewall

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"terraform-provider-proxmox/internal/proxmox"
)

// parameter is what PVE's schema says of an option.
type parameter struct {
	Type    string   `json:"type"`
	Enum    []string `json:"enum"`
	Minimum *int64   `json:"minimum"`
	Maximum *int64   `json:"maximum"`
}

// TestOptionsArePVEs holds the table against PVE's own schema, where that is at
// hand: no option is missing, and bounds and words are PVE's.
func TestOptionsArePVEs(t *testing.T) {
	t.Parallel()
	paths := map[string]proxmox.FirewallKind{
		"/cluster/firewall/options": proxmox.FirewallCluster, "/nodes/{node}/firewall/options": proxmox.FirewallNode,
		"/nodes/{node}/qemu/{vmid}/firewall/options": proxmox.FirewallVM, "/nodes/{node}/lxc/{vmid}/firewall/options": proxmox.FirewallContainer,
	}
	for _, version := range []string{"8", "9"} {
		file := filepath.Join("..", "..", "..", "..", "shared", "pve", "schema-"+version+".json")
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("no %s: nothing to compare with", file)
		}
		must(t, err)
		var methods []struct {
			Method, Path string
			Parameters   struct {
				Properties map[string]json.RawMessage
			}
		}
		must(t, json.Unmarshal(raw, &methods))
		for _, method := range methods {
			kind, wanted := paths[method.Path]
			if !wanted || method.Method != http.MethodPut {
				continue
			}
			for key, property := range method.Parameters.Properties {
				if slices.Contains([]string{"node", "vmid", "delete", "digest"}, key) {
					continue
				}
				var p parameter
				must(t, json.Unmarshal(property, &p))
				compare(t, "PVE "+version+" "+method.Path+" "+key, optionOf(key), kind, p)
			}
		}
	}
}

func compare(t *testing.T, name string, o option, kind proxmox.FirewallKind, p parameter) {
	t.Helper()
	if !o.in(kind) {
		t.Errorf("%s is missing", name)
		return
	}
	isText := p.Type == "string"
	if isText != (o.kind == text) || p.Type == "boolean" && o.kind != truth {
		t.Errorf("%s is a %s", name, p.Type)
	}
	if p.Enum != nil && !slices.Equal(slices.Sorted(slices.Values(p.Enum)), slices.Sorted(slices.Values(o.words))) {
		t.Errorf("%s is one of %v, not of %v", name, p.Enum, o.words)
	}
	if o.kind == number && (bound(p.Minimum) != strconv.FormatInt(o.least, 10) || bound(p.Maximum) != strconv.FormatInt(o.most, 10)) {
		t.Errorf("%s is from %s to %s", name, bound(p.Minimum), bound(p.Maximum))
	}
}

// bound is a bound as the table has it: 0 is none.
func bound(n *int64) string {
	if n == nil {
		return "0"
	}
	return strconv.FormatInt(*n, 10)
}
