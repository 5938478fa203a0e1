package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/pvelab"
)

// TestRecord compares the lab with another of its kind, which has a cluster and the
// template elsewhere.
func TestRecord(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			node, err := pvelab.New(pvelab.Options{Version: version})
			if err != nil {
				t.Fatal(err)
			}
			if err := node.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = node.Close() })
			id, secret := node.Token("full")
			dir := t.TempDir()
			ca, kept := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "answers.jsonl")
			if err := os.WriteFile(ca, node.CAPEM(), 0o600); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{
				"PROXMOX_ENDPOINT": node.URL(), "PROXMOX_TOKEN_ID": id, "PROXMOX_TOKEN_SECRET": secret, "PROXMOX_CA_FILE": ca,
				"PROXMOX_NODE": "pve1", "PROXMOX_TEMPLATE_VMID": templateVMID,
			}
			var out bytes.Buffer
			before := node.Counters().Snapshot()
			if err := record(t.Context(), []string{"--out", kept}, func(name string) string { return env[name] }, &out, io.Discard); err != nil {
				t.Fatal(err)
			}
			for call := range node.Counters().Snapshot().Sub(before).Requests {
				if !strings.HasPrefix(call, "GET ") {
					t.Errorf("it asked %s", call)
				}
			}
			checkRecord(t, version, out.String())
			if answers, err := os.ReadFile(kept); err != nil || !strings.Contains(string(answers), `"path":"/version"`) || strings.Contains(string(answers), secret) {
				t.Errorf("kept: %v %.200s", err, answers)
			}
		})
	}
}

// checkRecord wants most to be alike, and the cluster to be told from none.
func checkRecord(t *testing.T, version, out string) {
	t.Helper()
	if !strings.Contains(out, "plays Proxmox VE "+version) || !strings.Contains(out, "GET /cluster/status\n") || strings.Contains(out, "GET /version\n") {
		t.Errorf("it says\n%s", out)
	}
	if !regexp.MustCompile(`(?m)^\d\d+ requests: \d\d+ alike, \d not; \d+ are left out`).MatchString(out) {
		t.Errorf("it ends\n%s", out)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	list := func(elements ...any) any { return elements }
	type object = map[string]any
	for name, c := range map[string]struct {
		real, lab any
		want      []string
	}{
		"alike":         {object{"a": 1.0, "b": "x"}, object{"a": 2.0, "b": "y"}, nil},
		"lacks":         {object{"a": 1.0, "b": "x"}, object{"a": 2.0}, []string{"data.b: only the node has it"}},
		"more":          {object{"a": 1.0}, object{"a": 2.0, "b": true}, []string{"data.b: only the lab has it"}},
		"kind":          {object{"a": 1.0}, object{"a": "1"}, []string{"data.a: the node has number, the lab text"}},
		"list":          {list(object{"a": 1.0}, object{"b": 1.0}), list(object{"a": 1.0}), []string{"data[].b: only the node has it"}},
		"empty list":    {list(), list(object{"a": 1.0}), nil},
		"list, null":    {list(), nil, []string{"data: the node has list, the lab null"}},
		"keys are data": {object{"/vms/1": object{"a": 1.0}}, object{"/pool/x": object{"a": 1.0}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := differences("data", formOf(c.real), formOf(c.lab)); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRecord_unset(t *testing.T) {
	t.Parallel()
	err := record(t.Context(), nil, func(string) string { return "" }, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "set PROXMOX_ENDPOINT, PROXMOX_TOKEN_ID") {
		t.Errorf("got %v", err)
	}
}
