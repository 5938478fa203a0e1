package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Values of the settings that are this provider's own.
const (
	powerRunning = string(proxmox.PowerRunning)
	powerStopped = string(proxmox.PowerStopped)
	powerPaused  = string(proxmox.PowerPaused)

	statusInstalling = "installing"

	waitNone      = "none"
	waitAgent     = "agent"
	waitCloudInit = "cloud-init"

	onTimeoutWarn = "warn"
	onTimeoutFail = "fail"

	rebootNever = "never"
	rebootAuto  = "auto"

	removalDetach  = "detach"
	removalDestroy = "destroy"
)

// table holds every setting of a VM. What is not in it is in schema.go: what
// identifies a guest, what is given once when it is made, and its power.
var table = &group{
	settings: []setting{
		{
			name: "name", source: required, key: "name", place: whole{}, live: atOnce,
			form: text{validators: []validator.String{framework.DNSName()}},
			doc:  "The VM's name, DNS labels. It identifies nothing: two guests may have the same.",
		},
		{
			name: "description", key: "description", place: whole{}, live: atOnce,
			form: text{fold: withoutTrailingBlanks},
			doc: "The VM's notes, in Markdown, without the line that marks the guest as this provider's " +
				"(`terraform-proxmox-uid=…`), which counts towards PVE's 8,192 characters.",
		},
		{
			name: "tags", key: "tags", place: whole{}, live: atOnce,
			form: textSet{spelling: tagList, validators: []validator.Set{setvalidator.ValueStringsAre(framework.Tag())}},
			doc:  "The VM's tags, in lower case.",
		},
		{
			name: "on_boot", key: "onboot", place: whole{}, form: boolean{}, absent: types.BoolValue(false), live: atOnce,
			doc: "Whether the VM starts when its node does. PVE's default is `false`.",
		},
		{
			name: "protection", key: "protection", place: whole{}, form: boolean{}, absent: types.BoolValue(false), live: atOnce,
			doc: "Whether PVE refuses to destroy the VM and its disks. PVE's default is `false`.",
		},
		{
			name: "os_type", key: "ostype", place: whole{}, absent: types.StringValue("other"),
			form: choice("other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"),
			doc:  "The guest's system, to which PVE fits the machine: `l26` is Linux, `win11` Windows 11, 2022 and 2025. PVE's default is `other`.",
		},
		{
			name: "bios", key: "bios", place: whole{}, absent: types.StringValue("seabios"), form: choice("seabios", "ovmf"),
			doc: "The firmware: `seabios`, or `ovmf` (UEFI), which wants an `efi_disk`. PVE's default is `seabios`.",
		},
		{
			name: "scsi_controller", key: "scsihw", place: whole{}, absent: types.StringValue("lsi"),
			form: choice("lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"),
			doc:  "The model of the SCSI controller; `virtio-scsi-single` gives each disk one of its own. PVE's default is `lsi`.",
		},
		{
			name: "boot_order", key: "boot", place: bootOrder{prop{name: "order"}},
			form: textList{spelling: semicolonList, validators: []validator.List{
				listvalidator.UniqueValues(),
				listvalidator.ValueStringsAre(stringvalidator.RegexMatches(bootDevice, "is the slot of a disk, a CD-ROM, a network, USB or PCI device")),
			}},
			doc: "The slots to boot from, in order, such as `[\"scsi0\", \"net0\"]`.",
		},
		{
			name: "hotplug", key: "hotplug", place: whole{}, live: mostlyAtOnce, absent: textSetOf(hotplugDefault...),
			form: textSet{spelling: hotplugList, words: []string{"network", "disk", "usb", "cpu", "memory", "cloudinit"}},
			doc: "What can be changed while the VM runs: `network`, `disk`, `usb`, `cpu`, `memory` (which wants `cpu.numa`) and `cloudinit`; `[]` is nothing. " +
				"A change waits for the next start where `cpu` or `memory` is in it. PVE's default is `network`, `disk` and `usb`.",
		},
		{
			name: "tablet", key: "tablet", place: whole{}, form: boolean{}, absent: types.BoolValue(true), live: hotplugUSB,
			doc: "Whether there is a pointing device with absolute coordinates, for the console. PVE's default is `true`.",
		},
		{
			name: "keyboard", key: "keyboard", place: whole{},
			form: choice("de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch", "hu", "is", "it", "ja", "lt", "mk",
				"nl", "no", "pl", "pt", "pt-br", "sv", "sl", "tr"),
			doc: "The keyboard layout of the VNC console, such as `en-us`.",
		},
		{
			name: "local_time", key: "localtime", place: whole{}, form: boolean{},
			doc: "Whether the clock shows the node's local time instead of UTC. Left out, PVE decides by `os_type`.",
		},
		{
			name: "start_date", key: "startdate", place: whole{}, absent: types.StringValue("now"),
			form: text{validators: []validator.String{stringvalidator.RegexMatches(
				regexp.MustCompile(`^(now|\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?)$`), "is now or a date such as 2006-06-17T16:01:21")}},
			doc: "The clock's date at each start: `now`, or such as `2006-06-17T16:01:21`. PVE's default is `now`.",
		},
		{
			name: "time_drift_fix", key: "tdf", place: whole{}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether lost clock ticks are delivered later. PVE's default is `false`.",
		},
		{
			name: "acpi", key: "acpi", place: whole{}, form: boolean{}, absent: types.BoolValue(true),
			doc: "Whether the machine has ACPI. PVE's default is `true`.",
		},
		{
			name: "kvm", key: "kvm", place: whole{}, form: boolean{}, absent: types.BoolValue(true),
			doc: "Whether the node's processors help to virtualise. PVE's default is `true`.",
		},
		{
			name: "allow_reboot", key: "reboot", place: whole{}, form: boolean{}, absent: types.BoolValue(true),
			doc: "Whether the guest may reboot by itself; otherwise it stops then. PVE's default is `true`.",
		},
		{
			name: "freeze_at_startup", key: "freeze", place: whole{}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the processors wait for `cont` in the monitor at each start. PVE's default is `false`.",
		},
		{
			name: "vm_state_storage", key: "vmstatestorage", place: whole{}, live: atOnce,
			form: text{validators: []validator.String{framework.StorageName()}},
			doc:  "The storage for the memory of snapshots and of a suspended VM. PVE chooses one unless set.",
		},
		{
			name: "hook_script", key: "hookscript", place: whole{}, live: atOnce, root: always,
			form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			doc:  "The volume of a script that the node runs at each of the VM's steps, such as `local:snippets/hook.pl`.",
		},
		{
			name: "args", key: "args", place: whole{}, root: always,
			form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			doc:  "Further arguments for QEMU's command line, for experts.",
		},
		{
			name: "wait_for", source: local, absent: types.StringValue(waitNone), form: choice(waitNone, waitAgent, waitCloudInit),
			doc: "What the apply that starts the VM waits for: `none` (default); `agent`, until the guest agent answers; or `cloud-init`, until " +
				"cloud-init has come to its end in the guest, whose errors then are those of the apply. That needs VM.GuestAgent.FileRead " +
				"(PVE 8: VM.Monitor). Until then `status` is `installing`. A refresh never waits.",
		},
		{
			name: "on_wait_timeout", source: local, absent: types.StringValue(onTimeoutWarn), form: choice(onTimeoutWarn, onTimeoutFail),
			doc: "What becomes of a wait that ends with the create timeout: `warn` (default) keeps the VM with `provisioned = false`, " +
				"and the next apply goes on waiting; `fail` is an error, and the next apply replaces the VM.",
		},
		{
			name: "reboot", source: local, absent: types.StringValue(rebootNever), form: choice(rebootNever, rebootAuto),
			doc: "Whether an update may restart a running VM so that what cannot change while it runs takes effect: `never` (default), " +
				"then `reboot_required` names what waits; or `auto`, then the plan says so.",
		},
		{
			name: "enforce_power", source: local, absent: types.BoolValue(false), form: boolean{},
			doc: "Whether an apply brings the VM back to the configured `power` when somebody has changed it. Otherwise `power` acts only when " +
				"it changes here, so that a VM that was fenced is not started again.",
		},
		{
			name: "restore_marker", source: local, absent: types.BoolValue(false), form: boolean{},
			doc: "Whether the next apply writes the marker again when somebody has deleted its line from the notes. The VM is then known by its " +
				"SMBIOS uuid and the time of its creation.",
		},
	},
	groups: []*group{
		cpuGroup, memoryGroup, numaGroup, agentGroup, stopGroup, onDestroyGroup, startupGroup, migrationGroup,
		machineGroup, smbiosGroup, efiGroup, tpmGroup, vgaGroup, audioGroup, rngGroup, watchdogGroup,
		disksGroup, networkGroup, serialGroup, usbGroup, pciGroup, virtiofsGroup, cdromGroup, cloudInitGroup,
	},
}

var stopGroup = &group{
	name: "stop",
	doc:  "How the VM is stopped.",
	settings: []setting{
		{
			name: "shutdown_timeout", source: local, absent: types.StringValue("60s"),
			form: text{validators: []validator.String{framework.Duration()}},
			doc:  "How long the guest's system may take to shut down (`60s` unless set). `0s` stops it at once.",
		},
		{
			name: "force", source: local, absent: types.BoolValue(true), form: boolean{},
			doc: "Whether it is stopped hard when it has not shut down in time (`true` unless set); otherwise that is an error.",
		},
	},
}

// withoutTrailingBlanks is a description as PVE keeps it.
func withoutTrailingBlanks(text string) string { return strings.TrimRight(text, " \t\r\n") }
