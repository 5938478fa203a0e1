package container_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// database has a kept and a rebuilt mount point.
const database = `
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 10, path = "/data", backup = true }
    mp1 = { storage = "local-lvm", size_gib = 2, path = "/cache", backup = false }
  }
  network   = { net0 = { bridge = "vmbr0", ipv4 = { method = "dhcp" } } }
  reinstall = { keep = ["mp0"]%s }
`

func databaseConfig(target *acctest.Target, template, trigger string) string {
	if trigger != "" {
		trigger = fmt.Sprintf(", trigger = %q", trigger)
	}
	return block(target, template, fmt.Sprintf(database, trigger))
}

// only is the id of the only container there is.
func only(t *testing.T, target *acctest.Target) int {
	t.Helper()
	ids := containers(t, target)
	if len(ids) != 1 {
		t.Fatalf("there are containers %v, not one", ids)
	}
	return ids[0]
}

// TestAccContainer_reinstall changes the template, then the trigger: one update in
// place each, announced in the plan, with the data of mp0 kept.
func TestAccContainer_reinstall(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{Version: version})
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "1")))
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			vmid := only(t, target)
			before := target.Lab.Contents(vmid)
			uid := acctest.Resource(t, workspace, address).Values["uid"]

			// The last one is protected from then on, and gets its data back all the same.
			protected := block(target, newTemplate, fmt.Sprintf(database, `, trigger = "2"`)+"  protection = true\n")
			for _, next := range []string{databaseConfig(target, newTemplate, "1"), protected} {
				acctest.Must(t, workspace.Write(next))
				plan := acctest.Unwrap(acctest.MustRun(t, workspace, "plan"))
				for _, part := range []string{"0 to add, 1 to change, 0 to destroy", "mp0: kept", "mp1: rebuilt", "rootfs: rebuilt", "Container 20000 is reinstalled"} {
					if !strings.Contains(plan, part) {
						t.Errorf("the plan does not say %q:\n%s", part, plan)
					}
				}
				acctest.MustRun(t, workspace, "apply", "-auto-approve")
				checkReinstalled(t, target, vmid, before)
				before = target.Lab.Contents(vmid)
				if got := acctest.Resource(t, workspace, address).Values; got["uid"] != uid || got["status"] != "running" {
					t.Errorf("its uid is %v, not %v; it is %v", got["uid"], uid, got["status"])
				}
			}
			empty(t, workspace)
			if got := acctest.Resource(t, workspace, address).Values["protection"]; got != true {
				t.Errorf("protection is %v", got)
			}
			acctest.Must(t, workspace.Write(databaseConfig(target, newTemplate, "2")))
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			acctest.MustRun(t, workspace, "destroy", "-auto-approve")
			if left := containers(t, target); len(left) > 0 {
				t.Errorf("containers are left: %v", left)
			}
		})
	}
}

func empty(t *testing.T, workspace *cli.Workspace) {
	t.Helper()
	if _, err := workspace.Run(context.Background(), "plan", "-detailed-exitcode"); err != nil {
		t.Errorf("the plan is not empty: %v", err)
	}
}

// checkReinstalled wants the same data on mp0, other data elsewhere, a finished
// marker, and no second container.
func checkReinstalled(t *testing.T, target *acctest.Target, vmid int, before map[string]string) {
	t.Helper()
	after := target.Lab.Contents(vmid)
	if after["mp0"] != before["mp0"] || after["mp0"] == "" {
		t.Errorf("mp0 holds %q, not what it held: %q", after["mp0"], before["mp0"])
	}
	for _, slot := range []string{"rootfs", "mp1"} {
		if after[slot] == before[slot] || after[slot] == "" {
			t.Errorf("%s was not rebuilt: %q", slot, after[slot])
		}
	}
	if got := only(t, target); got != vmid {
		t.Errorf("it is %d, not %d", got, vmid)
	}
	values := config(t, target, vmid)
	if strings.Contains(values["description"], "creating") || !strings.Contains(values["mp0"], "mp=/data,backup=1,size=10G") {
		t.Errorf("its configuration is %v", values)
	}
}

// broken are the calls of a reinstallation that change something, the first container
// being 20000 and the one that holds its volumes 20001.
var broken = []struct {
	name, method, path string
	skip               int
}{
	{"making the holder", http.MethodPost, "/nodes/pve1/lxc", 0},
	{"stopping", http.MethodPost, "/nodes/pve1/lxc/20000/status/shutdown", 0},
	{"moving out", http.MethodPost, "/nodes/pve1/lxc/20000/move_volume", 0},
	{"destroying", http.MethodDelete, "/nodes/pve1/lxc/20000", 0},
	{"making it anew", http.MethodPost, "/nodes/pve1/lxc", 1},
	{"moving back", http.MethodPost, "/nodes/pve1/lxc/20001/move_volume", 0},
	{"destroying the holder", http.MethodDelete, "/nodes/pve1/lxc/20001", 0},
	{"finishing", http.MethodPut, "/nodes/pve1/lxc/20000/config", 0},
	{"starting", http.MethodPost, "/nodes/pve1/lxc/20000/status/start", 0},
}

// TestAccContainer_reinstallBroken breaks a reinstallation at each of its calls, once
// for good: the data stays, and the next apply finishes the job.
func TestAccContainer_reinstallBroken(t *testing.T) {
	t.Parallel()
	for _, call := range broken {
		t.Run(call.name, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			before := target.Lab.Contents(20000)
			id, err := target.Lab.Faults().Add(pvelab.Fault{Method: call.method, Path: call.path + "$", Skip: call.skip, Status: 500, Text: "the node has a bad day"})
			acctest.Must(t, err)

			acctest.Must(t, workspace.Write(databaseConfig(target, newTemplate, "")))
			output, err := workspace.Run(context.Background(), "apply", "-auto-approve")
			// The last write alone is made up for: the container is in the state, and runs.
			if warned := strings.Contains(acctest.Unwrap(output), "its marker still says so"); (err == nil) != (call.name == "finishing") || warned != (err == nil) {
				t.Fatalf("the apply ended with %v:\n%s", err, output)
			}
			if target.Lab.Faults().Hits(id) == 0 {
				t.Fatal("the fault was never met")
			}
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			checkReinstalled(t, target, 20000, before)
			empty(t, workspace)
		})
	}
}

// TestAccContainer_reinstallAbandoned destroys what a broken reinstallation left, the
// holder included.
func TestAccContainer_reinstallAbandoned(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	_, err := target.Lab.Faults().Add(pvelab.Fault{Method: http.MethodPost, Path: "/nodes/pve1/lxc$", Skip: 1, Status: 500, Text: "no"})
	acctest.Must(t, err)
	acctest.Must(t, workspace.Write(databaseConfig(target, newTemplate, "")))
	if _, err := workspace.Run(context.Background(), "apply", "-auto-approve"); err == nil {
		t.Fatal("the apply succeeded")
	}
	if got := only(t, target); got != 20001 {
		t.Fatalf("what is left is %d, not the holder", got)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if left := containers(t, target); len(left) > 0 {
		t.Errorf("containers are left: %v", left)
	}
}
