package fenceaction_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

const standIn = 20001

// TestAccFence_twoSites moves a service from one cluster to another, as
// examples/two-sites writes it: one lab is 8.4, the other 9.2.
func TestAccFence_twoSites(t *testing.T) {
	t.Parallel()

	dc1, dc2 := newTarget(t, "8.4"), acctest.NewLab(t, pvelab.Options{Version: "9.2", Speed: 200})
	example, err := os.ReadFile("../../../examples/two-sites/main.tf")
	acctest.Must(t, err)
	workspace := dc1.Workspace(t)
	acctest.Must(t, workspace.Write(string(example)))
	apply := func(active string) (string, error) {
		return workspace.Run(context.Background(), "apply", "-auto-approve", "-var=active="+active, "-var=sites="+acctest.Sites(map[string]*acctest.Target{"dc1": dc1, "dc2": dc2}))
	}
	mustApply := func(active string) {
		t.Helper()
		if output, err := apply(active); err != nil {
			t.Fatal(err, output)
		}
	}
	want := func(when, atDC1, atDC2 string) {
		t.Helper()
		for _, site := range []struct {
			target *acctest.Target
			vmid   int
			want   string
		}{{dc1, stranger, atDC1}, {dc2, standIn, atDC2}} {
			status, err := site.target.Hand.Status(context.Background(), site.vmid)
			acctest.Must(t, err)
			if status != site.want {
				t.Errorf("%s VM %d is %s, not %s", when, site.vmid, status, site.want)
			}
		}
	}

	mustApply("dc1")
	want("at first", "running", "stopped")

	output, err := apply("dc2")
	if err == nil || !strings.Contains(acctest.Unwrap(output), "The replica at dc2 is not ready") {
		t.Fatalf("it moves without a replica: %v\n%s", err, output)
	}
	want("without a replica", "running", "stopped")

	replicate(t, dc2)
	acctest.Must(t, dc1.Hand.Configure(context.Background(), stranger, byhand.Params{"onboot": 1}))
	output, err = apply("dc2")
	if err == nil || !strings.Contains(acctest.Unwrap(output), "onboot-off") {
		t.Fatalf("it moves though the fence would not last: %v\n%s", err, output)
	}
	want("with onboot", "running", "stopped")

	acctest.Must(t, dc1.Hand.Configure(context.Background(), stranger, byhand.Params{"onboot": 0}))
	mustApply("dc2")
	want("moved", "stopped", "running")

	// On the way back dc1 waits for dc2, however long that takes to stop.
	held, err := dc2.Lab.Faults().AddTask(pvelab.TaskFault{Type: "qmshutdown", Hold: true})
	acctest.Must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := apply("dc1")
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acctest.Must(t, dc2.Lab.Faults().Reached(ctx, held))
	select {
	case err := <-done:
		t.Errorf("it goes back while dc2 still runs: %v", err)
	case <-time.After(2 * time.Second):
	}
	want("while dc2 stops", "stopped", "running")
	dc2.Lab.Faults().Release(held)
	acctest.Must(t, <-done)
	want("back", "running", "stopped")
}

// replicate has the stand-in's disks copied once.
func replicate(t *testing.T, target *acctest.Target) {
	t.Helper()

	ctx := context.Background()
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/cluster/replication",
		byhand.Params{"id": "20001-0", "type": "local", "target": "pve2", "schedule": "daily"}, nil))
	var job struct {
		LastSync int64 `json:"last_sync"`
	}
	for range 500 {
		acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, "/nodes/pve1/replication/20001-0/status", nil, &job))
		if job.LastSync > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the job does not run")
}
