package replication_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

const job = "101-0"

func newLab(t *testing.T, version string) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), "full", nil)
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", 101, byhand.Params{"scsi0": "local-zfs:1"}))
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/replication",
		byhand.Params{"id": job, "type": "local", "target": "pve2", "schedule": "daily", "comment": "erp"}, nil))
	return lab
}

// read reads until the jobs are as wanted: they run by the lab's clock.
func read(t *testing.T, lab *protocol.Lab, config protocol.Object, is func(state, job protocol.Object) bool) (state, first protocol.Object) {
	t.Helper()

	for range 400 {
		// A provider of its own reads anew: what one has read is good for 30 s.
		server := protocol.New(t, provider.New("test")())
		id, secret := lab.Token("full")
		if d := server.Configure(t, protocol.Object{
			"endpoint": lab.URL(), "ca_pem": string(lab.CAPEM()), "token_id": id, "token_secret": secret,
		}); len(d) != 0 {
			t.Fatal(d)
		}
		state, diagnostics := server.ReadDataSource(t, "proxmox_replication", config)
		if len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		jobs, _ := state["jobs"].([]any)
		if len(jobs) != 1 {
			t.Fatalf("jobs are %v", jobs)
		}
		if first, _ := jobs[0].(protocol.Object); is(state, first) {
			return state, first
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the jobs do not become as wanted")
	return nil, nil
}

func synced(_, job protocol.Object) bool { return job["last_sync"] != nil }

func TestReplicationReady(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version)
		state, first := read(t, lab, protocol.Object{"vmid": 101, "max_lag": "5m"}, synced)
		state.Want(t, protocol.Object{"ready": true})
		first.Want(t, protocol.Object{
			"id": job, "vmid": 101.0, "source": "pve1", "target": "pve2", "schedule": "daily", "comment": "erp", "enabled": true,
			"fail_count": 0.0, "error": "", "duration_seconds": 3.0, "ready": true,
		})
		protocol.Must(t, lab.Faults().AgeReplication(job, time.Hour))
		lab.Faults().FailReplication(job, "no such pool")
		state, first = read(t, lab, protocol.Object{"job": job, "max_lag": "5m"}, func(_, job protocol.Object) bool { return job["lag_seconds"].(float64) >= 3600 })
		state.Want(t, protocol.Object{"ready": false})
		if problems := first["problems"].([]any); !strings.Contains(problems[len(problems)-1].(string), "more than 5m0s") {
			t.Errorf("problems are %v", problems)
		}
	})
}

// TestReplicationFailingSince holds that a job which failed since is not ready,
// whatever its lag.
func TestReplicationFailingSince(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := newLab(t, version)
		read(t, lab, protocol.Object{}, synced)
		lab.Faults().FailReplication(job, "no such pool")
		protocol.Must(t, lab.Faults().AgeReplication(job, 24*time.Hour))
		state, first := read(t, lab, protocol.Object{}, func(_, job protocol.Object) bool { return job["fail_count"] != 0.0 })
		state.Want(t, protocol.Object{"ready": false})
		first.Want(t, protocol.Object{"ready": false, "error": "no such pool"})
	})
}

func TestReplicationOfANodeThatIsDown(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 100}, provider.New("test")(), "full", nil)
		protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve3", 101, byhand.Params{"scsi0": "local-zfs:1"}))
		protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/replication", byhand.Params{"id": job, "type": "local", "target": "pve2"}, nil))
		protocol.Must(t, lab.Faults().NodeOffline("pve3"))
		_, first := read(t, lab, protocol.Object{}, func(_, _ protocol.Object) bool { return true })
		first.Want(t, protocol.Object{"ready": false, "lag_seconds": nil, "last_sync": nil})
		if problems := first["problems"].([]any); !strings.Contains(problems[0].(string), "cannot be reached") {
			t.Errorf("problems are %v", problems)
		}
	})
}
