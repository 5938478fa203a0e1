package internal_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// inventory is one of each kind that can be listed, and a VM more.
const inventory = `
resource "proxmox_vm" "web" {
  name     = "web"
  template = 9000
  tags     = ["web"]
  disks    = { scsi0 = { size_gib = 20 }, scsi1 = { storage = "local-lvm", size_gib = 4 } }
  network  = { net0 = { bridge = "vmbr0", firewall = true } }

  cloud_init = { user = "ops", interfaces = { net0 = { ipv4 = { address = "10.0.0.11/24", gateway = "10.0.0.1" } } } }
}

resource "proxmox_vm" "seeded" {
  name     = "seeded"
  template = 9000
  seed     = { storage = "seeds", user_data = "#!/bin/sh\n" }
}

resource "proxmox_container" "db" {
  hostname     = "db"
  template     = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
  root_volume  = { storage = "local-lvm", size_gib = 8 }
  network      = { net0 = { name = "eth0", bridge = "vmbr0", ipv4 = { method = "dhcp" } } }
  mount_points = { mp0 = { storage = "local-lvm", size_gib = 1, path = "/data", backup = true } }
}

resource "proxmox_seed_iso" "shared" {
  storage   = "seeds"
  user_data = "#!/bin/sh\ntrue\n"
}

resource "proxmox_firewall" "web" {
  scope   = { vm = proxmox_vm.web.vmid }
  options = { enabled = true, policy_in = "DROP" }
  rules   = [{ direction = "in", action = "ACCEPT", macro = "HTTPS" }]
}

resource "proxmox_firewall" "group" {
  scope   = { security_group = "web" }
  foreign = true
  rules   = [{ direction = "in", action = "ACCEPT", macro = "SSH" }]
}
`

// everything lists all that there is of ours.
const everything = `
list "proxmox_vm" "all" {
  provider = proxmox
}

list "proxmox_container" "all" {
  provider = proxmox
}

list "proxmox_seed_iso" "all" {
  provider = proxmox
}

list "proxmox_firewall" "all" {
  provider = proxmox

  config {
    foreign = true
  }
}
`

const some = `
list "proxmox_vm" "one" {
  provider = proxmox
  limit    = 1
}

list "proxmox_vm" "tagged" {
  provider         = proxmox
  include_resource = true

  config {
    tags = ["web"]
  }
}

list "proxmox_vm" "elsewhere" {
  provider = proxmox

  config {
    node = "pve3"
  }
}

list "proxmox_firewall" "guests" {
  provider = proxmox
}
`

// TestAccQuery finds what is ours and nothing else, generates configuration for it
// and takes it into an empty state by its identity, where nothing is left to do but
// what is changed in that configuration.
func TestAccQuery(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	maker := target.Workspace(t)
	acctest.NeedActions(t, maker)
	acctest.Must(t, maker.Write(target.Provider()+inventory))
	acctest.MustRun(t, maker, "apply", "-auto-approve")
	ours := identities(t, maker)
	strangers(t, target, int(ours["proxmox_vm.web"]["vmid"].(float64)))

	finder := target.Workspace(t)
	acctest.Must(t, finder.Write(target.Provider()))
	seeded, web := ours["proxmox_vm.seeded"], ours["proxmox_vm.web"]
	first := web
	if seeded["vmid"].(float64) < web["vmid"].(float64) {
		first = seeded
	}
	writeQuery(t, finder, some)
	wantFound(t, finder, map[string][]map[string]any{
		"list.proxmox_vm.one": {first}, "list.proxmox_vm.tagged": {web}, "list.proxmox_firewall.guests": {ours["proxmox_firewall.web"]},
	}, "list.proxmox_vm.tagged")
	writeQuery(t, finder, everything)
	wantFound(t, finder, map[string][]map[string]any{
		"list.proxmox_vm.all": {web, seeded}, "list.proxmox_container.all": {ours["proxmox_container.db"]},
		"list.proxmox_seed_iso.all": {ours["proxmox_seed_iso.shared"]},
		"list.proxmox_firewall.all": {ours["proxmox_firewall.web"], ours["proxmox_firewall.group"]},
	})

	acctest.MustRun(t, finder, "query", "-generate-config-out=found.tf")
	wantIn(t, acctest.MustRun(t, finder, "apply", "-auto-approve"), "6 imported, 0 added, 0 changed, 0 destroyed")
	retag(t, target, finder, web)
	acctest.MustRun(t, finder, "destroy", "-auto-approve")
}

// strangers makes guests that are none of ours: one without a marker, a copy of
// ours with ours, and a template with one of its own.
func strangers(t *testing.T, target *acctest.Target, ours int) {
	t.Helper()

	acctest.Must(t, target.Hand.CreateVM(t.Context(), target.Node, target.Foreign(0), byhand.Params{"name": "web", "tags": "web"}))
	acctest.Must(t, target.Hand.Clone(t.Context(), ours, target.Foreign(1), "web", nil))
	template := target.Foreign(2)
	acctest.Must(t, target.Hand.CreateVM(t.Context(), target.Node, template, byhand.Params{
		"tags": "web", "description": fmt.Sprintf("terraform-proxmox-uid=5f0c1f3e-6a7b-4c8d-9e0f-000000000001/%d", template),
	}))
	acctest.Must(t, target.Hand.Task(t.Context(), "POST", fmt.Sprintf("/nodes/%s/qemu/%d/template", target.Node, template), nil))
}

// identities are those of the resources in a state, by address.
func identities(t *testing.T, workspace *cli.Workspace) map[string]map[string]any {
	t.Helper()

	state, err := workspace.State(t.Context())
	acctest.Must(t, err)
	all := map[string]map[string]any{}
	for _, each := range state.Values.RootModule.Resources {
		all[each.Address] = each.Identity
	}
	return all
}

func writeQuery(t *testing.T, workspace *cli.Workspace, lists string) {
	t.Helper()
	acctest.Must(t, os.WriteFile(filepath.Join(workspace.Dir(), "find.tfquery.hcl"), []byte(lists), 0o600))
}

// wantFound runs the queries: each finds just what has these identities, and the
// whole resource only where it is asked for.
func wantFound(t *testing.T, workspace *cli.Workspace, want map[string][]map[string]any, whole ...string) {
	t.Helper()

	got := map[string][]map[string]any{}
	for _, line := range strings.Split(acctest.MustRun(t, workspace, "query", "-json"), "\n") {
		var message struct {
			Found *struct {
				Address  string         `json:"address"`
				Identity map[string]any `json:"identity"`
				Resource map[string]any `json:"resource_object"`
			} `json:"list_resource_found"`
		}
		if json.Unmarshal([]byte(line), &message) != nil || message.Found == nil {
			continue
		}
		found := message.Found
		got[found.Address] = append(got[found.Address], found.Identity)
		if hasWhole := found.Resource["uid"] != nil; hasWhole != slices.Contains(whole, found.Address) {
			t.Errorf("%s comes with a resource: %v", found.Address, hasWhole)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(want)) {
		byText := func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		slices.SortFunc(want[address], byText)
		slices.SortFunc(got[address], byText)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %v\nwant %v", got, want)
	}
}

// retag changes the tags in the generated configuration: that alone is written,
// and none of the defaults that stand there.
func retag(t *testing.T, target *acctest.Target, workspace *cli.Workspace, identity map[string]any) {
	t.Helper()

	vmid := int(identity["vmid"].(float64))
	before, err := target.Hand.Config(t.Context(), vmid)
	acctest.Must(t, err)
	file := filepath.Join(workspace.Dir(), "found.tf")
	generated, err := os.ReadFile(file)
	acctest.Must(t, err)
	changed := strings.Replace(string(generated), `["web"]`, `["front", "web"]`, 1)
	if changed == string(generated) {
		t.Fatalf("the generated configuration has no tags:\n%s", generated)
	}
	acctest.Must(t, os.WriteFile(file, []byte(changed), 0o600))
	wantIn(t, acctest.MustRun(t, workspace, "apply", "-auto-approve"), "0 added, 1 changed, 0 destroyed")
	after, err := target.Hand.Config(t.Context(), vmid)
	acctest.Must(t, err)
	before["tags"], before["digest"] = "front;web", after["digest"]
	if !maps.Equal(after, before) {
		t.Errorf("the configuration is %v\nwant %v", after, before)
	}
}

func wantIn(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(acctest.Unwrap(output), part) {
			t.Errorf("the output does not say %q:\n%s", part, output)
		}
	}
}

const actions = `
variable "cores" {
  default = 1
}

resource "proxmox_vm" "app" {
  name     = "app"
  template = 9000
  cpu      = { cores = var.cores }

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.proxmox_vm_power.reboot]
    }
  }
}

resource "proxmox_container" "db" {
  hostname    = "db"
  template    = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
  root_volume = { storage = "local-lvm", size_gib = 8 }
}

action "proxmox_vm_power" "reboot" {
  config {
    command = "reboot"
    vmid    = proxmox_vm.app.vmid
    uid     = proxmox_vm.app.uid
  }
}

action "proxmox_vm_power" "wrong" {
  config {
    command = "stop"
    vmid    = proxmox_vm.app.vmid
    uid     = proxmox_container.db.uid
  }
}

action "proxmox_container_power" "stop" {
  config {
    command = "stop"
    vmid    = proxmox_container.db.vmid
  }
}

action "proxmox_fence" "app" {
  config {
    action = "vm.stop"
    node   = proxmox_vm.app.node
    vmid   = proxmox_vm.app.vmid
  }
}

action "proxmox_fence" "stranger" {
  config {
    action  = "vm.stop"
    node    = proxmox_vm.app.node
    vmid    = 101
    foreign = true
  }
}
`

// TestAccActions invokes each action: a plan does nothing, progress and errors are
// shown, and what a resource triggers follows its change.
func TestAccActions(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.NeedActions(t, workspace)
	acctest.Must(t, workspace.Write(target.Provider()+actions))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	vmid := target.One(t, "app").VMID
	wantStatus := func(want string) {
		t.Helper()
		if got, err := target.Hand.Status(t.Context(), vmid); got != want || err != nil {
			t.Errorf("the VM is %s, want %s (%v)", got, want, err)
		}
	}

	wantIn(t, acctest.MustRun(t, workspace, "apply", "-auto-approve", "-var=cores=2"),
		fmt.Sprintf("reboot VM %d on %s", vmid, target.Node), fmt.Sprintf("VM %d is running", vmid), "1 changed, 0 destroyed. Actions: 1 invoked")
	invoke := func(command, action string) (string, error) {
		return workspace.Run(t.Context(), command, "-var=cores=2", "-invoke=action."+action)
	}
	plan, err := invoke("plan", "proxmox_fence.app")
	acctest.Must(t, err)
	wantIn(t, plan, "1 to invoke")
	wantStatus("running")

	workspace.Setenv("TF_CLI_ARGS_apply", "-auto-approve")
	for action, refusal := range map[string]string{
		"proxmox_vm_power.wrong": "another guest's marker", "proxmox_fence.stranger": "not in the fence scope",
	} {
		output, err := invoke("apply", action)
		if err == nil {
			t.Errorf("%s is done:\n%s", action, output)
		}
		wantIn(t, output, refusal)
	}
	wantStatus("running")

	for action, progress := range map[string]string{
		"proxmox_fence.app": "proven: fenced", "proxmox_container_power.stop": "is stopped",
	} {
		output, err := invoke("apply", action)
		acctest.Must(t, err)
		wantIn(t, output, progress, "Actions: 1 invoked")
	}
	wantStatus("stopped")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
