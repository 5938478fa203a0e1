package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

// Values of the settings that are this provider's own.
const (
	statusInstalling = "installing"

	waitNone      = "none"
	waitAgent     = "agent"
	waitCloudInit = "cloud-init"

	onTimeoutWarn = "warn"
)

// table holds every setting of a VM. What is not in it is in schema.go: what
// identifies a guest, what is given once when it is made, and its power.
var table = &settings.Group{
	Settings: []settings.Setting{
		{
			Name: "name", Source: settings.Required, Key: "name", Place: settings.Whole{}, Live: settings.AtOnce,
			Form: settings.Text{Validators: []validator.String{framework.DNSName()}},
			Doc:  "The VM's name, DNS labels. It identifies nothing: two guests may have the same.",
		},
		guests.Description("VM"),
		{
			Name: "tags", Key: "tags", Place: settings.Whole{}, Live: settings.AtOnce,
			Form: settings.TextSet{Spelling: settings.TagList, Validators: []validator.Set{setvalidator.ValueStringsAre(framework.Tag())}},
			Doc:  "The VM's tags, in lower case.",
		},
		{
			Name: "on_boot", Key: "onboot", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.AtOnce,
			Doc: "Whether the VM starts when its node does. PVE's default is `false`.",
		},
		{
			Name: "protection", Key: "protection", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.AtOnce,
			Doc: "Whether PVE refuses to destroy the VM and its disks. PVE's default is `false`.",
		},
		{
			Name: "os_type", Key: "ostype", Place: settings.Whole{}, Absent: types.StringValue("other"),
			Form: settings.Choice("other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"),
			Doc:  "The guest's system, to which PVE fits the machine: `l26` is Linux, `win11` Windows 11, 2022 and 2025. PVE's default is `other`.",
		},
		{
			Name: "bios", Key: "bios", Place: settings.Whole{}, Absent: types.StringValue("seabios"), Form: settings.Choice("seabios", "ovmf"),
			Doc: "The firmware: `seabios`, or `ovmf` (UEFI), which wants an `efi_disk`. PVE's default is `seabios`.",
		},
		{
			Name: "scsi_controller", Key: "scsihw", Place: settings.Whole{}, Absent: types.StringValue("lsi"),
			Form: settings.Choice("lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"),
			Doc:  "The model of the SCSI controller; `virtio-scsi-single` gives each disk one of its own. PVE's default is `lsi`.",
		},
		{
			Name: "boot_order", Key: "boot", Place: bootOrder{settings.Prop{Name: "order"}},
			Form: settings.TextList{Spelling: settings.SemicolonList, Validators: []validator.List{
				listvalidator.UniqueValues(),
				listvalidator.ValueStringsAre(stringvalidator.RegexMatches(bootDevice, "is the slot of a disk, a CD-ROM, a network, USB or PCI device")),
			}},
			Doc: "The slots to boot from, in order, such as `[\"scsi0\", \"net0\"]`.",
		},
		{
			Name: "hotplug", Key: "hotplug", Place: settings.Whole{}, Live: settings.MostlyAtOnce, Absent: settings.TextSetOf(hotplugDefault...),
			Form: settings.TextSet{Spelling: hotplugList, Words: []string{"network", "disk", "usb", "cpu", "memory", "cloudinit"}},
			Doc: "What can be changed while the VM runs: `network`, `disk`, `usb`, `cpu`, `memory` (which wants `cpu.numa`) and `cloudinit`; `[]` is nothing. " +
				"A change waits for the next start where `cpu` or `memory` is in it. PVE's default is `network`, `disk` and `usb`.",
		},
		{
			Name: "tablet", Key: "tablet", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true), Live: settings.HotplugUSB,
			Doc: "Whether there is a pointing device with absolute coordinates, for the console. PVE's default is `true`.",
		},
		{
			Name: "keyboard", Key: "keyboard", Place: settings.Whole{},
			Form: settings.Choice("de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch", "hu", "is", "it", "ja", "lt", "mk",
				"nl", "no", "pl", "pt", "pt-br", "sv", "sl", "tr"),
			Doc: "The keyboard layout of the VNC console, such as `en-us`.",
		},
		{
			Name: "local_time", Key: "localtime", Place: settings.Whole{}, Form: settings.Boolean{},
			Doc: "Whether the clock shows the node's local time instead of UTC. Left out, PVE decides by `os_type`.",
		},
		{
			Name: "start_date", Key: "startdate", Place: settings.Whole{}, Absent: types.StringValue("now"),
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(
				regexp.MustCompile(`^(now|\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?)$`), "is now or a date such as 2006-06-17T16:01:21")}},
			Doc: "The clock's date at each start: `now`, or such as `2006-06-17T16:01:21`. PVE's default is `now`.",
		},
		{
			Name: "time_drift_fix", Key: "tdf", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether lost clock ticks are delivered later. PVE's default is `false`.",
		},
		{
			Name: "acpi", Key: "acpi", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether the machine has ACPI. PVE's default is `true`.",
		},
		{
			Name: "kvm", Key: "kvm", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether the node's processors help to virtualise. PVE's default is `true`.",
		},
		{
			Name: "allow_reboot", Key: "reboot", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether the guest may reboot by itself; otherwise it stops then. PVE's default is `true`.",
		},
		{
			Name: "freeze_at_startup", Key: "freeze", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the processors wait for `cont` in the monitor at each start. PVE's default is `false`.",
		},
		{
			Name: "vm_state_storage", Key: "vmstatestorage", Place: settings.Whole{}, Live: settings.AtOnce,
			Form: settings.Text{Validators: []validator.String{framework.StorageName()}},
			Doc:  "The storage for the memory of snapshots and of a suspended VM. PVE chooses one unless set.",
		},
		{
			Name: "hook_script", Key: "hookscript", Place: settings.Whole{}, Live: settings.AtOnce, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The volume of a script that the node runs at each of the VM's steps, such as `local:snippets/hook.pl`.",
		},
		{
			Name: "args", Key: "args", Place: settings.Whole{}, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "Further arguments for QEMU's command line, for experts.",
		},
		{
			Name: "architecture", Key: "arch", Place: settings.Whole{}, Root: settings.Always, Form: settings.Choice("x86_64", "aarch64"),
			Doc: "The processor architecture: `x86_64` or `aarch64`. Left out, it is the node's.",
		},
		{
			Name: "wait_for", Source: settings.Local, Absent: types.StringValue(waitNone), Form: settings.Choice(waitNone, waitAgent, waitCloudInit),
			Doc: "What the apply that starts the VM waits for: `none` (default); `agent`, until the guest agent answers; or `cloud-init`, until " +
				"cloud-init has come to its end in the guest, whose errors then are those of the apply. That needs VM.GuestAgent.FileRead " +
				"(PVE 8: VM.Monitor). Until then `status` is `installing`. A refresh never waits.",
		},
		{
			Name: "on_wait_timeout", Source: settings.Local, Absent: types.StringValue(onTimeoutWarn), Form: settings.Choice(onTimeoutWarn, guests.OnTimeoutFail),
			Doc: "What becomes of a wait that ends with the create timeout: `warn` (default) keeps the VM with `provisioned = false`, " +
				"and the next apply goes on waiting; `fail` is an error, and the next apply replaces the VM.",
		},
		guests.Reboot("VM"),
		guests.EnforcePower("VM"),
		guests.RestoreMarker("VM", birthmark),
	},
	Groups: []*settings.Group{
		cpuGroup, memoryGroup, numaGroup, agentGroup, stopGroup, onDestroyGroup, startupGroup, migrationGroup,
		machineGroup, smbiosGroup, efiGroup, tpmGroup, vgaGroup, audioGroup, rngGroup, watchdogGroup,
		disksGroup, networkGroup, serialGroup, usbGroup, pciGroup, virtiofsGroup, cdromGroup, cloudInitGroup,
		parallelGroup, sharedMemoryGroup, spiceGroup, sevGroup, tdxGroup,
	},
}

var stopGroup = guests.StopGroup("VM", "the guest's system")

var onDestroyGroup = guests.OnDestroyGroup("VM", "destroyed or replaced",
	"Disks that neither the template nor the configuration put there, detached ones (`unused0`) among them")
