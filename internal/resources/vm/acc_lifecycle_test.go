package vm_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const address = "proxmox_vm.test"

// settings are what the lifecycle changes in place.
type settings struct {
	cores, memory, size int
	tags                string
	description         string
	bridge              string
	vlan                int
	firewall            bool
}

func lifecycleConfig(target *acctest.Target, facts acctest.Facts, name string, s settings) string {
	vlan := ""
	if s.vlan > 0 {
		vlan = fmt.Sprintf("vlan = %d", s.vlan)
	}

	return target.Provider() + fmt.Sprintf(`
resource "proxmox_vm" "test" {
  name        = %q
  template    = %d
  tags        = [%s]
  description = %q

  cpu     = { cores = %d }
  memory  = { mib = %d }
  disks   = { %s = { size_gib = %d } }
  network = {
    net0 = {
      bridge   = %q
      firewall = %t
      %s
    }
  }
  cloud_init = {
    user       = "ops"
    interfaces = { net0 = { ipv4 = { address = "10.99.0.50/24", gateway = "10.99.0.1" } } }
  }
  power = "stopped"
}
`, name, target.Template, s.tags, s.description, s.cores, s.memory, facts.BootDisk, s.size, s.bridge, s.firewall, vlan)
}

// TestAccVM_lifecycle goes once through everything that happens to a VM.
func TestAccVM_lifecycle(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	facts := target.Facts(t)

	before := settings{
		cores: 1, memory: 128, size: facts.SizeGiB + 1, tags: `"web", "prod"`,
		description: "first\nwith a second line", bridge: facts.Bridges[0],
	}
	after := settings{
		cores: 2, memory: 192, size: facts.SizeGiB + 2, tags: `"web", "stage"`,
		description: "changed", bridge: facts.Bridges[len(facts.Bridges)-1], vlan: 20, firewall: true,
	}
	name := "acc-lifecycle"

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             target.CheckGone(name),
		Steps: []resource.TestStep{
			{
				Config: lifecycleConfig(target, facts, name, before),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(address, tfjsonpath.New("node"), knownvalue.StringExact(target.Node)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("status"), knownvalue.StringExact("stopped")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("provisioned"), knownvalue.Bool(true)),
				},
				Check: target.CheckConfig(address, lifecycleWants(facts, name, before)),
			},
			{
				Config: lifecycleConfig(target, facts, name, after),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: target.CheckConfig(address, lifecycleWants(facts, name, after)),
			},
			{
				// Drift: what somebody changed by hand is put back in place.
				PreConfig: func() {
					target.ConfigureByHand(t, name, byhand.Params{"cores": 3, "memory": 256, "tags": "by-hand"})
				},
				Config: lifecycleConfig(target, facts, name, after),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: target.CheckConfig(address, lifecycleWants(facts, name, after)),
			},
		},
	})
}

// lifecycleWants are the settings as PVE's configuration says them.
func lifecycleWants(facts acctest.Facts, name string, s settings) map[string]acctest.Want {
	wants := map[string]acctest.Want{
		"name":         acctest.Equal(name),
		"cores":        acctest.Equal(strconv.Itoa(s.cores)),
		"memory":       acctest.Equal(strconv.Itoa(s.memory)),
		"description":  acctest.HasPrefix(s.description + "\n"),
		facts.BootDisk: acctest.Contains(fmt.Sprintf("size=%dG", s.size)),
		"net0":         acctest.Contains("bridge=" + s.bridge),
		"ciuser":       acctest.Equal("ops"),
		"ipconfig0":    acctest.Contains("ip=10.99.0.50/24"),
		"tags":         acctest.Equal("prod;web"),
	}
	if strings.Contains(s.tags, "stage") {
		wants["tags"] = acctest.Equal("stage;web")
	}
	if s.vlan > 0 {
		wants["net0"] = acctest.Contains("bridge="+s.bridge, fmt.Sprintf("tag=%d", s.vlan))
	}

	return wants
}

// TestAccVM_inherit clones with nothing but a name: all else is the template's
// and never a diff, and the VM is started once.
func TestAccVM_inherit(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	facts := target.Facts(t)
	name := "acc-inherit"
	config := target.Provider() + fmt.Sprintf(`
resource "proxmox_vm" "test" {
  name     = %q
  template = %d
}
`, name, target.Template)

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             target.CheckGone(name),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(address, tfjsonpath.New("status"), knownvalue.StringExact("running")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("uid"), knownvalue.StringRegexp(uuid)),
				},
				Check: target.CheckConfig(address, map[string]acctest.Want{
					facts.BootDisk: acctest.Contains(facts.Storage + ":"),
				}),
			},
			{
				// Stopped by somebody: power is not configured, so it is left alone.
				PreConfig: func() { target.PowerByHand(t, name, "stop") },
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectEmptyPlan(),
				}},
			},
		},
	})
}

// TestAccVM_removed sets a value and takes it away again: PVE's default is
// back, not the value of a template that may be gone.
func TestAccVM_removed(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	name := "acc-removed"
	config := func(body string) string {
		return target.Provider() + fmt.Sprintf(`
resource "proxmox_vm" "test" {
  name     = %q
  template = %d
  power    = "stopped"
  %s
}
`, name, target.Template, body)
	}

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             target.CheckGone(name),
		Steps: []resource.TestStep{
			{
				Config: config(`tags = ["one"]
  description = "words"
  on_boot = true
  cpu = { cores = 2 }`),
				Check: target.CheckConfig(address, map[string]acctest.Want{
					"tags": acctest.Equal("one"), "onboot": acctest.Equal("1"), "cores": acctest.Equal("2"),
					"description": acctest.HasPrefix("words\n"),
				}),
			},
			{
				Config: config(""),
				Check: target.CheckConfig(address, map[string]acctest.Want{
					"tags": acctest.Absent, "onboot": acctest.Absent, "cores": acctest.Absent,
					"description": acctest.HasPrefix("terraform-proxmox-uid="),
				}),
			},
		},
	})
}
