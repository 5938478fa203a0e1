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
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	seedUser    = "#cloud-config\nhostname: from-user-data\n"
	seedAddress = `interfaces = { net0 = { ipv4 = { address = "10.99.0.50/24", gateway = "10.99.0.1" } } }`
)

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short round")
	}
}

// seedLine is the attribute seed with user data and more.
func seedLine(storage, user string, lines ...string) string {
	return fmt.Sprintf("seed = {\n  storage = %q\n  user_data = %q\n  %s\n}", storage, user, strings.Join(lines, "\n  "))
}

// again applies other lines and wants an empty plan afterwards.
func again(t *testing.T, target *acctest.Target, workspace *cli.Workspace, name string, lines ...string) cli.Resource {
	t.Helper()
	acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, name, strings.Join(lines, "\n  "))))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Fatalf("the plan after the apply is not empty: %v\n%s", err, output)
	}
	return acctest.Resource(t, workspace, address)
}

func seedValue(vm cli.Resource, name string) string {
	seed, _ := vm.Values["seed"].(map[string]any)
	value, _ := seed[name].(string)
	return value
}

// wantSeeds wants these images of a VM and no others.
func wantSeeds(t *testing.T, target *acctest.Target, storage string, uid string, want ...string) {
	t.Helper()
	var found []string
	for _, image := range target.Images(t, storage) {
		if strings.Contains(image.VolID, uid) {
			found = append(found, image.VolID)
		}
	}
	if strings.Join(found, " ") != strings.Join(want, " ") {
		t.Errorf("the seeds are %v, want %v", found, want)
	}
}

func wantDrive(t *testing.T, target *acctest.Target, vm cli.Resource, slot, want string) {
	t.Helper()
	config, err := target.Hand.Config(context.Background(), vmidOf(vm))
	acctest.Must(t, err)
	if volume, _, _ := strings.Cut(config[slot], ","); volume != want {
		t.Errorf("%s is %q, want %s", slot, config[slot], want)
	}
	for key, value := range config {
		if strings.Contains(value, "cloudinit") && want != "" && strings.Contains(want, "iso/") {
			t.Errorf("a cloud-init drive is left beside the seed: %s=%s", key, value)
		}
	}
}

func hostName(t *testing.T, target *acctest.Target, vm cli.Resource) string {
	t.Helper()
	var answer struct {
		Result struct {
			Name string `json:"host-name"`
		} `json:"result"`
	}
	path := fmt.Sprintf("/nodes/%s/qemu/%d/agent/get-host-name", text(vm, "node"), vmidOf(vm))
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, path, nil, &answer))
	return answer.Result.Name
}

func text(r cli.Resource, name string) string {
	value, _ := r.Values[name].(string)
	return value
}

// TestAccVM_seed goes once through everything that happens to a VM's own seed.
func TestAccVM_seed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if version != "9.2" {
				skipIfShort(t)
			}
			seedLifecycle(t, acctest.NewLab(t, pvelab.Options{Version: version}))
		})
	}
}

func seedLifecycle(t *testing.T, target *acctest.Target) {
	t.Helper()
	storage := target.SeedStorage(t)
	workspace := target.Workspace(t)
	base := []string{`agent = { enabled = true }`, `wait_for = "agent"`, `network = { net0 = { bridge = "vmbr0" } }`}
	with := func(lines ...string) []string { return append(lines, base...) }

	first := again(t, target, workspace, "acc-seed", with(seedLine(storage, seedUser, seedAddress))...)
	uid := text(first, "uid")
	wantSeeds(t, target, storage, uid, seedValue(first, "volume_id"))
	wantDrive(t, target, first, seedValue(first, "slot"), seedValue(first, "volume_id"))
	if host := hostName(t, target, first); host != "from-user-data" {
		t.Errorf("the guest calls itself %q", host)
	}
	network, _ := first.Values["network"].(map[string]any)
	if addresses := fmt.Sprint(network["net0"]); !strings.Contains(addresses, "ipv4_addresses:[10.99.0.50]") {
		t.Errorf("the agent reports %s", addresses)
	}

	// The running VM changes over, and nothing of the old seed is left.
	second := again(t, target, workspace, "acc-seed", with(seedLine(storage, "#!/bin/sh\ntrue\n", seedAddress))...)
	if seedValue(second, "volume_id") == seedValue(first, "volume_id") || seedValue(second, "instance_id") == seedValue(first, "instance_id") {
		t.Errorf("other user data leave the seed as it was: %v", second.Values["seed"])
	}
	wantSeeds(t, target, storage, uid, seedValue(second, "volume_id"))
	wantDrive(t, target, second, seedValue(second, "slot"), seedValue(second, "volume_id"))

	// The host name is the VM's name: another one is another image, and the same
	// instance.
	third := again(t, target, workspace, "acc-seed-renamed", with(seedLine(storage, "#!/bin/sh\ntrue\n", seedAddress))...)
	if seedValue(third, "volume_id") == seedValue(second, "volume_id") || seedValue(third, "instance_id") != seedValue(second, "instance_id") {
		t.Errorf("after a rename: %v", third.Values["seed"])
	}
	wantSeeds(t, target, storage, uid, seedValue(third, "volume_id"))
	target.PowerByHand(t, "acc-seed-renamed", "stop")
	target.PowerByHand(t, "acc-seed-renamed", "start")

	// Drift: the image gone, and out of its drive.
	ctx := context.Background()
	acctest.Must(t, target.Hand.DeleteImage(ctx, target.Node, seedValue(third, "volume_id")))
	target.ConfigureByHand(t, "acc-seed-renamed", byhand.Params{seedValue(third, "slot"): "none,media=cdrom"})
	fourth := again(t, target, workspace, "acc-seed-renamed", with(seedLine(storage, "#!/bin/sh\ntrue\n", seedAddress))...)
	wantSeeds(t, target, storage, uid, seedValue(third, "volume_id"))
	wantDrive(t, target, fourth, seedValue(fourth, "slot"), seedValue(third, "volume_id"))

	// Import: the image is recognised by its name.
	acctest.MustRun(t, workspace, "state", "rm", address)
	acctest.MustRun(t, workspace, "import", address, uid)
	fifth := again(t, target, workspace, "acc-seed-renamed", with(seedLine(storage, "#!/bin/sh\ntrue\n", seedAddress))...)
	if seedValue(fifth, "volume_id") != seedValue(third, "volume_id") {
		t.Errorf("imported: %v", fifth.Values["seed"])
	}

	// No seed any more: the drive is empty and the image gone.
	again(t, target, workspace, "acc-seed-renamed", base...)
	wantSeeds(t, target, storage, uid)
	wantDrive(t, target, fifth, seedValue(fifth, "slot"), "none")

	again(t, target, workspace, "acc-seed-renamed", with(seedLine(storage, seedUser))...)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantSeeds(t, target, storage, uid)
}

// TestAccVM_seedOfNewDevice gives an address to a device that PVE has not made
// yet.
func TestAccVM_seedOfNewDevice(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	vm := again(t, target, workspace, "acc-seed-nic",
		`agent = { enabled = true }`, `wait_for = "agent"`, `network = { net0 = {}, net1 = { bridge = "vmbr1" } }`,
		seedLine("seeds", seedUser, `interfaces = { net0 = { ipv4 = { method = "dhcp" } }, net1 = { ipv4 = { address = "10.98.0.50/24" } } }`))
	network, _ := vm.Values["network"].(map[string]any)
	if addresses := fmt.Sprint(network["net1"]); !strings.Contains(addresses, "[10.98.0.50]") {
		t.Errorf("net1 is %s", addresses)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}

// TestAccVM_seedGone destroys a VM whose seed, or which itself, is gone.
func TestAccVM_seedGone(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	ctx := context.Background()
	vm := again(t, target, workspace, "acc-seed-gone", seedLine("seeds", seedUser), `power = "stopped"`)
	acctest.Must(t, target.Hand.DeleteImage(ctx, "pve1", seedValue(vm, "volume_id")))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-refresh=false")

	vm = again(t, target, workspace, "acc-seed-gone", seedLine("seeds", seedUser), `power = "stopped"`)
	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-refresh=false")
	wantSeeds(t, target, "seeds", "iso/")

	// A refresh that finds the VM gone says what is left; what follows deletes it.
	vm = again(t, target, workspace, "acc-seed-gone", seedLine("seeds", seedUser), `power = "stopped"`)
	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	_, output, err := workspace.Plan(ctx)
	for _, words := range []string{"leaves its seed behind", seedValue(vm, "volume_id"), "must be replaced", `"gone"`} {
		if said := acctest.Unwrap(output); err != nil || !strings.Contains(said, words) {
			t.Errorf("the plan does not say %q, %v:\n%s", words, err, output)
		}
	}
	vm = again(t, target, workspace, "acc-seed-gone", seedLine("seeds", seedUser), `power = "stopped"`)
	wantSeeds(t, target, "seeds", "iso/", seedValue(vm, "volume_id"))
	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantSeeds(t, target, "seeds", "iso/")
}

// TestAccVM_cdromMoved says so when a VM moved away from its image.
func TestAccVM_cdromMoved(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	ctx := context.Background()
	configuration := target.Provider() + fmt.Sprintf("resource \"proxmox_seed_iso\" \"s\" {\n storage = \"seeds\"\n user_data = %q\n}\n", seedUser) +
		vmBlock("test", target, "acc-cdrom-moved", "cdrom = { ide2 = { volume_id = proxmox_seed_iso.s.volume_id } }\npower = \"stopped\"\nstorage = \"shared-nfs\"")
	acctest.Must(t, workspace.Write(configuration))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	vm := acctest.Resource(t, workspace, address)
	seed := acctest.Resource(t, workspace, "proxmox_seed_iso.s")
	target.ConfigureByHand(t, "acc-cdrom-moved", byhand.Params{"ide2": "none,media=cdrom"})
	acctest.Must(t, target.Hand.Task(ctx, http.MethodPost, fmt.Sprintf("/nodes/pve1/qemu/%d/migrate", vmidOf(vm)), byhand.Params{"target": "pve2"}))
	_, output, err := workspace.Plan(ctx)
	if said := acctest.Unwrap(output); err == nil || !strings.Contains(said, "There is no image "+text(seed, "volume_id")+" on node pve2") || !strings.Contains(said, "is not shared") {
		t.Errorf("the plan says %v:\n%s", err, output)
	}
	// PVE takes an image into a drive only where it is; it may go afterwards.
	acctest.Must(t, target.Hand.UploadImage(ctx, "pve2", text(seed, "volume_id"), []byte("x")))
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPut, fmt.Sprintf("/nodes/pve2/qemu/%d/config", vmidOf(vm)), byhand.Params{"ide2": text(seed, "volume_id") + ",media=cdrom"}, nil))
	acctest.Must(t, target.Hand.DeleteImage(ctx, "pve2", text(seed, "volume_id")))
	_, output, err = workspace.Plan(ctx)
	if said := acctest.Unwrap(output); err != nil || !strings.Contains(said, text(seed, "volume_id")+" is not on node pve2") {
		t.Errorf("the plan says %v:\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantSeeds(t, target, "seeds", "iso/")
}

// TestAccVM_seedMoved makes the seed anew where the VM is.
func TestAccVM_seedMoved(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	ctx := context.Background()
	lines := []string{seedLine("seeds", seedUser), `power = "stopped"`, `storage = "shared-nfs"`}
	vm := again(t, target, workspace, "acc-seed-moved", lines...)
	target.ConfigureByHand(t, "acc-seed-moved", byhand.Params{seedValue(vm, "slot"): "none,media=cdrom"})
	acctest.Must(t, target.Hand.Task(ctx, http.MethodPost, fmt.Sprintf("/nodes/pve1/qemu/%d/migrate", vmidOf(vm)), byhand.Params{"target": "pve2"}))
	_, output, err := workspace.Plan(ctx)
	if said := acctest.Unwrap(output); err != nil || !strings.Contains(said, "moved from pve1 to pve2, away from its seed") {
		t.Errorf("the plan says %v:\n%s", err, output)
	}
	again(t, target, workspace, "acc-seed-moved", lines...)
	if images := target.ImagesOn(t, "pve2", "seeds"); len(images) != 1 {
		t.Errorf("pve2 has %v", images)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if images := target.ImagesOn(t, "pve2", "seeds"); len(images) != 0 {
		t.Errorf("pve2 still has %v", images)
	}
}

func TestAccVM_seedRefused(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	for name, test := range map[string]struct{ lines, says string }{
		"bad YAML":                  {seedLine("seeds", "#cloud-config\na: [b\n"), "not YAML"},
		"a storage of disks":        {seedLine("local-lvm", seedUser), "holds no ISO images"},
		"beside cloud_init":         {seedLine("seeds", seedUser) + "\ncloud_init = { user = \"ops\" }", "cloud_init"},
		"in a disk's slot":          {seedLine("seeds", seedUser, `slot = "scsi0"`), "scsi0 is a disk"},
		"twice in a slot":           {seedLine("seeds", seedUser, `slot = "ide0"`) + "\ncdrom = { ide0 = { volume_id = \"none\" } }", "both"},
		"an image that is not":      {`cdrom = { ide0 = { volume_id = "seeds:iso/nothing.iso" } }`, "There is no image seeds:iso/nothing.iso on node pve1"},
		"a drive in a disk's slot":  {`cdrom = { scsi0 = { volume_id = "none" } }`, "scsi0 is a disk"},
		"an image of no form":       {`cdrom = { ide0 = { volume_id = "/dev/cdrom" } }`, "volume id of an ISO image"},
		"an interface of no device": {seedLine("seeds", seedUser, `interfaces = { eth0 = { ipv4 = { method = "dhcp" } } }`), "eth0"},
	} {
		acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-seed-refused", test.lines)))
		_, output, err := workspace.Plan(context.Background())
		if err == nil || !strings.Contains(acctest.Unwrap(output), test.says) {
			t.Errorf("%s: the plan does not say %q: %v\n%s", name, test.says, err, output)
		}
	}
}

// TestAccVM_cdromOfSeed has two VMs change over to a new image in one apply, and
// lose it in one.
func TestAccVM_cdromOfSeed(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	ctx := context.Background()
	config := func(user, drive string) string {
		return target.Provider() + fmt.Sprintf("resource \"proxmox_seed_iso\" \"shared\" {\n storage = \"seeds\"\n user_data = %q\n}\n", user) +
			vmBlock("a", target, "acc-cdrom-a", drive) + vmBlock("b", target, "acc-cdrom-b", drive+"\npower = \"stopped\"")
	}
	const drive = `cdrom = { ide2 = { volume_id = proxmox_seed_iso.shared.volume_id } }`
	apply := func(configuration string) (a, b, seed cli.Resource) {
		t.Helper()
		acctest.Must(t, workspace.Write(configuration))
		acctest.MustRun(t, workspace, "apply", "-auto-approve")
		if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
			t.Fatalf("the plan after the apply is not empty: %v\n%s", err, output)
		}
		state, err := workspace.State(context.Background())
		acctest.Must(t, err)
		a, _ = state.Resource("proxmox_vm.a")
		b, _ = state.Resource("proxmox_vm.b")
		seed, _ = state.Resource("proxmox_seed_iso.shared")
		return a, b, seed
	}
	a, b, first := apply(config(seedUser, drive))
	wantDrive(t, target, a, "ide2", text(first, "volume_id"))
	wantDrive(t, target, b, "ide2", text(first, "volume_id"))
	a, b, second := apply(config("#!/bin/sh\n", drive))
	if text(second, "volume_id") == text(first, "volume_id") {
		t.Error("the image is the same")
	}
	wantDrive(t, target, a, "ide2", text(second, "volume_id"))
	wantDrive(t, target, b, "ide2", text(second, "volume_id"))

	// A clone by hand names the second image: it must not go with the next
	// update, and its owner cannot be made to let go of it.
	acctest.Must(t, target.Hand.Clone(ctx, vmidOf(b), target.Foreign(1), "by-hand", nil))
	_, _, third := apply(config("#!/bin/sh\ntrue\n", drive))
	_, _, fourth := apply(config("#!/bin/sh\nfalse\n", drive))
	kept := map[string]bool{text(second, "volume_id"): true, text(third, "volume_id"): true, text(fourth, "volume_id"): true}
	for _, image := range target.Images(t, "seeds") {
		if !kept[image.VolID] {
			t.Errorf("%s is left", image.VolID)
		}
		delete(kept, image.VolID)
	}
	if len(kept) > 0 {
		t.Errorf("gone: %v", kept)
	}
	output, err := workspace.Destroy(ctx)
	if said := acctest.Unwrap(output); err == nil || !strings.Contains(said, "is in use") || !strings.Contains(said, `"by-hand"`) {
		t.Errorf("the destruction says %v:\n%s", err, output)
	}
	acctest.Must(t, target.Hand.Destroy(ctx, target.Foreign(1)))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantSeeds(t, target, "seeds", "iso/")

	// The seed and the drives that hold it go in one apply: Terraform destroys
	// the seed first, so that it is taken out of the drives.
	apply(config(seedUser, drive))
	acctest.Must(t, workspace.Write(target.Provider()+
		vmBlock("a", target, "acc-cdrom-a", "")+vmBlock("b", target, "acc-cdrom-b", `power = "stopped"`)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantSeeds(t, target, "seeds", "iso/")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}

// TestAccVM_seedLeastPrivilege needs the two roles of the documentation.
func TestAccVM_seedLeastPrivilege(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	target.TokenID, target.TokenSecret = target.Lab.Token("least")
	workspace := target.Workspace(t)
	lines := []string{`pool = "terraform"`, `storage = "shared-nfs"`}
	again(t, target, workspace, "acc-seed-least", append(lines, seedLine("seeds", seedUser, seedAddress))...)
	again(t, target, workspace, "acc-seed-least", append(lines, seedLine("seeds", "#!/bin/sh\n", seedAddress))...)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantSeeds(t, target, "seeds", "iso/")
}

// TestAccVM_seedSecret keeps write-only parts out of state and plan.
func TestAccVM_seedSecret(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	const secret = "hunter2-in-a-vm"
	line := func(version int) string {
		return strings.ReplaceAll(fmt.Sprintf(`seed = {
			storage              = "seeds"
			user_data_wo         = "#cloud-config\npassword: %[1]s\n"
			user_data_wo_version = VERSION
			vendor_data_wo         = "#cloud-config\nvendor: %[1]s\n"
			vendor_data_wo_version = VERSION
			meta_data_wo         = "instance-id: %[1]s\n"
			meta_data_wo_version = VERSION
			network_config_wo         = { version = 2, wifis = { wl0 = { access-points = { home = { password = "%[1]s" } } } } }
			network_config_wo_version = VERSION
		}`, secret), "VERSION", fmt.Sprint(version))
	}
	first := again(t, target, workspace, "acc-seed-secret", line(1), `power = "stopped"`)
	second := again(t, target, workspace, "acc-seed-secret", line(2), `power = "stopped"`)
	if seedValue(first, "volume_id") != seedValue(second, "volume_id") {
		t.Error("the same user data make another image")
	}
	_, plan, err := workspace.Plan(context.Background())
	acctest.Must(t, err)
	state, err := os.ReadFile(filepath.Join(workspace.Dir(), "terraform.tfstate"))
	acctest.Must(t, err)
	if strings.Contains(plan, secret) || strings.Contains(string(state), secret) {
		t.Error("a secret is in the plan or the state")
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}

// TestAccVM_seedFaults survives what goes wrong with the upload.
func TestAccVM_seedFaults(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const upload = "/nodes/pve1/storage/seeds/upload"
	for name, drop := range map[string]pvelab.Drop{"before": pvelab.DropBefore, "after": pvelab.DropAfter} {
		t.Run("answer lost "+name, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{})
			workspace := target.Workspace(t)
			_, err := target.Lab.Faults().Add(pvelab.Fault{Method: http.MethodPost, Path: upload, Drop: drop})
			acctest.Must(t, err)
			again(t, target, workspace, "acc-seed-fault", seedLine("seeds", seedUser), `power = "stopped"`)
			acctest.MustRun(t, workspace, "destroy", "-auto-approve")
			wantSeeds(t, target, "seeds", "iso/")
		})
	}
	t.Run("a task that fails, at creation and at an update", func(t *testing.T) {
		t.Parallel()
		target := acctest.NewLab(t, pvelab.Options{})
		workspace := target.Workspace(t)
		fail := func() {
			_, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: "imgcopy", Exit: "import failed: out of luck"})
			acctest.Must(t, err)
		}
		lines := []string{seedLine("seeds", seedUser), `power = "stopped"`}
		acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-seed-fault", strings.Join(lines, "\n"))))
		fail()
		if output, err := workspace.Apply(context.Background()); err == nil || !strings.Contains(output, "out of luck") {
			t.Errorf("the apply says %v:\n%s", err, output)
		}
		vm := again(t, target, workspace, "acc-seed-fault", lines...)
		other := []string{seedLine("seeds", "#!/bin/sh\n"), `power = "stopped"`}
		acctest.Must(t, workspace.Write(target.Provider()+vmBlock("test", target, "acc-seed-fault", strings.Join(other, "\n"))))
		fail()
		if output, err := workspace.Apply(context.Background()); err == nil {
			t.Errorf("the update succeeds:\n%s", output)
		}
		wantDrive(t, target, vm, seedValue(vm, "slot"), seedValue(vm, "volume_id"))
		vm = again(t, target, workspace, "acc-seed-fault", other...)
		wantSeeds(t, target, "seeds", "iso/", seedValue(vm, "volume_id"))
		acctest.MustRun(t, workspace, "destroy", "-auto-approve")
		wantSeeds(t, target, "seeds", "iso/")
	})
}
