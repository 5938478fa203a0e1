package firewalllog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

// template is a guest of the default lab's, on pve1.
const template = 9000

func TestFirewallLog(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "full")
	for i := range 70 {
		vmid, verdict := template, "DROP"
		if i%2 == 1 {
			vmid, verdict = 0, "REJECT"
		}
		if err := lab.FirewallLog("pve1", vmid, "some-IN", fmt.Sprintf("policy %s: DPT=%d", verdict, i)); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		config      protocol.Object
		count       int
		first, last string
	}{
		"of a guest":           {protocol.Object{"vmid": float64(template)}, 35, "policy DROP: DPT=0", "policy DROP: DPT=68"},
		"of a node, the usual": {protocol.Object{"node": "pve1"}, 50, "policy DROP: DPT=20", "policy REJECT: DPT=69"},
		"the last three":       {protocol.Object{"node": "pve1", "last": float64(3)}, 3, "policy REJECT: DPT=67", "policy REJECT: DPT=69"},
		"a filter": {
			protocol.Object{"node": "pve1", "last": float64(2), "contains": "DROP"}, 2, "policy DROP: DPT=66", "policy DROP: DPT=68",
		},
		"of the last hour": {protocol.Object{"vmid": float64(template), "since": stamp(-time.Hour), "last": float64(40)}, 35, "policy DROP: DPT=0", "policy DROP: DPT=68"},
		"of the future":    {protocol.Object{"vmid": float64(template), "since": stamp(time.Hour)}, 0, "", ""},
		"of a silent node": {protocol.Object{"node": "pve2"}, 0, "", ""},
	} {
		state, diagnostics := lab.ReadDataSource(t, "proxmox_firewall_log", tc.config)
		if len(diagnostics) != 0 {
			t.Fatalf("%s: %s", name, diagnostics)
		}
		lines := state["lines"].([]any)
		if len(lines) != tc.count {
			t.Fatalf("%s: %d lines, not %d: %v", name, len(lines), tc.count, lines)
		}
		if tc.count == 0 {
			continue
		}
		head, tail := lines[0].(protocol.Object), lines[len(lines)-1].(protocol.Object)
		if head["text"] != tc.first || tail["text"] != tc.last {
			t.Errorf("%s: from %q to %q", name, head["text"], tail["text"])
		}
		tail.Want(t, protocol.Object{"chain": "some-IN"})
		if at, err := time.Parse(time.RFC3339, tail["time"].(string)); err != nil || time.Since(at) > time.Hour {
			t.Errorf("%s: the time is %v", name, tail["time"])
		}
	}
}

func stamp(from time.Duration) string { return time.Now().Add(from).UTC().Format(time.RFC3339) }

func TestFirewallLogRefused(t *testing.T) {
	t.Parallel()
	lab := newLab(t, "full")
	for says, config := range map[string]protocol.Object{
		"there is no guest 4711": {"vmid": float64(4711)},
		"is no time":             {"node": "pve1", "since": "yesterday"},
		"Attribute Combination":  {"node": "pve1", "vmid": float64(template)},
	} {
		if _, diagnostics := lab.ReadDataSource(t, "proxmox_firewall_log", config); !strings.Contains(diagnostics.String(), says) {
			t.Errorf("%v: %s", config, diagnostics)
		}
	}
	if _, diagnostics := newLab(t, "nothing").ReadDataSource(t, "proxmox_firewall_log", protocol.Object{"node": "pve1"}); !strings.Contains(diagnostics.String(), "Sys.Syslog") {
		t.Errorf("without privileges: %s", diagnostics)
	}
}

func newLab(t *testing.T, token string) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), token, nil)
}
