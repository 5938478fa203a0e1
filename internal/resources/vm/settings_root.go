package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// The groups of this file are root's whole: PVE lists none of their keys among
// those that a privilege is enough for.

var parallelGroup = &settings.Group{
	Name: "parallel", Slots: parallelSlots,
	Doc: "The node's parallel ports that the VM has, by slot (`parallel0` to `parallel2`). What is not named here stays as it is.",
	Settings: []settings.Setting{{
		Name: "device", Source: settings.Required, Place: settings.Whole{}, Root: settings.Always,
		Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(/dev/parport\d+|/dev/usb/lp\d+)$`), "is a device such as /dev/parport0")}},
		Doc:  "The node's device, such as `/dev/parport0` or `/dev/usb/lp0`.",
	}},
}

var sharedMemoryGroup = &settings.Group{
	Name: "shared_memory", Device: "ivshmem",
	Doc: "Memory that the VM shares with other VMs of its node or with the node itself (ivshmem).",
	Settings: []settings.Setting{
		{
			Name: "size_mib", Source: settings.Required, Key: "ivshmem", Place: settings.Prop{Name: "size", Alone: true}, Root: settings.Always, Form: settings.Integer{Least: 1},
			Doc: "Its size in MiB.",
		},
		{
			Name: "name", Key: "ivshmem", Place: settings.Prop{Name: "name"}, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[a-zA-Z0-9-]+$`), "has letters, digits and -")}},
			Doc:  "The name of its file, which PVE puts `pve-shm-` before. Left out, it is the vmid.",
		},
	},
}

var spiceGroup = &settings.Group{
	Name: "spice_enhancements",
	Doc:  "What the SPICE console can do beside showing the display.",
	Settings: []settings.Setting{
		{
			Name: "folder_sharing", Key: "spice_enhancements", Place: settings.Prop{Name: "foldersharing"}, Root: settings.Always, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the console's machine may share folders. PVE's default is `false`.",
		},
		{
			Name: "video_streaming", Key: "spice_enhancements", Place: settings.Prop{Name: "videostreaming"}, Root: settings.Always,
			Form: settings.Choice("off", "all", "filter"), Absent: types.StringValue("off"),
			Doc: "Which parts of the display are compressed as video: `all`, those that look like one (`filter`) or none (`off`). PVE's default is `off`.",
		},
	},
}

var sevGroup = &settings.Group{
	Name: "amd_sev", Device: "amd-sev",
	Doc: "Memory encryption by AMD processors.",
	Settings: []settings.Setting{
		{
			Name: "type", Source: settings.Required, Key: "amd-sev", Place: settings.Prop{Name: "type", Bare: true, Alone: true}, Root: settings.Always, Form: settings.Choice("std", "es", "snp"),
			Doc: "The technology: `std` (SEV), `es` (SEV-ES) or `snp` (SEV-SNP).",
		},
		sevSetting("no_debug", "no-debug", false, "Whether debugging of the guest is forbidden. PVE's default is `false`."),
		sevSetting("no_key_sharing", "no-key-sharing", false, "Whether other guests may not share its key. PVE's default is `false`."),
		sevSetting("allow_smt", "allow-smt", true, "Whether the node may run several threads a core. Only `snp` knows it. PVE's default is `true`."),
		sevSetting("kernel_hashes", "kernel-hashes", false, "Whether hashes of the kernel are measured. PVE's default is `false`."),
	},
}

func sevSetting(name, property string, absent bool, doc string) settings.Setting {
	return settings.Setting{
		Name: name, Key: "amd-sev", Place: settings.Prop{Name: property}, Root: settings.Always, Form: settings.Boolean{}, Absent: types.BoolValue(absent), Doc: doc,
	}
}

var tdxGroup = &settings.Group{
	Name: "intel_tdx", Device: "intel-tdx",
	Doc: "Memory encryption by Intel processors (TDX).",
	Settings: []settings.Setting{
		{
			Name: "type", Source: settings.Required, Key: "intel-tdx", Place: settings.Prop{Name: "type", Bare: true, Alone: true}, Root: settings.Always, Form: settings.Choice("tdx"), Since: 9,
			Doc: "The technology: `tdx`.",
		},
		{
			Name: "attestation", Source: settings.Required, Key: "intel-tdx", Place: settings.Prop{Name: "attestation"}, Root: settings.Always, Form: settings.Boolean{}, Since: 9,
			Doc: "Whether the guest can prove to others what it is, through a service of the node.",
		},
		{
			Name: "vsock_cid", Key: "intel-tdx", Place: settings.Prop{Name: "vsock-cid"}, Root: settings.Always, Form: settings.Integer{Least: 2}, Absent: types.Int64Value(2), Since: 9,
			Doc: "The address of that service. PVE's default is 2.",
		},
		{
			Name: "vsock_port", Key: "intel-tdx", Place: settings.Prop{Name: "vsock-port"}, Root: settings.Always, Form: settings.Integer{}, Absent: types.Int64Value(4050), Since: 9,
			Doc: "The port of that service. PVE's default is 4050.",
		},
	},
}
