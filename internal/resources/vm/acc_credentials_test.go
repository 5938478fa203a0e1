package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// twenty is an apply of twenty VMs, with a provider block of its own.
type twenty struct {
	target    *acctest.Target
	workspace *cli.Workspace
	held      hold
	process   *cli.Process
}

// startTwenty begins an apply and stops one of its clones in the middle, so that
// something can be done while others go on.
func startTwenty(t *testing.T, target *acctest.Target, connection string) *twenty {
	t.Helper()
	a := &twenty{target: target, workspace: target.Workspace(t)}
	acctest.Must(t, a.workspace.Write(fmt.Sprintf(`
terraform {
  required_providers {
    proxmox = { source = %q }
  }
}

provider "proxmox" {
  ca_file    = %q
  vmid_range = { first = %d, last = %d }
  defaults   = { node = %q }
  %s
}

resource "proxmox_vm" "many" {
  count    = 20
  name     = "acc-many-${count.index}"
  template = %d
  power    = "stopped"
}
`, acctest.Source, target.CAFile, target.First, target.Last, target.Node, connection, target.Template)))
	a.held = holdNext(t, target, "qmclone")
	process, err := a.workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(t, err)
	a.process = process
	a.held.reached(t)

	return a
}

// succeeds lets the apply go on, and wants twenty VMs and nothing left to do.
func (a *twenty) succeeds(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	a.held.release()
	output, err := a.process.Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	said(t, output, "20 added")
	guests, err := a.target.Hand.LiveVMs(ctx)
	acctest.Must(t, err)
	made := 0
	for _, guest := range guests {
		if guest.VMID >= a.target.First && guest.VMID <= a.target.Last {
			made++
		}
	}
	if made != 20 {
		t.Errorf("PVE has %d VMs, not 20", made)
	}
	if changes, output, err := a.workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
}

// TestAccVM_ticketExpires invalidates all tickets in the middle of an apply.
func TestAccVM_ticketExpires(t *testing.T) {
	if testing.Short() {
		t.Skip("makes twenty VMs")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	file := filepath.Join(t.TempDir(), "password")
	acctest.Must(t, os.WriteFile(file, []byte(target.Lab.RootPassword()+"\n"), 0o600))
	signedIn := func() int { return target.Lab.Counters().Snapshot().Requests["POST /access/ticket"] }

	a := startTwenty(t, target, fmt.Sprintf("endpoint = %q\nusername = \"root@pam\"\npassword_file = %q", target.Endpoint, file))
	before := signedIn()
	acctest.Must(t, target.Lab.Faults().ExpireTickets())
	a.succeeds(t)
	// One process applies, another one plans afterwards.
	if again := signedIn() - before; again != 2 {
		t.Errorf("signed in %d times for one expiry and one more plan", again)
	}
}

// TestAccVM_tokenRotated gives the token another secret in the middle of an
// apply, and then takes it away.
func TestAccVM_tokenRotated(t *testing.T) {
	if testing.Short() {
		t.Skip("makes twenty VMs")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	const path = "/access/users/root@pam/token/rotated"
	file := filepath.Join(t.TempDir(), "secret")
	issue := func() {
		t.Helper()
		var answer struct {
			Value string `json:"value"`
		}
		acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, path, byhand.Params{"privsep": 0}, &answer))
		acctest.Must(t, os.WriteFile(file, []byte(answer.Value), 0o600))
	}
	revoke := func() { acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, path, nil, nil)) }
	connection := fmt.Sprintf("endpoint = %q\ntoken_id = \"root@pam!rotated\"\ntoken_secret_file = %q", target.Endpoint, file)

	issue()
	a := startTwenty(t, target, connection)
	revoke()
	issue()
	a.succeeds(t)
	acctest.MustRun(t, a.workspace, "destroy", "-auto-approve")

	b := startTwenty(t, target, connection)
	revoke()
	b.held.release()
	output, err := b.process.Wait()
	if err == nil {
		t.Errorf("a revoked token went on:\n%s", output)
	}
	said(t, output, "the API token is not accepted", "deleted or has expired")
	issue()
	acctest.MustRun(t, b.workspace, "apply", "-auto-approve")
}

// TestAccVM_endpointFails takes the node away that answers, in the middle of an
// apply on another one.
func TestAccVM_endpointFails(t *testing.T) {
	if testing.Short() {
		t.Skip("makes twenty VMs")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	a := startTwenty(t, target, fmt.Sprintf("endpoint = %q\nfallback_endpoints = [%q]\ntoken_id = %q\ntoken_secret = %q\ncluster = \"lab\"",
		target.Lab.NodeURL("pve2"), target.Lab.NodeURL("pve1"), target.TokenID, target.TokenSecret))
	acctest.Must(t, target.Lab.Faults().NodeOffline("pve2"))
	a.succeeds(t)
}
