package container_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

const lifecycleBefore = `
  description = "first\nwith a second line"
  tags        = ["db", "prod"]
  cpu         = { cores = 1 }
  memory      = { mib = 512, swap_mib = 128 }
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 10, path = "/data", backup = true }
    mp1 = { storage = "local-lvm", size_gib = 2, path = "/cache", backup = false, mount_options = ["noatime", "nodev"] }
  }
  network = {
    net0 = { bridge = "vmbr0", firewall = true, ipv4 = { address = "10.99.0.60/24", gateway = "10.99.0.1" }, ipv6 = { method = "auto" } }
  }
  features = { nesting = true }
  dns      = { servers = ["10.99.0.1", "10.99.0.2"], domain = "lab.invalid" }
  timezone = "Europe/Paris"
  startup  = { order = 3, up_seconds = 10 }
  console  = { mode = "shell", tty_count = 1 }
  ssh_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEGhmjZRhwJ4XvXtEJ4HZmBHsyr6gvz6Yx4xYtK7sEzk me@x"]
  on_boot  = true
`

const lifecycleAfter = `
  description = "changed"
  tags        = ["db"]
  cpu         = { cores = 2, limit = 1.5, units = 200 }
  memory      = { mib = 1024 }
  root_volume = { storage = "local-lvm", size_gib = 9 }
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 12, path = "/data", backup = true }
    mp2 = { storage = "local-lvm", size_gib = 1, path = "/new", backup = true }
  }
  network = {
    net0 = { bridge = "vmbr0", ipv4 = { method = "dhcp" } }
    net1 = { bridge = "vmbr1", vlan = 7, mtu = 1400, rate_mbps = 3.5, link_down = true }
  }
  features   = { nesting = true }
  on_destroy = { unknown_disks = "destroy" }
`

// TestAccContainer_lifecycle goes once through everything that happens to a
// container while it runs.
func TestAccContainer_lifecycle(t *testing.T) {
	t.Parallel()
	lifecycle(t, onNode(t))
}

func TestAccContainer_lifecycle8(t *testing.T) {
	t.Parallel()
	lifecycle(t, acctest.NewLab(t, pvelab.Options{Version: "8.4"}))
}

func lifecycle(t *testing.T, target *acctest.Target) {
	t.Helper()
	var vmid int

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             gone(t, target),
		Steps: []resource.TestStep{
			{
				Config: block(target, oldTemplate, lifecycleBefore),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(address, tfjsonpath.New("status"), knownvalue.StringExact("running")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("provisioned"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("unprivileged"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("root_volume").AtMapKey("in_backup"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("mount_points").AtMapKey("mp0").AtMapKey("in_backup"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("mount_points").AtMapKey("mp1").AtMapKey("in_backup"), knownvalue.Bool(false)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("network").AtMapKey("net0").AtMapKey("ipv4_addresses"),
						knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("10.99.0.60")})),
				},
				Check: resource.ComposeTestCheckFunc(
					func(state *terraform.State) (err error) { vmid, err = vmidOf(state); return err },
					wants(t, target, map[string]acctest.Want{
						"hostname": acctest.Equal("acc-db"), "unprivileged": acctest.Equal("1"), "memory": acctest.Equal("512"), "swap": acctest.Equal("128"),
						"cores": acctest.Equal("1"), "tags": acctest.Equal("db;prod"), "description": acctest.HasPrefix("first\nwith a second line\n\nterraform-proxmox-uid="),
						"rootfs": acctest.Contains("size=8G"), "mp0": acctest.Contains("mp=/data,backup=1,size=10G"),
						"mp1":        acctest.Contains("mp=/cache,backup=0,mountoptions=noatime;nodev,size=2G"),
						"net0":       acctest.HasPrefix("name=eth0,bridge=vmbr0,firewall=1,gw=10.99.0.1,hwaddr="),
						"nameserver": acctest.Equal("10.99.0.1 10.99.0.2"), "searchdomain": acctest.Equal("lab.invalid"),
						"timezone": acctest.Equal("Europe/Paris"), "startup": acctest.Equal("3,up=10"), "cmode": acctest.Equal("shell"),
						"tty": acctest.Equal("1"), "onboot": acctest.Equal("1"), "features": acctest.Equal("nesting=1"),
					}),
				),
			},
			{
				Config:           block(target, oldTemplate, lifecycleBefore),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				Config: changed(target),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: wants(t, target, map[string]acctest.Want{
					"cores": acctest.Equal("2"), "cpulimit": acctest.Equal("1.5"), "cpuunits": acctest.Equal("200"), "memory": acctest.Equal("1024"),
					"swap": acctest.Equal("512"), "tags": acctest.Equal("db"), "description": acctest.HasPrefix("changed\n\nterraform-proxmox-uid="),
					"rootfs": acctest.Contains("size=9G"), "mp0": acctest.Contains("size=12G"), "mp2": acctest.Contains("mp=/new,backup=1,size=1G"),
					"net0": acctest.Contains("ip=dhcp"), "net1": acctest.Contains("link_down=1,mtu=1400,rate=3.5,tag=7"),
					"nameserver": acctest.Absent, "timezone": acctest.Absent, "mp1": acctest.Absent,
				}),
			},
			{
				// Drift: what somebody changed by hand is put back in place.
				PreConfig: func() { byHand(t, target, vmid, byhand.Params{"cores": 3, "tags": "by-hand"}) },
				Config:    changed(target),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: wants(t, target, map[string]acctest.Want{"cores": acctest.Equal("2"), "tags": acctest.Equal("db")}),
			},
		},
	})
}

// changed is the configuration after the change; its root volume is larger.
func changed(target *acctest.Target) string {
	return adapted(target, target.Provider()+`
resource "proxmox_container" "test" {
  hostname = "acc-db"
  node     = "`+target.Node+`"
  template = "`+oldTemplate+`"
`+lifecycleAfter+`}
`)
}
