package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// move migrates a VM as an operator or HA would.
func move(t *testing.T, target *acctest.Target, vmid int, to string) {
	t.Helper()
	ctx := context.Background()
	from, err := target.Hand.Node(ctx, vmid)
	acctest.Must(t, err)
	path := fmt.Sprintf("/nodes/%s/qemu/%d/migrate", from, vmid)
	acctest.Must(t, target.Hand.Task(ctx, http.MethodPost, path, byhand.Params{"target": to, "online": 1, "with-local-disks": 1}))
}

// TestAccVM_movedAllowed: a VM that moved is the same VM. On an allowed node
// there is nothing to do; elsewhere it is migrated back while it runs, and never
// replaced.
func TestAccVM_movedAllowed(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	config := func(body string) string {
		return target.Provider() + vmBlock("test", target, "acc-moved", "storage = \"shared-nfs\"\n"+body)
	}
	workspace, vm := applied(t, target, config(`allowed_nodes = ["pve1", "pve2"]`))
	vmid := vmidOf(vm)
	move(t, target, vmid, "pve2")
	emptyPlan(t, workspace)
	move(t, target, vmid, "pve3")
	output := acctest.MustRun(t, workspace, applyArgs...)
	said(t, output, "is migrated from pve3 to pve1", "goes on running", "0 destroyed")
	if node, err := target.Hand.Node(ctx, vmid); err != nil || node != "pve1" {
		t.Errorf("the VM is on %s (%v)", node, err)
	}
	apply(t, workspace, config(`node = "pve2"`))
	if node, err := target.Hand.Node(ctx, vmid); err != nil || node != "pve2" {
		t.Errorf("the VM is on %s (%v)", node, err)
	}
	if status, err := target.Hand.Status(ctx, vmid); err != nil || status != "running" {
		t.Errorf("the VM is %s (%v)", status, err)
	}
	emptyPlan(t, workspace)

	acctest.Must(t, workspace.Write(config(`node = "pve9"`)))
	planFails(t, workspace, "no node pve9")
	// A token that may not migrate is told so in the plan.
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, "/access/roles", byhand.Params{
		"roleid": "Resident", "privs": "VM.Audit,VM.Allocate,VM.Config.Options,VM.PowerMgmt,Datastore.Audit,SDN.Use",
	}, nil))
	other := restricted(t, target, "Resident")
	acctest.Must(t, workspace.Write(strings.ReplaceAll(config(`node = "pve1"`), providerSecret(target), providerSecret(other))))
	planFails(t, workspace, "VM.Migrate")
	apply(t, workspace, config(`node = "pve2"`))
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_templateElsewhere clones to another node onto shared storage in one
// call, and otherwise names the storage and the ways out in the plan.
func TestAccVM_templateElsewhere(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(plain(target, "acc-elsewhere", "node = \"pve2\"\nstorage = \"shared-nfs\"")))
	count := counted(t, target, workspace, applyArgs...)
	if clones := count.Requests["POST /nodes/{node}/qemu/{vmid}/clone"]; clones != 1 || count.Requests["POST /nodes/{node}/qemu/{vmid}/migrate"] != 0 {
		t.Errorf("not one clone: %v", count.Requests)
	}
	acctest.MustRun(t, workspace, destroyArgs...)

	local := *target
	local.Template = 9001
	acctest.Must(t, workspace.Write(plain(&local, "acc-elsewhere", "node = \"pve2\"\nstorage = \"shared-nfs\"")))
	planFails(t, workspace, "local-lvm", "not shared", "Make the VM on pve1", "shared storage", "template on pve2")
}

// rich is a VM with something of everything.
func rich(target *acctest.Target, facts acctest.Facts) string {
	return target.Provider() + vmBlock("test", target, "acc-rich", fmt.Sprintf(`
  description = "All of it\n\n* with a list"
  tags        = ["b", "a"]
  on_boot     = true
  bios        = "ovmf"
  efi_disk    = { storage = "local-lvm" }
  cpu         = { cores = 2, sockets = 1, type = "host" }
  memory      = { mib = 1024, balloon_mib = 512 }
  agent       = { enabled = true }
  disks = {
    %s    = { size_gib = %d, discard = true }
    scsi4 = { size_gib = 1, storage = "local-lvm", ssd = true, iothread = true }
  }
  network = {
    net0 = { bridge = "vmbr0", firewall = true }
    net1 = { bridge = "vmbr1", vlan = 20, model = "e1000" }
  }
  cloud_init = {
    user       = "ops"
    ssh_keys   = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ops@example"]
    dns        = { servers = ["10.0.0.1"], domain = "example.org" }
    interfaces = { net0 = { ipv4 = { address = "10.0.0.9/24", gateway = "10.0.0.1" } } }
  }
`, facts.BootDisk, facts.SizeGiB+1))
}

// TestAccVM_generatedConfiguration imports a rich VM by an import block, lets the
// CLI write its configuration, and plans nothing to change.
func TestAccVM_generatedConfiguration(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	facts := target.Facts(t)
	first, vm := applied(t, target, rich(target, facts))
	second := target.Workspace(t)
	acctest.Must(t, second.Write(target.Provider()+fmt.Sprintf(`
import {
  to = proxmox_vm.generated
  id = "%d"
}
`, vmidOf(vm))))
	output, err := second.Run(context.Background(), "plan", "-generate-config-out=generated.tf")
	if err != nil {
		generated, _ := os.ReadFile(filepath.Join(second.Dir(), "generated.tf"))
		t.Fatalf("%v\n%s", err, generated)
	}
	said(t, output, "1 to import, 0 to add, 0 to change, 0 to destroy")
	generated, err := os.ReadFile(filepath.Join(second.Dir(), "generated.tf"))
	acctest.Must(t, err)
	output = acctest.MustRun(t, second, applyArgs...)
	said(t, output, "1 imported, 0 added, 0 changed, 0 destroyed")
	if changes, output, err := second.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan of the generated configuration is not empty: %v\n%s\n%s", err, generated, output)
	}
	acctest.MustRun(t, first, destroyArgs...)
}

// TestAccVM_adopt takes over a VM that somebody made by hand: nothing but the
// marker is written, and nothing is restarted.
func TestAccVM_adopt(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	vmid := target.First + 3
	acctest.Must(t, target.Hand.Clone(ctx, target.Template, vmid, "acc-adopted", byhand.Params{"full": 1}))
	acctest.Must(t, target.Hand.Configure(ctx, vmid, byhand.Params{"description": "made by hand", "cores": 3}))
	acctest.Must(t, target.Hand.Power(ctx, vmid, "start"))
	before, err := target.Hand.Config(ctx, vmid)
	acctest.Must(t, err)

	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-adopted", "")))
	refuses(t, workspace, []string{"import", address, fmt.Sprint(vmid)}, "carries no marker", fmt.Sprintf("adopt:%d", vmid))
	acctest.MustRun(t, workspace, "import", address, fmt.Sprintf("adopt:%d", vmid))
	if config, err := target.Hand.Config(ctx, vmid); err != nil || config["digest"] != before["digest"] {
		t.Errorf("the import changed something: %v (%v)", config, err)
	}
	count := counted(t, target, workspace, applyArgs...)
	if count.Requests["PUT /nodes/{node}/qemu/{vmid}/config"] != 1 {
		t.Errorf("more than the marker was written: %v", count.Requests)
	}
	after, err := target.Hand.Config(ctx, vmid)
	acctest.Must(t, err)
	vm := acctest.Resource(t, workspace, address)
	if want := fmt.Sprintf("made by hand\n\nterraform-proxmox-uid=%v/%d", vm.Values["uid"], vmid); after["description"] != want {
		t.Errorf("the description is %q, not %q", after["description"], want)
	}
	for key, value := range before {
		if key != "digest" && key != "description" && after[key] != value {
			t.Errorf("%s was %s and is %s", key, value, after[key])
		}
	}
	if status, err := target.Hand.Status(ctx, vmid); err != nil || status != "running" || vm.Values["marked"] != true {
		t.Errorf("the VM is %s (%v), marked %v", status, err, vm.Values["marked"])
	}
	emptyPlan(t, workspace)
	refuses(t, workspace, []string{"import", "proxmox_vm.other", fmt.Sprintf("adopt:%d", vmid)}, "")
	acctest.MustRun(t, workspace, destroyArgs...)
	onlyTemplatesLeft(t, target)
}

// TestAccVM_restoreMarker writes a marker again that was deleted by hand, when
// that is asked for.
func TestAccVM_restoreMarker(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace, vm := applied(t, target, plain(target, "acc-restored", ""))
	original, err := target.Hand.Config(ctx, vmidOf(vm))
	acctest.Must(t, err)
	acctest.Must(t, target.Hand.Configure(ctx, vmidOf(vm), byhand.Params{"description": "cleaned up"}))
	acctest.Must(t, workspace.Write(plain(target, "acc-restored", `tags = ["x"]`)))
	refuses(t, workspace, applyArgs, "lost its marker", "restore_marker")
	apply(t, workspace, plain(target, "acc-restored", "tags = [\"x\"]\nrestore_marker = true"))
	config, err := target.Hand.Config(ctx, vmidOf(vm))
	acctest.Must(t, err)
	if line := strings.TrimSpace(original["description"]); !strings.HasSuffix(config["description"], line) || config["tags"] != "x" {
		t.Errorf("the description is %q, the tags are %q; the marker was %q", config["description"], config["tags"], line)
	}
	emptyPlan(t, workspace)
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_movedBlock renames a VM in the configuration: it stays what it is.
func TestAccVM_movedBlock(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace, _ := applied(t, target, plain(target, "acc-renamed", ""))
	renamed := strings.Replace(plain(target, "acc-renamed", ""), `"proxmox_vm" "test"`, `"proxmox_vm" "other"`, 1)
	acctest.Must(t, workspace.Write(renamed+"\nmoved {\n  from = proxmox_vm.test\n  to   = proxmox_vm.other\n}\n"))
	output := acctest.MustRun(t, workspace, applyArgs...)
	said(t, output, "0 added, 0 changed, 0 destroyed")
	acctest.MustRun(t, workspace, destroyArgs...)
}

// TestAccVM_twoApplies runs two applies at once, of two configurations that know
// nothing of each other.
func TestAccVM_twoApplies(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	const number = 5
	run := func(name string) (func() string, func()) {
		workspace := target.Workspace(t)
		acctest.Must(t, workspace.Write(target.Provider()+fmt.Sprintf(`
resource "proxmox_vm" "many" {
  count    = %d
  name     = "acc-%s-${count.index}"
  template = %d
  power    = "stopped"
}
`, number, name, target.Template)))
		process, err := workspace.Start(ctx, applyArgs...)
		acctest.Must(t, err)

		return func() string {
			output, err := process.Wait()
			acctest.Must(t, err)
			return output
		}, func() { acctest.MustRun(t, workspace, destroyArgs...) } //nolint:contextcheck // Commands of the CLI run to their end.
	}
	waitA, destroyA := run("one")
	waitB, destroyB := run("two")
	for _, output := range []string{waitA(), waitB()} {
		said(t, output, fmt.Sprintf("%d added", number))
	}
	for name := range 2 * number {
		target.One(t, fmt.Sprintf("acc-%s-%d", []string{"one", "two"}[name/number], name%number))
	}
	destroyA()
	destroyB()
	onlyTemplatesLeft(t, target)
}
