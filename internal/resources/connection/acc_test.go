package connection_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

func said(t *testing.T, output string, wanted ...string) {
	t.Helper()
	output = acctest.Unwrap(output)
	for _, text := range wanted {
		if !strings.Contains(output, text) {
			t.Errorf("the output does not say %q:\n%s", text, output)
		}
	}
}

func write(t *testing.T, workspace *cli.Workspace, target *acctest.Target, pool, body string) {
	t.Helper()
	provider := strings.Replace(target.Provider(), "defaults     = { ", fmt.Sprintf("defaults     = { pool = %q, ", pool), 1)
	acctest.Must(t, workspace.Write(provider+fmt.Sprintf(`
resource "proxmox_connection" "test" {
  pool = %q
  %s
}

output "ready" { value = proxmox_connection.test.ready }
`, pool, body)))
}

func removePool(t *testing.T, target *acctest.Target, pool string) {
	t.Helper()
	t.Cleanup(func() {
		acctest.Must(t, target.Hand.Call(context.Background(), http.MethodDelete, "/pools", byhand.Params{"poolid": pool}, nil))
	})
}

// TestAccConnection registers a cluster, sees nothing change, and leaves the
// pool behind.
func TestAccConnection(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	facts := target.Facts(t)
	workspace := target.Workspace(t)
	removePool(t, target, "acc-connection")
	body := fmt.Sprintf(`
  capabilities    = ["cluster.identity", "vm.create", "id-ledger"]
  storage_classes = { standard = { storage = %q, content = ["images"] } }
  network_classes = { mgmt = { bridge = %q } }
  templates       = [%d]
`, facts.Storage, facts.Bridges[0], target.Template)
	write(t, workspace, target, "acc-connection", body)
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	found := acctest.Resource(t, workspace, "proxmox_connection.test").Values
	if found["ready"] != true || found["answering_node"] == nil || found["version"] == nil || found["identity"] == nil {
		t.Errorf("state: %v", found)
	}
	for name, each := range found["privileges"].(map[string]any) {
		if state := each.(map[string]any)["state"]; state != "proven" {
			t.Errorf("%s is %v", name, each)
		}
	}
	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the second plan is not empty: %v\n%s", err, output)
	}

	// The identity is what it is imported by.
	acctest.MustRun(t, workspace, "state", "rm", "proxmox_connection.test")
	identity := fmt.Sprint(found["identity"])
	write(t, workspace, target, "acc-connection", body+fmt.Sprintf("cluster = %q\n", identity))
	acctest.MustRun(t, workspace, "import", "proxmox_connection.test", identity)
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	var pools []struct {
		ID string `json:"poolid"`
	}
	acctest.Must(t, target.Hand.Call(ctx, http.MethodGet, "/pools", nil, &pools))
	if !strings.Contains(fmt.Sprint(pools), "acc-connection") {
		t.Errorf("the pool went with the connection: %v", pools)
	}
}

// TestAccConnection_notReady fails with every reason at once, or reports them.
func TestAccConnection_notReady(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	workspace := target.Workspace(t)
	removePool(t, target, "acc-unready")
	const body = `
  storage_classes = { a = { storage = "no-such-storage", content = ["images"] } }
  network_classes = { b = { bridge = "no-such-bridge" } }
  templates       = [999999]
`
	write(t, workspace, target, "acc-unready", body)
	output, err := workspace.Apply(ctx)
	if err == nil {
		t.Errorf("it is ready:\n%s", output)
	}
	said(t, output, "The connection is not ready", "no-such-storage", "no-such-bridge", "template 999999: there is no such guest")

	write(t, workspace, target, "acc-unready", body+"require_ready = false\n")
	said(t, acctest.MustRun(t, workspace, "apply", "-auto-approve"), "ready = false")
	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the second plan is not empty: %v\n%s", err, output)
	}

	write(t, workspace, target, "acc-unready", body)
	if output, err := workspace.Apply(ctx); err == nil {
		t.Errorf("it is ready:\n%s", output)
	}
	write(t, workspace, target, "acc-unready", "")
	said(t, acctest.MustRun(t, workspace, "apply", "-auto-approve"), "ready = true")
	write(t, workspace, target, "acc-unready", `cluster = "another"`)
	output, err = workspace.Apply(ctx)
	if err == nil {
		t.Errorf("another cluster is fine:\n%s", output)
	}
	said(t, output, "Another cluster answers", `"another"`)
}

// TestAccConnection_drift shows what changes behind Terraform's back.
func TestAccConnection_drift(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace := target.Workspace(t)
	removePool(t, target, "acc-drift")
	write(t, workspace, target, "acc-drift", `storage_classes = { a = { storage = "local-lvm", content = ["images"] } }`)
	acctest.MustRun(t, workspace, "apply", "-auto-approve")

	acctest.Must(t, target.Hand.Call(ctx, http.MethodPut, "/storage/local-lvm", byhand.Params{"disable": 1}, nil))
	changes, output, err := workspace.Plan(ctx)
	if err != nil || !changes {
		t.Errorf("nothing is seen of a disabled storage: %v\n%s", err, output)
	}
	output, err = workspace.Apply(ctx)
	if err == nil {
		t.Errorf("it is ready:\n%s", output)
	}
	said(t, output, "storage a:", `"local-lvm" is disabled`)
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPut, "/storage/local-lvm", byhand.Params{"disable": 0}, nil))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
}

// TestAccConnection_andGuests makes the pool and what is put into it in one
// apply.
func TestAccConnection_andGuests(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	provider := strings.Replace(target.Provider(), "defaults     = { ", `defaults     = { pool = "acc-both", `, 1)
	acctest.Must(t, workspace.Write(provider+fmt.Sprintf(`
resource "proxmox_connection" "test" {
  pool         = "acc-both"
  capabilities = ["vm.create", "id-ledger"]
}

resource "proxmox_vm" "test" {
  name       = "acc-both"
  template   = %d
  power      = "stopped"
  depends_on = [proxmox_connection.test]
}
`, target.Template)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if vm := acctest.Resource(t, workspace, "proxmox_vm.test"); vm.Values["pool"] != "acc-both" {
		t.Errorf("the VM is in pool %v", vm.Values["pool"])
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
