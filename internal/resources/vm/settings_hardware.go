package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

var agentSwitch = prop{name: "enabled", bare: true, off: "0"}

var agentGroup = &group{
	name: "agent",
	doc:  "The QEMU guest agent. It reports the addresses; a VM without it is fine and reports the configured ones.",
	settings: []setting{
		{
			name: "enabled", key: "agent", place: agentSwitch, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether PVE talks to an agent inside the VM. PVE's default is `false`.",
		},
		{
			name: "type", key: "agent", place: prop{name: "type", head: &agentSwitch}, absent: types.StringValue("virtio"), form: choice("virtio", "isa"),
			doc: "The device that the agent is reached through. PVE's default is `virtio`.",
		},
		{
			name: "fstrim_cloned_disks", key: "agent", place: prop{name: "fstrim_cloned_disks", head: &agentSwitch},
			form: boolean{}, absent: types.BoolValue(false), live: mostlyAtOnce,
			doc: "Whether the agent trims the file systems after a disk was cloned or moved. A change waits for the next start where nothing of the agent was set before. PVE's default is `false`.",
		},
		{
			name: "freeze_fs", key: "agent", form: boolean{}, absent: types.BoolValue(true),
			place: prop{name: "freeze-fs-on-backup", aliases: []string{"freeze-fs", "guest-fsfreeze"}, head: &agentSwitch},
			doc:   "Whether the agent freezes the file systems for a backup. PVE's default is `true`.",
		},
	},
}

var startupGroup = &group{
	name: "startup",
	doc:  "When the VM starts and stops among the node's guests. A change needs the privilege `Sys.Modify` on `/`.",
	settings: []setting{
		{
			name: "order", key: "startup", place: prop{name: "order", bare: true}, form: integer{}, live: atOnce,
			doc: "The VM's turn; guests stop in the opposite order. Those without one come last.",
		},
		{
			name: "up_seconds", key: "startup", place: prop{name: "up"}, form: integer{}, live: atOnce,
			doc: "How long the next guest waits after the VM's start, in seconds.",
		},
		{
			name: "down_seconds", key: "startup", place: prop{name: "down"}, form: integer{}, live: atOnce,
			doc: "How long the VM may take to shut down with the node, in seconds.",
		},
	},
}

var migrationGroup = &group{
	name: "migration",
	doc:  "Bounds of a live migration.",
	settings: []setting{
		{
			name: "downtime_seconds", key: "migrate_downtime", place: whole{}, absent: types.Float64Value(0.1), form: number{}, live: atOnce,
			doc: "How long the VM may stand still at its end, in seconds. PVE's default is 0.1.",
		},
		{
			name: "speed_mbps", key: "migrate_speed", place: whole{}, absent: types.Int64Value(0), form: integer{}, live: atOnce,
			doc: "The bandwidth in MB/s; 0 is no bound. PVE's default is 0.",
		},
	},
}

var machineGroup = &group{
	name: "machine",
	doc:  "The emulated machine. What is not set is inherited from the template.",
	settings: []setting{
		{
			name: "type", key: "machine", place: prop{name: "type", bare: true},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(machineType, "is a machine such as q35 or pc-i440fx-10.0")}},
			doc:  "The type: `q35`, or a version such as `pc-q35-10.0` or `pc-i440fx-10.0`. PVE's default is the newest `pc-i440fx`.",
		},
		{
			name: "viommu", key: "machine", place: prop{name: "viommu"}, form: choice("intel", "virtio"),
			doc: "The virtual IOMMU: `intel`, for `q35` only, or `virtio`. There is none unless set.",
		},
		{
			name: "enable_s3", key: "machine", place: prop{name: "enable-s3"}, form: boolean{},
			doc: "Whether the guest may suspend to memory. Left out, the machine's version decides.",
		},
		{
			name: "enable_s4", key: "machine", place: prop{name: "enable-s4"}, form: boolean{},
			doc: "Whether the guest may suspend to disk. Left out, the machine's version decides.",
		},
	},
}

var machineType = regexp.MustCompile(`^(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(-\d+(\.\d+)+)?(\+pve\d+)?)$`)

var smbiosGroup = &group{
	name: "smbios",
	doc:  "What the machine tells about itself. Its uuid is PVE's and stays.",
	settings: []setting{
		smbiosSetting("manufacturer", "The manufacturer."),
		smbiosSetting("product", "The product's name."),
		smbiosSetting("version", "The product's version."),
		smbiosSetting("serial", "The serial number."),
		smbiosSetting("sku", "The stock-keeping unit."),
		smbiosSetting("family", "The product's family."),
		{
			name: "uuid", source: reported, key: "smbios1", place: prop{name: "uuid"}, form: text{},
			doc: "The machine's uuid.",
		},
	},
}

func smbiosSetting(name, doc string) setting {
	return setting{
		name: name, key: "smbios1", place: smbiosText{prop{name: name}}, doc: doc,
		form: text{validators: []validator.String{stringvalidator.LengthBetween(1, 64)}},
	}
}

var vgaGroup = &group{
	name: "vga",
	doc:  "The display.",
	settings: []setting{
		{
			name: "type", key: "vga", place: prop{name: "type", bare: true}, absent: types.StringValue("std"),
			form: choice("cirrus", "qxl", "qxl2", "qxl3", "qxl4", "none", "serial0", "serial1", "serial2", "serial3", "std", "virtio", "virtio-gl", "vmware"),
			doc:  "The adapter; `serial0` shows that serial port instead, which has to be there. PVE's default is `std`.",
		},
		{
			name: "memory_mib", key: "vga", place: prop{name: "memory"}, form: integer{least: 4, most: 512},
			doc: "The adapter's memory in MiB.",
		},
		{
			name: "clipboard", key: "vga", place: prop{name: "clipboard"}, form: choice("vnc"),
			doc: "`vnc` shares the clipboard with the console.",
		},
	},
}

var audioGroup = &group{
	name: "audio", device: "audio0",
	doc: "The sound card.",
	settings: []setting{
		{
			name: "device", source: required, key: "audio0", place: prop{name: "device", alone: true}, form: choice("ich9-intel-hda", "intel-hda", "AC97"),
			doc: "The model: `ich9-intel-hda` for `q35`, `intel-hda` or `AC97`.",
		},
		{
			name: "driver", key: "audio0", place: prop{name: "driver"}, absent: types.StringValue("spice"), form: choice("spice", "none"),
			doc: "Where the sound goes. PVE's default is `spice`.",
		},
	},
}

var rngGroup = &group{
	name: "rng", device: "rng0",
	doc: "The source of randomness.",
	settings: []setting{
		{
			name: "source", source: required, key: "rng0", place: prop{name: "source", bare: true, alone: true}, form: choice("/dev/urandom", "/dev/random", "/dev/hwrng"),
			doc: "The node's device; `/dev/hwrng` needs the privilege `Mapping.Use` on `/mapping/hwrng`.",
		},
		{
			name: "max_bytes", key: "rng0", place: prop{name: "max_bytes"}, absent: types.Int64Value(1024), form: integer{},
			doc: "How many bytes the guest may take each period; 0 is no limit. PVE's default is 1024.",
		},
		{
			name: "period_ms", key: "rng0", place: prop{name: "period"}, absent: types.Int64Value(1000), form: integer{},
			doc: "The period in milliseconds. PVE's default is 1000.",
		},
	},
}

var watchdogGroup = &group{
	name: "watchdog",
	doc:  "The watchdog, which acts when the guest stops feeding it.",
	settings: []setting{
		{
			name: "model", key: "watchdog", place: prop{name: "model", bare: true}, form: choice("i6300esb", "ib700"),
			doc: "The model: `i6300esb`, which PVE takes where only the action is set, or `ib700`.",
		},
		{
			name: "action", key: "watchdog", place: prop{name: "action"}, form: choice("reset", "shutdown", "poweroff", "pause", "debug", "none"),
			doc: "What happens: `reset`, `shutdown`, `poweroff`, `pause`, `debug` or `none`.",
		},
	},
}

var serialGroup = &group{
	name: "serial", slots: serialSlots,
	doc: "The serial ports, by slot (`serial0` to `serial3`). What is not named here stays as it is.",
	settings: []setting{{
		name: "device", place: serialDevice{}, absent: types.StringValue(serialSocket), root: func(value string) bool { return value != serialSocket },
		form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(socket|/dev/[^,]+)$`), "is socket or a device such as /dev/ttyS0")}},
		doc:  "`socket` (default), which `qm terminal` and the web console open, or a device of the node, such as `/dev/ttyS0`.",
	}},
}

var usbGroup = &group{
	name: "usb", slots: usbSlots, live: hotplugUSB,
	doc: "The USB devices, by slot (`usb0` to `usb13`). What is not named here stays as it is.",
	settings: []setting{
		{
			name: "mapping", place: prop{name: "mapping"}, live: hotplugUSB,
			form: text{validators: []validator.String{mappingName}},
			doc:  "The resource mapping of a device. Needs the privilege `Mapping.Use` on `/mapping/usb/…`.",
		},
		{
			name: "host", place: prop{name: "host", bare: true}, live: hotplugUSB, root: func(value string) bool { return !strings.EqualFold(value, "spice") },
			form: text{validators: []validator.String{stringvalidator.RegexMatches(usbHost, "is spice, vendor:product such as 1234:5678, or a port such as 1-2.3")}},
			doc:  "`spice` for a device of the console's machine, or a device of the node: `vendor:product` or its port.",
		},
		{
			name: "usb3", place: prop{name: "usb3"}, form: boolean{}, absent: types.BoolValue(false), live: hotplugUSB,
			doc: "Whether it is plugged in as USB 3. PVE's default is `false`.",
		},
	},
}

var (
	usbHost     = regexp.MustCompile(`^(((0x)?[0-9A-Fa-f]{4}:(0x)?[0-9A-Fa-f]{4})|(\d+-\d+(\.\d+)*)|[Ss][Pp][Ii][Cc][Ee])$`)
	mappingName = stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`), "is the name of a resource mapping")
	pciID       = stringvalidator.RegexMatches(regexp.MustCompile(`^0x[0-9A-Fa-f]{4}$`), "is a number such as 0x10de")
)

var pciGroup = &group{
	name: "pci", slots: pciSlots,
	doc: "The PCI devices of the node that the VM has, by slot (`hostpci0` to `hostpci15`). What is not named here stays as it is.",
	settings: []setting{
		{
			name: "mapping", place: prop{name: "mapping"}, form: text{validators: []validator.String{mappingName}},
			doc: "The resource mapping of a device. Needs the privilege `Mapping.Use` on `/mapping/pci/…`.",
		},
		{
			name: "host", place: prop{name: "host", bare: true}, root: always,
			form: text{validators: []validator.String{stringvalidator.RegexMatches(pciHost, "is an address such as 0000:01:00.0, or several separated by semicolons")}},
			doc:  "The node's address of a device, such as `0000:01:00.0`.",
		},
		{
			name: "pcie", place: prop{name: "pcie"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether it is a PCI Express device; `q35` only. PVE's default is `false`.",
		},
		{
			name: "rombar", place: prop{name: "rombar"}, form: boolean{}, absent: types.BoolValue(true),
			doc: "Whether the guest sees the device's ROM. PVE's default is `true`.",
		},
		{
			name: "rom_file", place: prop{name: "romfile"}, root: always,
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[^,;]+$`), "is the name of a file in /usr/share/kvm")}},
			doc:  "A ROM file in the node's `/usr/share/kvm`.",
		},
		{
			name: "primary_gpu", place: prop{name: "x-vga"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether it is the VM's first display. PVE's default is `false`.",
		},
		{
			name: "legacy_igd", place: prop{name: "legacy-igd"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether an Intel graphics device is passed in its legacy mode. PVE's default is `false`.",
		},
		{
			name: "mdev", place: prop{name: "mdev"},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[^/.:,]+$`), "is a type of mediated devices such as nvidia-63")}},
			doc:  "The type of a mediated device, such as `nvidia-63`.",
		},
		pciSetting("vendor_id", "vendor-id", "The vendor id that the guest sees, such as `0x10de`."),
		pciSetting("device_id", "device-id", "The device id that the guest sees."),
		pciSetting("sub_vendor_id", "sub-vendor-id", "The subsystem's vendor id that the guest sees."),
		pciSetting("sub_device_id", "sub-device-id", "The subsystem's device id that the guest sees."),
	},
}

var pciHost = regexp.MustCompile(`^([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?(;([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?)*$`)

func pciSetting(name, property, doc string) setting {
	return setting{name: name, place: prop{name: property}, form: text{fold: strings.ToLower, validators: []validator.String{pciID}}, doc: doc}
}

var virtiofsGroup = &group{
	name: "virtiofs", slots: virtiofsSlots,
	doc: "The node's directories that the VM shares through virtiofs, by slot (`virtiofs0` to `virtiofs9`). What is not named here stays as it is.",
	settings: []setting{
		{
			name: "mapping", source: required, place: prop{name: "dirid", bare: true}, form: text{validators: []validator.String{mappingName}},
			doc: "The resource mapping of a directory. Needs the privilege `Mapping.Use` on `/mapping/dir/…`.",
		},
		{
			name: "cache", place: prop{name: "cache"}, absent: types.StringValue("auto"), form: choice("auto", "always", "metadata", "never"),
			doc: "What the guest may cache: `auto`, `always`, `metadata` or `never`. PVE's default is `auto`.",
		},
		{
			name: "direct_io", place: prop{name: "direct-io"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the guest's O_DIRECT is honoured. PVE's default is `false`.",
		},
		{
			name: "expose_xattr", place: prop{name: "expose-xattr"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the guest sees extended attributes. PVE's default is `false`.",
		},
		{
			name: "expose_acl", place: prop{name: "expose-acl"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the guest sees ACLs, and with them extended attributes. PVE's default is `false`.",
		},
	},
}

var efiGroup = &group{
	name: "efi_disk", device: "efidisk0",
	doc: "The disk that holds the UEFI firmware's variables, for `bios = \"ovmf\"`. It is made where the template has none.",
	settings: []setting{
		volumeStorageSetting, removalSetting,
		{
			name: "type", place: prop{name: "efitype"}, absent: types.StringValue("2m"), form: choice("2m", "4m"), fixed: true,
			doc: "The size class of the variables: `4m`, which Secure Boot wants, or `2m`. It cannot be changed afterwards. PVE's default is `2m`.",
		},
		{
			name: "pre_enrolled_keys", place: prop{name: "pre-enrolled-keys"}, form: boolean{}, absent: types.BoolValue(false), fixed: true,
			doc: "Whether the disk is made with Microsoft's and the distributions' keys, and with Secure Boot on; `4m` only. " +
				"It cannot be changed afterwards. PVE's default is `false`.",
		},
	},
}

var tpmGroup = &group{
	name: "tpm", device: "tpmstate0",
	doc: "The TPM. It is added where the template has none.",
	settings: []setting{
		volumeStorageSetting, removalSetting,
		{
			name: "version", place: prop{name: "version"}, absent: types.StringValue("v1.2"), form: choice("v1.2", "v2.0"), fixed: true,
			doc: "The version: `v2.0`, which Windows 11 wants, or `v1.2`. It cannot be changed afterwards. PVE's default is `v1.2`.",
		},
	},
}

var volumeStorageSetting = setting{
	name: "storage", source: structural, place: volumeStorage{}, live: atOnce,
	form: text{validators: []validator.String{framework.StorageName()}},
	doc:  "The storage that holds the volume; a new one is made on the VM's `storage` unless set. Another storage moves the volume.",
}

var removalSetting = setting{
	name: "on_removal", source: local, absent: types.StringValue(removalDetach), form: choice(removalDetach, removalDestroy),
	doc: "What becomes of the volume when it is no longer configured: `detach` (default) keeps it as an unused disk of the VM, " +
		"`destroy` removes it with its data.",
}
