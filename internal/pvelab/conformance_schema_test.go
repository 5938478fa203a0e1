package pvelab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestSchemaIsPVEs holds what the lab's endpoints declare against PVE's own
// schema: parameters, permissions, which daemon and which node answers.
func TestSchemaIsPVEs(t *testing.T) {
	t.Parallel()
	for _, major := range []string{"9", "8"} {
		t.Run(major, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join(sharedDir, "schema-"+major+".json"))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skipf("no schema-%s.json in %s: nothing to compare with", major, sharedDir)
			}
			if err != nil {
				t.Fatal(err)
			}
			var all []map[string]any
			if err := json.Unmarshal(raw, &all); err != nil {
				t.Fatal(err)
			}
			genuine := map[string]map[string]any{}
			for _, m := range all {
				genuine[endpointOf(m)] = m
			}
			compareSchemas(t, embeddedMethods(t, major), genuine)
		})
	}
}

func endpointOf(m map[string]any) string {
	method, _ := m["method"].(string)
	path, _ := m["path"].(string)
	return method + " " + path
}

func embeddedMethods(t *testing.T, major string) []map[string]any {
	t.Helper()
	raw, err := schemaFiles.ReadFile("schema/" + major + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var methods []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		methods = append(methods, m)
	}
	return methods
}

// compareSchemas expects each embedded method to be the genuine one, and each
// genuine method that the lab serves to be embedded.
func compareSchemas(t *testing.T, embedded []map[string]any, genuine map[string]map[string]any) {
	t.Helper()
	served, have := Endpoints(), map[string]bool{}
	for _, m := range embedded {
		e := endpointOf(m)
		have[e] = true
		if !slices.Contains(served, e) {
			t.Errorf("%s is in the extract but the lab does not serve it", e)
		}
		for _, k := range []string{"parameters", "permissions", "protected", "proxyto", "allowtoken"} {
			if !reflect.DeepEqual(m[k], genuine[e][k]) {
				t.Errorf("%s: %s differs: %v, not %v", e, k, m[k], genuine[e][k])
			}
		}
	}
	for _, e := range served {
		if genuine[e] != nil && !have[e] {
			t.Errorf("%s is served but not in the extract: run go generate ./internal/pvelab", e)
		}
	}
	if len(embedded) < 90 {
		t.Errorf("the extract has %d methods only", len(embedded))
	}
}
