package pvelab

import (
	"testing"
	"time"
)

// replicated is a lab with VM 100 on pve1, whose disk is copied to pve2.
func replicated(t *testing.T, version string) (*Lab, *client) {
	t.Helper()
	l, c := vmLab(t, Options{Version: version, Speed: 3000})
	l.locked(func() { l.addStorage("zfs", "zfspool", 1<<40, map[string]string{"pool": "rpool", "content": "images"}) })
	c.create("vmid=100", "memory=64", "scsi0=zfs:1")
	c.must("POST", "/cluster/replication", "id=100-0", "type=local", "target=pve2", "schedule=*/5")
	return l, c
}

func (c *client) run(id string) map[string]any {
	c.t.Helper()
	s, _ := c.must("GET", "/nodes/pve1/replication/"+id+"/status").(map[string]any)
	return s
}

func TestReplicationRuns(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l, c := replicated(t, version)
			eventually(t, "the first sync", func() bool { return c.run("100-0")["last_sync"] != 0.0 })
			first := c.run("100-0")
			if first["fail_count"] != 0.0 || first["duration"] != 3.0 || first["source"] != "pve1" || first["guest"] != "100" {
				t.Errorf("after the first sync: %v", first)
			}
			const text = "zfs error: cannot open 'rpool': no such pool"
			l.Faults().FailReplication("100-0", text)
			eventually(t, "a failure", func() bool { return c.run("100-0")["error"] == text })
			failed := c.run("100-0")
			if failed["fail_count"] == 0.0 || failed["last_sync"].(float64) > failed["last_try"].(float64) { //nolint:forcetypeassert // numbers.
				t.Errorf("after a failure: %v", failed)
			}
			l.Faults().FailReplication("100-0", "")
			eventually(t, "the recovery", func() bool { return c.run("100-0")["fail_count"] == 0.0 })
			if err := l.Faults().AgeReplication("100-0", time.Hour); err != nil {
				t.Fatal(err)
			}
			c.must("DELETE", "/cluster/replication/100-0")
			eventually(t, "the removal", func() bool { return len(c.must("GET", "/cluster/replication").([]any)) == 0 }) //nolint:forcetypeassert // a list.
		})
	}
}

// TestReplicationWithoutTarget holds that a job whose target is gone fails, and is
// not tried again before the target is back.
func TestReplicationWithoutTarget(t *testing.T) {
	t.Parallel()
	l, c := replicated(t, "9.2")
	if err := l.Faults().NodeOffline("pve2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a failure", func() bool { return c.run("100-0")["fail_count"] == 1.0 })
	if next := c.run("100-0")["next_sync"]; next != 0.0 {
		t.Errorf("the next try is at %v", next)
	}
	if err := l.Faults().NodeOnline("pve2"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a sync", func() bool { return c.run("100-0")["last_sync"] != 0.0 })
}

func TestReplicationRefusals(t *testing.T) {
	t.Parallel()
	_, c := replicated(t, "9.2")
	c.create("vmid=101", "memory=64", "scsi0=local:1")
	for _, tc := range []struct{ id, target, source, want string }{
		{"100-1", "pve1", "", "Source and target must not be identical"},
		{"100-1", "nope", "", "Target 'nope' does not exist."},
		{"100-1", "pve2", "pve3", "Source 'pve3' does not match current node of guest '100' (pve1)"},
		{"100-0", "pve3", "", "replication job '100-0' already exists"},
		{"101-0", "pve2", "", "No replicatable volumes found"},
		{"102-0", "pve2", "", "Guest '102' does not exist."},
	} {
		pairs := []string{"type=local", "id=" + tc.id, "target=" + tc.target}
		if tc.source != "" {
			pairs = append(pairs, "source="+tc.source)
		}
		if _, reason := c.fails("POST", "/cluster/replication", pairs...); reason != tc.want {
			t.Errorf("%s to %s: %s", tc.id, tc.target, reason)
		}
	}
}
