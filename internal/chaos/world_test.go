package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
)

const (
	seeds    = "seeds"
	hostname = "chaos-db"
	marker   = "terraform-proxmox-uid="
)

var (
	nodes     = []string{"pve1", "pve2", "pve3"}
	templates = []string{
		"local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst",
		"local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst",
	}
)

// wanted is a configuration: VMs with seeds, one with a firewall, and a container
// that is reinstalled when its template changes.
type wanted struct {
	vms, cores, disk, seed, rules int
	container                     bool
	template, memory              int
}

func firstWanted() wanted {
	return wanted{vms: 2, cores: 1, disk: 10, rules: 2, container: true, memory: 512}
}

// change changes some of it. A disk never shrinks.
func (w *wanted) change(random *rand.Rand) {
	for range 1 + random.IntN(3) {
		switch random.IntN(7) {
		case 0:
			w.vms = 1 + random.IntN(3)
		case 1:
			w.cores = 1 + random.IntN(4)
		case 2:
			w.disk++
		case 3:
			w.seed++
		case 4:
			w.rules = random.IntN(5)
		case 5:
			w.template = 1 - w.template
		case 6:
			w.memory = 512 + 64*random.IntN(4)
		}
	}
}

func (w *wanted) configuration(target *acctest.Target) string {
	var rules strings.Builder
	for i := range w.rules {
		fmt.Fprintf(&rules, "    { direction = \"in\", action = \"ACCEPT\", protocol = \"tcp\", destination_port = \"%d\" },\n", 8000+i)
	}
	return target.Provider() + fmt.Sprintf(`
resource "proxmox_vm" "it" {
  for_each = toset(slice(["0", "1", "2"], 0, %d))

  name     = "chaos-${each.key}"
  template = %d
  cpu      = { cores = %d }
  disks    = { scsi0 = { size_gib = %d } }
  network  = { net0 = { bridge = "vmbr0", firewall = true } }
  reboot   = "auto"
  seed = {
    storage   = %q
    user_data = "#cloud-config\nhostname: chaos-${each.key}-%d\n"
  }
}

resource "proxmox_firewall" "it" {
  scope   = { vm = proxmox_vm.it["0"].vmid }
  options = { enabled = true, policy_in = "DROP" }
  rules = [
%s  ]
}

resource "proxmox_container" "it" {
  hostname    = %q
  template    = %q
  memory      = { mib = %d }
  root_volume = { storage = "local-lvm", size_gib = 4 }
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 6, path = "/data", backup = true }
  }
  reinstall = { keep = ["mp0"] }
}
`, w.vms, target.Template, w.cores, w.disk, seeds, w.seed, rules.String(), hostname, templates[w.template], w.memory)
}

// addressOf is the address of the resource that makes a guest of this name.
func addressOf(name string) string {
	if name == hostname {
		return "proxmox_container.it"
	}
	if key, ok := strings.CutPrefix(name, "chaos-"); ok {
		return fmt.Sprintf("proxmox_vm.it[%q]", key)
	}
	return ""
}

// stranger is a guest of somebody else, as it was made.
type stranger struct {
	byhand.Guest
	config map[string]string
}

// makeStrangers makes guests by hand that have the names of ours, and one that is a
// copy of the template.
func (c *trial) makeStrangers() {
	ctx := context.Background()
	first := c.target.Foreign(0)
	acctest.Must(c.t, c.target.Hand.CreateVM(ctx, "pve1", first, byhand.Params{"name": "chaos-0", "scsi0": "local-lvm:1"}))
	acctest.Must(c.t, c.target.Hand.CreateVM(ctx, "pve2", first+1, byhand.Params{"name": "theirs", "onboot": 1}))
	acctest.Must(c.t, c.target.Hand.Clone(ctx, c.target.Template, first+2, "chaos-1", nil))
	acctest.Must(c.t, c.target.Hand.Task(ctx, http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": first + 3, "hostname": hostname, "ostemplate": templates[0], "rootfs": "local-lvm:2",
	}))
	guests, err := c.target.Hand.Guests(ctx)
	acctest.Must(c.t, err)
	for _, guest := range guests {
		c.strangers = append(c.strangers, stranger{guest, c.config(guest)})
	}
}

// config reads a guest's configuration, nil where it has none.
func (c *trial) config(guest byhand.Guest) map[string]string {
	var raw map[string]any
	path := fmt.Sprintf("/nodes/%s/%s/%d/config", guest.Node, guest.Type, guest.VMID)
	if err := c.target.Hand.Call(context.Background(), http.MethodGet, path, nil, &raw); err != nil {
		return nil
	}
	config := map[string]string{}
	for key, value := range raw {
		config[key] = fmt.Sprint(value)
	}
	return config
}

// ours are the guests with a marker, by the name that is in their configuration: the
// cluster's list may lack those of new guests.
func (c *trial) ours() []byhand.Guest {
	guests, err := c.target.Hand.Guests(context.Background())
	acctest.Must(c.t, err)
	var marked []byhand.Guest
	for _, guest := range guests {
		config := c.config(guest)
		if !strings.Contains(config["description"], marker) {
			continue
		}
		guest.Name = config["name"] + config["hostname"]
		marked = append(marked, guest)
	}
	return marked
}

// check holds what must be true at any time.
func (c *trial) check(when string) {
	c.t.Helper()
	for _, s := range c.strangers {
		if config := c.config(s.Guest); !maps.Equal(config, s.config) {
			c.t.Errorf("%s: %s %d of others was %v and is %v", when, s.Type, s.VMID, s.config, config)
		}
	}
	seen := map[string]int{}
	for _, guest := range c.ours() {
		if other, doubled := seen[guest.Name]; doubled {
			c.t.Errorf("%s: %q is both %d and %d", when, guest.Name, other, guest.VMID)
		}
		seen[guest.Name] = guest.VMID
	}
	c.checkData(when)
	c.checkVolumes(when)
}

// checkData wants what the container's data volume held to be in a container of ours,
// as long as there is one.
func (c *trial) checkData(when string) {
	c.t.Helper()
	var contents []string
	alive := false
	for _, guest := range c.ours() {
		if guest.Type != "lxc" {
			continue
		}
		alive = true
		held := c.target.Lab.Contents(guest.VMID)
		contents = append(contents, slices.Collect(maps.Values(held))...)
		if c.kept == "" {
			c.kept = held["mp0"]
		}
	}
	if alive && c.kept != "" && !slices.Contains(contents, c.kept) {
		c.t.Errorf("%s: the kept volume is in no container of ours", when)
	}
	if !alive {
		c.kept = ""
	}
}

// checkVolumes wants each volume to belong to a guest that there is.
func (c *trial) checkVolumes(when string) {
	c.t.Helper()
	guests, err := c.target.Hand.Guests(context.Background())
	acctest.Must(c.t, err)
	there := map[int]bool{}
	for _, guest := range guests {
		there[guest.VMID] = true
	}
	for _, node := range nodes {
		for _, storage := range []string{"local-lvm", "shared-nfs"} {
			var content []struct {
				VolID string `json:"volid"`
				VMID  int    `json:"vmid"`
			}
			acctest.Must(c.t, c.target.Hand.Call(context.Background(), http.MethodGet, fmt.Sprintf("/nodes/%s/storage/%s/content", node, storage), nil, &content))
			for _, volume := range content {
				if volume.VMID != 0 && !there[volume.VMID] {
					c.t.Errorf("%s: the volume %s belongs to nobody", when, volume.VolID)
				}
			}
		}
	}
}

// complete wants all guests that are configured, and no other one of ours.
func (c *trial) complete() {
	c.t.Helper()
	want := []string{hostname}
	for i := range c.wanted.vms {
		want = append(want, fmt.Sprintf("chaos-%d", i))
	}
	var got []string
	for _, guest := range c.ours() {
		got = append(got, guest.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("there are %v, want %v", got, want)
	}
}
