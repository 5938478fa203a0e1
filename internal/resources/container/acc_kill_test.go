package container_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccContainer_killed kills CLI and provider at once while PVE is at work for a
// reinstallation: PVE goes on, the data stays, and the next apply finishes the job.
func TestAccContainer_killed(t *testing.T) {
	t.Parallel()
	tasks := map[string]pvelab.TaskFault{
		"while the holder is made":         {Type: "vzcreate", ID: "20001", Hold: true},
		"while the volume moves out":       {Type: "move_volume", ID: "20000-mp0>20001-mp0", Hold: true},
		"while the container is destroyed": {Type: "vzdestroy", ID: "20000", Hold: true},
		"while the container is made anew": {Type: "vzcreate", ID: "20000", Hold: true},
		"while the volume moves back":      {Type: "move_volume", ID: "20001-mp0>20000-mp0", Hold: true},
		"while the holder is destroyed":    {Type: "vzdestroy", ID: "20001", Hold: true},
	}
	for name, task := range tasks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			before := target.Lab.Contents(20000)
			killReinstall(t, target, workspace, task)

			// The state's lock is the dead process'.
			acctest.MustRun(t, workspace, "apply", "-auto-approve", "-lock=false")
			checkReinstalled(t, target, 20000, before)
			empty(t, workspace)
		})
	}
}

// killReinstall has the container reinstalled, and kills the CLI and the provider while
// a task is held.
func killReinstall(t *testing.T, target *acctest.Target, workspace *cli.Workspace, task pvelab.TaskFault) {
	t.Helper()
	faults := target.Lab.Faults()
	id, err := faults.AddTask(task)
	acctest.Must(t, err)
	acctest.Must(t, workspace.Write(databaseConfig(target, newTemplate, "")))
	process, err := workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acctest.Must(t, faults.Reached(ctx, id))
	acctest.Must(t, process.Kill())
	_, _ = process.Wait() // It was killed.
	faults.Release(id)
}

// TestAccContainer_interrupted stops a creation with Ctrl-C while PVE unpacks: the
// container is in the state, and the next apply finishes it.
func TestAccContainer_interrupted(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
	id, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: "vzcreate", Hold: true})
	acctest.Must(t, err)
	process, err := workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acctest.Must(t, target.Lab.Faults().Reached(ctx, id))
	acctest.Must(t, process.Interrupt())
	_, _ = process.Wait() // Interrupted, with a warning.
	target.Lab.Faults().Release(id)

	begun := acctest.Resource(t, workspace, address)
	if begun.Tainted || begun.Values["provisioned"] != false {
		t.Errorf("it is in the state as %v, tainted: %v", begun.Values, begun.Tainted)
	}
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if got := acctest.Resource(t, workspace, address); got.Values["provisioned"] != true || got.Values["uid"] != begun.Values["uid"] {
		t.Errorf("the next apply left %v", got.Values)
	}
	only(t, target)
	empty(t, workspace)
}

// TestAccContainer_killedCreating kills a creation: nothing is in the state, and no
// second container is made.
func TestAccContainer_killedCreating(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
	id, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: "vzcreate", Hold: true})
	acctest.Must(t, err)
	process, err := workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	acctest.Must(t, target.Lab.Faults().Reached(ctx, id))
	acctest.Must(t, process.Kill())
	_, _ = process.Wait() // It was killed.
	target.Lab.Faults().Release(id)

	output, err := workspace.Run(context.Background(), "apply", "-auto-approve", "-lock=false")
	if err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), "unfinished") {
		t.Errorf("the next apply does not name the unfinished container: %v\n%s", err, output)
	}
	vmid := only(t, target)
	acctest.MustRun(t, workspace, "import", "-lock=false", address, fmt.Sprint(vmid))
	acctest.MustRun(t, workspace, "apply", "-auto-approve", "-lock=false")
	only(t, target)
	empty(t, workspace)
}

// TestAccContainer_killedAsItWas kills a reinstallation when nothing but the holder
// is left to be destroyed, and breaks the last write of the next run: a container
// whose power is not configured ends as it was, running or stopped.
func TestAccContainer_killedAsItWas(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"running", "stopped"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			faults := target.Lab.Faults()
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(databaseConfig(target, oldTemplate, "")))
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			if status == "stopped" {
				acctest.Must(t, target.Hand.Call(context.Background(), http.MethodPost, "/nodes/pve1/lxc/20000/status/stop", nil, nil))
			}
			before := target.Lab.Contents(20000)
			killReinstall(t, target, workspace, pvelab.TaskFault{Type: "vzdestroy", ID: "20001", Hold: true})
			for end := time.Now().Add(time.Minute); len(containers(t, target)) > 1 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}

			_, err := faults.Add(pvelab.Fault{Method: http.MethodPut, Path: "/nodes/pve1/lxc/20000/config$", Status: 500, Text: "the node has a bad day"})
			acctest.Must(t, err)
			for range 2 {
				acctest.MustRun(t, workspace, "apply", "-auto-approve", "-lock=false")
				if got := acctest.Resource(t, workspace, address).Values["status"]; got != status {
					t.Errorf("it was %s and is %v", status, got)
				}
			}
			checkReinstalled(t, target, 20000, before)
			empty(t, workspace)
		})
	}
}
