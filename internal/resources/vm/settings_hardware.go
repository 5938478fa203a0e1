package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

var agentSwitch = settings.Prop{Name: "enabled", Bare: true, Off: "0"}

var agentGroup = &settings.Group{
	Name: "agent",
	Doc:  "The QEMU guest agent. It reports the addresses; a VM without it is fine and reports the configured ones.",
	Settings: []settings.Setting{
		{
			Name: "enabled", Key: "agent", Place: agentSwitch, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether PVE talks to an agent inside the VM. PVE's default is `false`.",
		},
		{
			Name: "type", Key: "agent", Place: settings.Prop{Name: "type", Head: &agentSwitch}, Absent: types.StringValue("virtio"), Form: settings.Choice("virtio", "isa"),
			Doc: "The device that the agent is reached through. PVE's default is `virtio`.",
		},
		{
			Name: "fstrim_cloned_disks", Key: "agent", Place: settings.Prop{Name: "fstrim_cloned_disks", Head: &agentSwitch},
			Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.MostlyAtOnce,
			Doc: "Whether the agent trims the file systems after a disk was cloned or moved. A change waits for the next start where nothing of the agent was set before. PVE's default is `false`.",
		},
		{
			Name: "freeze_fs", Key: "agent", Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Place: settings.Prop{Name: "freeze-fs-on-backup", Aliases: []string{"freeze-fs", "guest-fsfreeze"}, Head: &agentSwitch},
			Doc:   "Whether the agent freezes the file systems for a backup. PVE's default is `true`.",
		},
	},
}

var startupGroup = guests.StartupGroup("VM", "A change needs the privilege `Sys.Modify` on `/`.")

var migrationGroup = &settings.Group{
	Name: "migration",
	Doc:  "Bounds of a live migration.",
	Settings: []settings.Setting{
		{
			Name: "downtime_seconds", Key: "migrate_downtime", Place: settings.Whole{}, Absent: types.Float64Value(0.1), Form: settings.Number{}, Live: settings.AtOnce,
			Doc: "How long the VM may stand still at its end, in seconds. PVE's default is 0.1.",
		},
		{
			Name: "speed_mbps", Key: "migrate_speed", Place: settings.Whole{}, Absent: types.Int64Value(0), Form: settings.Integer{}, Live: settings.AtOnce,
			Doc: "The bandwidth in MB/s; 0 is no bound. PVE's default is 0.",
		},
	},
}

var machineGroup = &settings.Group{
	Name: "machine",
	Doc:  "The emulated machine. What is not set is inherited from the template.",
	Settings: []settings.Setting{
		{
			Name: "type", Key: "machine", Place: settings.Prop{Name: "type", Bare: true},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(machineType, "is a machine such as q35 or pc-i440fx-10.0")}},
			Doc:  "The type: `q35`, or a version such as `pc-q35-10.0` or `pc-i440fx-10.0`. PVE's default is the newest `pc-i440fx`.",
		},
		{
			Name: "viommu", Key: "machine", Place: settings.Prop{Name: "viommu"}, Form: settings.Choice("intel", "virtio"),
			Doc: "The virtual IOMMU: `intel`, for `q35` only, or `virtio`. There is none unless set.",
		},
		{
			Name: "aw_bits", Key: "machine", Place: settings.Prop{Name: "aw-bits"}, Form: settings.Integer{Least: 32, Most: 64}, Since: 9,
			Doc: "The width of the virtual IOMMU's addresses in bits: 39 or 48 for `intel`. Wants `viommu`.",
		},
		{
			Name: "enable_s3", Key: "machine", Place: settings.Prop{Name: "enable-s3"}, Form: settings.Boolean{},
			Doc: "Whether the guest may suspend to memory. Left out, the machine's version decides.",
		},
		{
			Name: "enable_s4", Key: "machine", Place: settings.Prop{Name: "enable-s4"}, Form: settings.Boolean{},
			Doc: "Whether the guest may suspend to disk. Left out, the machine's version decides.",
		},
	},
}

var machineType = regexp.MustCompile(`^(pc|pc(-i440fx)?-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|q35|pc-q35-\d+(\.\d+)+(\+pve\d+)?(\.pxe)?|virt(-\d+(\.\d+)+)?(\+pve\d+)?)$`)

var smbiosGroup = &settings.Group{
	Name: "smbios",
	Doc:  "What the machine tells about itself. Its uuid is PVE's and stays.",
	Settings: []settings.Setting{
		smbiosSetting("manufacturer", "The manufacturer."),
		smbiosSetting("product", "The product's name."),
		smbiosSetting("version", "The product's version."),
		smbiosSetting("serial", "The serial number."),
		smbiosSetting("sku", "The stock-keeping unit."),
		smbiosSetting("family", "The product's family."),
		{
			Name: "uuid", Source: settings.Reported, Key: "smbios1", Place: settings.Prop{Name: "uuid"}, Form: settings.Text{},
			Doc: "The machine's uuid.",
		},
	},
}

func smbiosSetting(name, doc string) settings.Setting {
	return settings.Setting{
		Name: name, Key: "smbios1", Place: smbiosText{settings.Prop{Name: name}}, Doc: doc,
		Form: settings.Text{Validators: []validator.String{stringvalidator.LengthBetween(1, 64)}},
	}
}

var vgaGroup = &settings.Group{
	Name: "vga",
	Doc:  "The display.",
	Settings: []settings.Setting{
		{
			Name: "type", Key: "vga", Place: settings.Prop{Name: "type", Bare: true}, Absent: types.StringValue("std"),
			Form: settings.Choice("cirrus", "qxl", "qxl2", "qxl3", "qxl4", "none", "serial0", "serial1", "serial2", "serial3", "std", "virtio", "virtio-gl", "vmware"),
			Doc:  "The adapter; `serial0` shows that serial port instead, which has to be there. PVE's default is `std`.",
		},
		{
			Name: "memory_mib", Key: "vga", Place: settings.Prop{Name: "memory"}, Form: settings.Integer{Least: 4, Most: 512},
			Doc: "The adapter's memory in MiB.",
		},
		{
			Name: "clipboard", Key: "vga", Place: settings.Prop{Name: "clipboard"}, Form: settings.Choice("vnc"),
			Doc: "`vnc` shares the clipboard with the console.",
		},
	},
}

var audioGroup = &settings.Group{
	Name: "audio", Device: "audio0",
	Doc: "The sound card.",
	Settings: []settings.Setting{
		{
			Name: "device", Source: settings.Required, Key: "audio0", Place: settings.Prop{Name: "device", Alone: true}, Form: settings.Choice("ich9-intel-hda", "intel-hda", "AC97"),
			Doc: "The model: `ich9-intel-hda` for `q35`, `intel-hda` or `AC97`.",
		},
		{
			Name: "driver", Key: "audio0", Place: settings.Prop{Name: "driver"}, Absent: types.StringValue("spice"), Form: settings.Choice("spice", "none"),
			Doc: "Where the sound goes. PVE's default is `spice`.",
		},
	},
}

var rngGroup = &settings.Group{
	Name: "rng", Device: "rng0",
	Doc: "The source of randomness.",
	Settings: []settings.Setting{
		{
			Name: "source", Source: settings.Required, Key: "rng0", Place: settings.Prop{Name: "source", Bare: true, Alone: true}, Form: settings.Choice("/dev/urandom", "/dev/random", "/dev/hwrng"),
			Doc: "The node's device; `/dev/hwrng` needs the privilege `Mapping.Use` on `/mapping/hwrng`.",
		},
		{
			Name: "max_bytes", Key: "rng0", Place: settings.Prop{Name: "max_bytes"}, Absent: types.Int64Value(1024), Form: settings.Integer{},
			Doc: "How many bytes the guest may take each period; 0 is no limit. PVE's default is 1024.",
		},
		{
			Name: "period_ms", Key: "rng0", Place: settings.Prop{Name: "period"}, Absent: types.Int64Value(1000), Form: settings.Integer{},
			Doc: "The period in milliseconds. PVE's default is 1000.",
		},
	},
}

var watchdogGroup = &settings.Group{
	Name: "watchdog",
	Doc:  "The watchdog, which acts when the guest stops feeding it.",
	Settings: []settings.Setting{
		{
			Name: "model", Key: "watchdog", Place: settings.Prop{Name: "model", Bare: true}, Form: settings.Choice("i6300esb", "ib700"),
			Doc: "The model: `i6300esb`, which PVE takes where only the action is set, or `ib700`.",
		},
		{
			Name: "action", Key: "watchdog", Place: settings.Prop{Name: "action"}, Form: settings.Choice("reset", "shutdown", "poweroff", "pause", "debug", "none"),
			Doc: "What happens: `reset`, `shutdown`, `poweroff`, `pause`, `debug` or `none`.",
		},
	},
}

var serialGroup = &settings.Group{
	Name: "serial", Slots: serialSlots,
	Doc: "The serial ports, by slot (`serial0` to `serial3`). What is not named here stays as it is.",
	Settings: []settings.Setting{{
		Name: "device", Place: serialDevice{}, Absent: types.StringValue(serialSocket), Root: func(value string) bool { return value != serialSocket },
		Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(socket|/dev/[^,]+)$`), "is socket or a device such as /dev/ttyS0")}},
		Doc:  "`socket` (default), which `qm terminal` and the web console open, or a device of the node, such as `/dev/ttyS0`.",
	}},
}

var usbGroup = &settings.Group{
	Name: "usb", Slots: usbSlots, Live: settings.HotplugUSB,
	Doc: "The USB devices, by slot (`usb0` to `usb13`). What is not named here stays as it is.",
	Settings: []settings.Setting{
		{
			Name: "mapping", Place: settings.Prop{Name: "mapping"}, Live: settings.HotplugUSB,
			Form: settings.Text{Validators: []validator.String{mappingName}},
			Doc:  "The resource mapping of a device. Needs the privilege `Mapping.Use` on `/mapping/usb/…`.",
		},
		{
			Name: "host", Place: settings.Prop{Name: "host", Bare: true}, Live: settings.HotplugUSB, Root: func(value string) bool { return !strings.EqualFold(value, "spice") },
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(usbHost, "is spice, vendor:product such as 1234:5678, or a port such as 1-2.3")}},
			Doc:  "`spice` for a device of the console's machine, or a device of the node: `vendor:product` or its port.",
		},
		{
			Name: "usb3", Place: settings.Prop{Name: "usb3"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.HotplugUSB,
			Doc: "Whether it is plugged in as USB 3. PVE's default is `false`.",
		},
	},
}

var (
	usbHost     = regexp.MustCompile(`^(((0x)?[0-9A-Fa-f]{4}:(0x)?[0-9A-Fa-f]{4})|(\d+-\d+(\.\d+)*)|[Ss][Pp][Ii][Cc][Ee])$`)
	mappingName = stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`), "is the name of a resource mapping")
	pciID       = stringvalidator.RegexMatches(regexp.MustCompile(`^0x[0-9A-Fa-f]{4}$`), "is a number such as 0x10de")
)

var pciGroup = &settings.Group{
	Name: "pci", Slots: pciSlots,
	Doc: "The PCI devices of the node that the VM has, by slot (`hostpci0` to `hostpci15`). What is not named here stays as it is.",
	Settings: []settings.Setting{
		{
			Name: "mapping", Place: settings.Prop{Name: "mapping"}, Form: settings.Text{Validators: []validator.String{mappingName}},
			Doc: "The resource mapping of a device. Needs the privilege `Mapping.Use` on `/mapping/pci/…`.",
		},
		{
			Name: "host", Place: settings.Prop{Name: "host", Bare: true}, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(pciHost, "is an address such as 0000:01:00.0, or several separated by semicolons")}},
			Doc:  "The node's address of a device, such as `0000:01:00.0`.",
		},
		{
			Name: "pcie", Place: settings.Prop{Name: "pcie"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether it is a PCI Express device; `q35` only. PVE's default is `false`.",
		},
		{
			Name: "rombar", Place: settings.Prop{Name: "rombar"}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether the guest sees the device's ROM. PVE's default is `true`.",
		},
		{
			Name: "rom_file", Place: settings.Prop{Name: "romfile"}, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[^,;]+$`), "is the name of a file in /usr/share/kvm")}},
			Doc:  "A ROM file in the node's `/usr/share/kvm`.",
		},
		{
			Name: "primary_gpu", Place: settings.Prop{Name: "x-vga"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether it is the VM's first display. PVE's default is `false`.",
		},
		{
			Name: "legacy_igd", Place: settings.Prop{Name: "legacy-igd"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether an Intel graphics device is passed in its legacy mode. PVE's default is `false`.",
		},
		{
			Name: "mdev", Place: settings.Prop{Name: "mdev"},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[^/.:,]+$`), "is a type of mediated devices such as nvidia-63")}},
			Doc:  "The type of a mediated device, such as `nvidia-63`.",
		},
		{
			Name: "driver", Place: settings.Prop{Name: "driver"}, Form: settings.Choice("vfio", "keep"), Absent: types.StringValue("vfio"), Since: 9,
			Doc: "`keep` leaves the device to the driver that the node has loaded for it. PVE's default is `vfio`.",
		},
		pciSetting("vendor_id", "vendor-id", "The vendor id that the guest sees, such as `0x10de`."),
		pciSetting("device_id", "device-id", "The device id that the guest sees."),
		pciSetting("sub_vendor_id", "sub-vendor-id", "The subsystem's vendor id that the guest sees."),
		pciSetting("sub_device_id", "sub-device-id", "The subsystem's device id that the guest sees."),
	},
}

var pciHost = regexp.MustCompile(`^([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?(;([a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(\.[a-f0-9])?)*$`)

func pciSetting(name, property, doc string) settings.Setting {
	return settings.Setting{Name: name, Place: settings.Prop{Name: property}, Form: settings.Text{Fold: strings.ToLower, Validators: []validator.String{pciID}}, Doc: doc}
}

var virtiofsGroup = &settings.Group{
	Name: "virtiofs", Slots: virtiofsSlots,
	Doc: "The node's directories that the VM shares through virtiofs, by slot (`virtiofs0` to `virtiofs9`). What is not named here stays as it is.",
	Settings: []settings.Setting{
		{
			Name: "mapping", Source: settings.Required, Place: settings.Prop{Name: "dirid", Bare: true}, Form: settings.Text{Validators: []validator.String{mappingName}},
			Doc: "The resource mapping of a directory. Needs the privilege `Mapping.Use` on `/mapping/dir/…`.",
		},
		{
			Name: "cache", Place: settings.Prop{Name: "cache"}, Absent: types.StringValue("auto"), Form: settings.Choice("auto", "always", "metadata", "never"),
			Doc: "What the guest may cache: `auto`, `always`, `metadata` or `never`. PVE's default is `auto`.",
		},
		{
			Name: "direct_io", Place: settings.Prop{Name: "direct-io"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the guest's O_DIRECT is honoured. PVE's default is `false`.",
		},
		{
			Name: "expose_xattr", Place: settings.Prop{Name: "expose-xattr"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the guest sees extended attributes. PVE's default is `false`.",
		},
		{
			Name: "expose_acl", Place: settings.Prop{Name: "expose-acl"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the guest sees ACLs, and with them extended attributes. PVE's default is `false`.",
		},
	},
}

var efiGroup = &settings.Group{
	Name: "efi_disk", Device: "efidisk0",
	Doc: "The disk that holds the UEFI firmware's variables, for `bios = \"ovmf\"`. It is made where the template has none.",
	Settings: []settings.Setting{
		volumeStorageSetting, removalSetting,
		{
			Name: "type", Place: settings.Prop{Name: "efitype"}, Absent: types.StringValue("2m"), Form: settings.Choice("2m", "4m"), Fixed: true,
			Doc: "The size class of the variables: `4m`, which Secure Boot wants, or `2m`. It cannot be changed afterwards. PVE's default is `2m`.",
		},
		{
			Name: "pre_enrolled_keys", Place: settings.Prop{Name: "pre-enrolled-keys"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Fixed: true,
			Doc: "Whether the disk is made with Microsoft's and the distributions' keys, and with Secure Boot on; `4m` only. " +
				"It cannot be changed afterwards. PVE's default is `false`.",
		},
	},
}

var tpmGroup = &settings.Group{
	Name: "tpm", Device: "tpmstate0",
	Doc: "The TPM. It is added where the template has none.",
	Settings: []settings.Setting{
		volumeStorageSetting, removalSetting,
		{
			Name: "version", Place: settings.Prop{Name: "version"}, Absent: types.StringValue("v1.2"), Form: settings.Choice("v1.2", "v2.0"), Fixed: true,
			Doc: "The version: `v2.0`, which Windows 11 wants, or `v1.2`. It cannot be changed afterwards. PVE's default is `v1.2`.",
		},
	},
}

var volumeStorageSetting = settings.Setting{
	Name: "storage", Source: settings.Structural, Place: volumeStorage{}, Live: settings.AtOnce,
	Form: settings.Text{Validators: []validator.String{framework.StorageName()}},
	Doc:  "The storage that holds the volume; a new one is made on the VM's `storage` unless set. Another storage moves the volume.",
}

var removalSetting = guests.OnRemoval("What becomes of the volume when it is no longer configured: `detach` (default) keeps it as an unused disk of the VM, " +
	"`destroy` removes it with its data.")
