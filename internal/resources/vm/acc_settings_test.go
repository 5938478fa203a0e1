package vm_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// settingsConfig is a VM with further attributes.
func settingsConfig(target *acctest.Target, name, attributes string) string {
	return target.Provider() + fmt.Sprintf("resource \"proxmox_vm\" \"test\" {\n  name = %q\n  template = %d\n%s\n}\n", name, target.Template, attributes)
}

const hardwareHCL = `
  power           = "stopped"
  os_type         = "l26"
  bios            = "ovmf"
  scsi_controller = "virtio-scsi-single"
  hotplug         = ["disk", "network"]
  local_time      = true
  protection      = true

  cpu     = { cores = 2, sockets = 1, limit = 1.5, units = 200, numa = true, type = "host", flags = ["+aes"] }
  memory  = { mib = 256, balloon_mib = 128, shares = 500 }
  agent   = { enabled = true, fstrim_cloned_disks = true }
  machine = { type = "q35" }
  smbios  = { manufacturer = "Holdfast, Inc.", sku = "42" }
  vga     = { type = "virtio", memory_mib = 32 }
  rng     = { source = "/dev/urandom", max_bytes = 2048 }

  watchdog = { model = "i6300esb", action = "reset" }
  serial   = { serial1 = {} }
  usb      = { usb0 = { host = "spice" } }
  efi_disk = { type = "4m", pre_enrolled_keys = true, on_removal = "destroy" }
  tpm      = { version = "v2.0", on_removal = "destroy" }

  network = { net0 = { rate_mbps = 10.5, queues = 2, trunks = ["10", "20-29"], mtu = 1400 } }
`

// TestAccVM_settings sets what a virtual machine has beside the usual, and takes
// it away again.
func TestAccVM_settings(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	name := "acc-settings"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             target.CheckGone(name),
		Steps: []resource.TestStep{
			{
				Config: settingsConfig(target, name, hardwareHCL),
				Check: target.CheckConfig(address, map[string]acctest.Want{
					"ostype": acctest.Equal("l26"), "bios": acctest.Equal("ovmf"), "hotplug": acctest.Equal("disk,network"), "localtime": acctest.Equal("1"),
					"cpu": acctest.Equal("host,flags=+aes"), "cpulimit": acctest.Equal("1.5"), "cpuunits": acctest.Equal("200"), "numa": acctest.Equal("1"),
					"balloon": acctest.Equal("128"), "shares": acctest.Equal("500"), "machine": acctest.Equal("q35"), "smbios1": acctest.Contains("sku=NDI="),
					"vga": acctest.Contains("memory=32"), "rng0": acctest.Contains("max_bytes=2048"), "watchdog": acctest.Contains("action=reset"),
					"serial1": acctest.Equal("socket"), "usb0": acctest.Equal("spice"), "efidisk0": acctest.Contains("efitype=4m"), "tpmstate0": acctest.Contains("version=v2.0"),
					"net0": acctest.Contains("rate=10.5"), "protection": acctest.Equal("1"),
				}),
			},
			{
				Config: settingsConfig(target, name, `
  power   = "stopped"
  network = { net0 = {} }
`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
				Check: target.CheckConfig(address, map[string]acctest.Want{
					"bios": acctest.Absent, "hotplug": acctest.Absent, "cpulimit": acctest.Absent, "balloon": acctest.Absent, "machine": acctest.Absent,
					"smbios1": acctest.HasPrefix("uuid="), "rng0": acctest.Absent, "watchdog": acctest.Absent, "serial1": acctest.Absent, "usb0": acctest.Absent,
					"efidisk0": acctest.Absent, "tpmstate0": acctest.Absent, "unused0": acctest.Absent, "protection": acctest.Absent,
				}),
			},
		},
	})
}

// TestAccVM_rootOnly: what PVE reserves to root is refused in the plan by name,
// even to a token of root.
func TestAccVM_rootOnly(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	name := "acc-root"
	for attribute, hcl := range map[string]string{
		"cpu.affinity":     `cpu = { affinity = "0" }`,
		"memory.hugepages": `memory = { hugepages = "2" }`,
		"hook_script":      `hook_script = "local:snippets/hook.pl"`,
		"args":             `args = "-no-reboot"`,
		"host":             `pci = { hostpci0 = { host = "0000:01:00.0" } }`,
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(settingsConfig(target, name, hcl)))
			planFails(t, workspace, "Only root@pam", attribute)
		})
	}
	t.Cleanup(func() { acctest.Must(t, target.CheckGone(name)(nil)) })
}

// TestAccVM_disksWhileRunning adds, grows, moves, detaches and destroys disks of
// a running VM: nothing waits, nothing restarts.
func TestAccVM_disksWhileRunning(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	name := "acc-disks"
	with := func(disks string) string {
		return settingsConfig(target, name, "agent = { enabled = true }\nwait_for = \"agent\"\ndisks = {\n  scsi0 = {}\n"+disks+"\n}")
	}
	nothingWaits := []statecheck.StateCheck{
		statecheck.ExpectKnownValue(address, tfjsonpath.New("reboot_required"), knownvalue.SetSizeExact(0)),
		statecheck.ExpectKnownValue(address, tfjsonpath.New("status"), knownvalue.StringExact("running")),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy:             target.CheckGone(name),
		Steps: []resource.TestStep{
			{Config: with("")},
			{
				Config:            with(`scsi1 = { size_gib = 1, storage = "local-lvm" }, scsi2 = { size_gib = 1, storage = "local-lvm", on_removal = "destroy" }`),
				ConfigStateChecks: nothingWaits,
				Check:             target.CheckConfig(address, map[string]acctest.Want{"scsi1": acctest.HasPrefix("local-lvm:"), "scsi2": acctest.HasPrefix("local-lvm:")}),
			},
			{
				Config:            with(`scsi1 = { size_gib = 2, storage = "shared-nfs", format = "qcow2" }, scsi2 = { size_gib = 1, on_removal = "destroy" }`),
				ConfigStateChecks: nothingWaits,
				Check:             target.CheckConfig(address, map[string]acctest.Want{"scsi1": acctest.Contains("qcow2,size=2G"), "unused0": acctest.Absent}),
			},
			{
				Config:            with(""),
				ConfigStateChecks: nothingWaits,
				Check: target.CheckConfig(address, map[string]acctest.Want{
					"scsi1": acctest.Absent, "scsi2": acctest.Absent, "unused0": acctest.HasPrefix("shared-nfs:"), "unused1": acctest.Absent,
				}),
			},
			{
				Config:      settingsConfig(target, name, "agent = { enabled = true }\nwait_for = \"agent\"\ndisks = {}"),
				ExpectError: regexp.MustCompile("scsi0 cannot be removed"),
			},
			{
				// A volume that was detached is not destroyed with the VM unless asked for.
				PreConfig: func() { target.ConfigureByHand(t, name, byhand.Params{"delete": "unused0"}) },
				Config:    with(""),
			},
		},
	})
}
