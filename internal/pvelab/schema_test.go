package pvelab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const regenerate = "run go generate ./internal/pvelab"

func TestEveryEndpointIsInASchema(t *testing.T) {
	t.Parallel()
	s9, err := loadSchema("9.2")
	if err != nil {
		t.Fatal(err)
	}
	s8, err := loadSchema("8.4")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Endpoints() {
		if s9.methods[e] == nil && s8.methods[e] == nil {
			t.Errorf("no schema of %s: %s", e, regenerate)
		}
	}
	served := Endpoints()
	for _, s := range []*schema{s9, s8} {
		for e := range s.methods {
			if e != rootIndex && !slices.Contains(served, e) {
				t.Errorf("%s is in the extract, but not served: %s", e, regenerate)
			}
		}
	}
}

func TestEveryFormatIsKnown(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		s, err := loadSchema(version)
		if err != nil {
			t.Fatal(err)
		}
		for e, m := range s.methods {
			eachFormat(&m.Parameters, func(name string) {
				if !knownFormat(name) {
					t.Errorf("%s %s: format %q is not registered", version, e, name)
				}
			})
		}
	}
	for name, keys := range propertyFormats {
		for _, p := range keys {
			eachFormat(p, func(inner string) {
				if !knownFormat(inner) {
					t.Errorf("%s: format %q is not registered", name, inner)
				}
			})
		}
	}
}

func eachFormat(p *property, see func(name string)) {
	if p.Format.Name != "" {
		see(p.Format.Name)
	}
	for _, inner := range p.Format.Keys {
		eachFormat(inner, see)
	}
	for _, inner := range p.Properties {
		eachFormat(inner, see)
	}
	if p.Items != nil {
		eachFormat(p.Items, see)
	}
}

// TestExtractIsCurrent holds the embedded extract against PVE's whole schema.
func TestExtractIsCurrent(t *testing.T) {
	t.Parallel()
	for version, major := range map[string]string{"9.2": "9", "8.4": "8"} {
		source := filepath.Join("..", "..", "..", "shared", "pve", "schema-"+major+".json")
		raw, err := os.ReadFile(source)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("%s is absent", source)
		}
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		extract, err := schemaFiles.ReadFile("schema/" + major + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		compareExtract(t, version, all, extract)
	}
}

func compareExtract(t *testing.T, version string, all []map[string]json.RawMessage, extract []byte) {
	t.Helper()
	genuine := map[string]map[string]json.RawMessage{}
	for _, m := range all {
		genuine[string(m["method"])+string(m["path"])] = m
	}
	for _, line := range bytes.Split(bytes.TrimSpace(extract), []byte("\n")) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		want := genuine[string(m["method"])+string(m["path"])]
		for k, v := range m {
			if !sameJSON(t, v, want[k]) {
				t.Errorf("%s %s %s: %s differs: %s", version, m["method"], m["path"], k, regenerate)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	left, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	right, err := json.Marshal(y)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(left, right)
}
