package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"terraform-provider-proxmox/internal/acctest"
)

const (
	hostname = "chaos-db"
	// secret is a write-only password of the container: it has to be in no state, no
	// log and no output.
	secret = "k4nn-Keiner-wissen"
	// fenced is the VM of others that the configuration may fence.
	fenced = 101
)

var templates = []string{
	"local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst",
	"local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
}

// wanted is a configuration: VMs with seeds, the first one with a firewall and a
// second disk, the last one replaced by a trigger; a container that is reinstalled
// when its template changes; a security group and some rules of the cluster's; a
// seed of its own; and the fence of a VM of others.
type wanted struct {
	// seeds is where the images are, pool where the guests are and ids are reserved.
	seeds, pool string

	vms, cores, disk, extra, seed, generation, rules int

	template, memory, group, cluster, image, fence int

	// givenUp says that nothing of the container is kept, since there is nothing left.
	protection, tags, givenUp bool
}

func firstWanted(random *rand.Rand) wanted {
	w := wanted{vms: 2, cores: 1, disk: 10, rules: 2, memory: 512, group: 1, cluster: 1, seeds: "seeds"}
	if random.IntN(2) == 0 {
		w.seeds = "shared-nfs"
	}
	if random.IntN(2) == 0 {
		w.pool = "chaos"
	}
	return w
}

// change changes some of it. A disk never shrinks, and is never taken away.
func (w *wanted) change(random *rand.Rand) {
	changes := []func(){
		func() { w.vms = 1 + random.IntN(3) },
		func() { w.cores = 1 + random.IntN(4) },
		func() { w.disk++ },
		func() { w.extra++ },
		func() { w.seed++ },
		func() { w.generation++ },
		func() { w.rules = random.IntN(5) },
		func() { w.template = 1 - w.template },
		func() { w.memory = 512 + 64*random.IntN(4) },
		func() { w.group = random.IntN(4) },
		func() { w.cluster = random.IntN(3) },
		func() { w.image++ },
		func() { w.fence++ },
		func() { w.protection = !w.protection },
		func() { w.tags = !w.tags },
	}
	for range 1 + random.IntN(4) {
		changes[random.IntN(len(changes))]()
	}
}

// rulesTo are n rules that let ports in.
func rulesTo(first, n int) string {
	var rules strings.Builder
	for i := range n {
		fmt.Fprintf(&rules, "    { direction = \"in\", action = \"ACCEPT\", protocol = \"tcp\", destination_port = \"%d\" },\n", first+i)
	}
	return rules.String()
}

func (w *wanted) provider(target *acctest.Target) string {
	block := target.Provider(fmt.Sprintf("fence_scope = { vmids = [%d] }", fenced))
	if w.pool == "" {
		return block
	}
	return strings.Replace(block, "defaults     = {", fmt.Sprintf("defaults     = { pool = %q,", w.pool), 1)
}

func (w *wanted) configuration(target *acctest.Target) string {
	disks := fmt.Sprintf("scsi0 = { size_gib = %d }", w.disk)
	if w.extra > 0 {
		disks += fmt.Sprintf(", scsi1 = { storage = \"shared-nfs\", size_gib = %d }", w.extra)
	}
	tags := "null"
	if w.tags {
		tags = `["chaos", "tagged"]`
	}
	return w.provider(target) + fmt.Sprintf(`
resource "terraform_data" "generation" { input = %d }

resource "proxmox_vm" "it" {
  for_each = toset(slice(["0", "1"], 0, %d))

  name       = "chaos-${each.key}"
  template   = %d
  cpu        = { cores = %d }
  tags       = %s
  disks      = { %s }
  network    = { net0 = { bridge = "vmbr0", firewall = true } }
  reboot     = "auto"
  protection = each.key == "0" ? %t : null
  seed = {
    storage   = %q
    user_data = "#cloud-config\nhostname: chaos-${each.key}-%d\n"
  }
}

resource "proxmox_vm" "replaced" {
  count = %d

  name     = "chaos-2"
  template = %d
  network  = { net0 = { bridge = "vmbr0" } }
  seed     = { storage = %q, user_data = "#cloud-config\nhostname: chaos-2-%d\n" }
  lifecycle {
    replace_triggered_by = [terraform_data.generation]
  }
}
`, w.generation, min(w.vms, 2), target.Template, w.cores, tags, disks, w.protection, w.seeds, w.seed, max(0, w.vms-2), target.Template, w.seeds, w.seed) +
		w.others()
}

// others are the resources beside the VMs.
func (w *wanted) others() string {
	return fmt.Sprintf(`
resource "proxmox_container" "it" {
  hostname    = %q
  template    = %q
  memory      = { mib = %d }
  password_wo = %q
  network     = { net0 = { name = "eth0", bridge = "vmbr0" } }
  root_volume = { storage = "local-lvm", size_gib = 4 }
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 6, path = "/data", backup = true }
  }
  reinstall = { keep = %s }
}

resource "proxmox_firewall" "it" {
  scope   = { vm = proxmox_vm.it["0"].vmid }
  options = { enabled = true, policy_in = "DROP" }
  ip_sets = { admins = ["10.0.9.0/24"] }
  rules = [
%s    { direction = "group", action = proxmox_firewall.group.scope.security_group },
  ]
}

resource "proxmox_firewall" "group" {
  scope   = { security_group = "chaos" }
  foreign = true
  rules = [
%s  ]
}

resource "proxmox_firewall" "cluster" {
  scope     = { cluster = true }
  foreign   = true
  ownership = "tagged"
  tag       = "chaos"
  rules = [
%s  ]
}

resource "proxmox_seed_iso" "it" {
  storage   = %q
  host_name = "chaos-%d"
  user_data = "#cloud-config\n"
}

resource "proxmox_fence_action" "it" {
  action   = "vm.stop"
  vmid     = %d
  node     = "pve2"
  foreign  = true
  triggers = { round = "%d" }
}
`, hostname, templates[w.template], w.memory, secret, w.kept(), rulesTo(8000, w.rules), rulesTo(9000, w.group), rulesTo(9100, w.cluster), w.seeds, w.image, fenced, w.fence)
}

// kept are the mount points that a reinstallation keeps.
func (w *wanted) kept() string {
	if w.givenUp {
		return "[]"
	}
	return `["mp0"]`
}

// names are those of the guests that it wants.
func (w *wanted) names() []string {
	names := []string{hostname}
	for i := range w.vms {
		names = append(names, fmt.Sprintf("chaos-%d", i))
	}
	return names
}

// addressOf is the address of the resource that makes a guest of this name.
func addressOf(name string) string {
	switch name {
	case hostname:
		return "proxmox_container.it"
	case "chaos-2":
		return "proxmox_vm.replaced[0]"
	}
	if key, ok := strings.CutPrefix(name, "chaos-"); ok {
		return fmt.Sprintf("proxmox_vm.it[%q]", key)
	}
	return ""
}
