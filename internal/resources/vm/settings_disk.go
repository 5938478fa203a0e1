package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

var disksGroup = &settings.Group{
	Name: "disks", Slots: diskSlots, Live: settings.HotplugDisk,
	Doc: "The disks, by slot (`scsi0`, `virtio0`, `sata0`, `ide0` …). A slot that the template has is that disk, grown to `size_gib`; " +
		"any other is a new, empty disk. What is not named here stays as it is.",
	Settings: []settings.Setting{
		{
			Name: "size_gib", Source: settings.Structural, Place: settings.Prop{Name: "size"}, Live: settings.AtOnce,
			Form: settings.Gib{Validators: []validator.Float64{float64validator.AtLeast(1.0 / 1024), settings.WholeMiB{}}},
			Doc:  "The size in GiB, whole MiB. A disk only grows: a smaller size is refused in the plan.",
		},
		volumeStorageSetting, removalSetting,
		{
			Name: "attach", Source: settings.Local,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*:[^,]+$`), "is the volume id of a disk, such as local-lvm:vm-20007-disk-1")}},
			Doc: "An unused volume of the VM's, such as `local-lvm:vm-20007-disk-1`, that a new slot gets instead of an empty disk; `devices` shows them as `unused0` and so on. " +
				"Once it is attached the disk can be grown and moved, and this says nothing any more.",
		},
		{
			Name: "format", Source: settings.Structural, Place: diskFormat{}, Form: settings.Choice("raw", "qcow2", "vmdk"), Live: settings.AtOnce,
			Doc: "The format of the volume, where the storage knows several. A new disk has the storage's default unless set. Another format copies the volume.",
		},
		{
			Name: "cache", Place: settings.Prop{Name: "cache"}, Absent: types.StringValue("none"),
			Form: settings.Choice("none", "writethrough", "writeback", "unsafe", "directsync"),
			Doc:  "The cache mode: `none`, `writethrough`, `writeback`, `directsync` or `unsafe`. PVE's default is `none`.",
		},
		{
			Name: "aio", Place: settings.Prop{Name: "aio"}, Form: settings.Choice("native", "threads", "io_uring"),
			Doc: "How the node reads and writes: `io_uring`, `native` or `threads`. Left out, PVE decides by the storage.",
		},
		{
			Name: "discard", Place: settings.Prop{Name: "discard"}, Form: settings.Boolean{On: "on", Off: "ignore"}, Absent: types.BoolValue(false),
			Doc: "Whether the guest's discards reach the storage. PVE's default is `false`.",
		},
		{
			Name: "detect_zeroes", Place: settings.Prop{Name: "detect_zeroes"}, Form: settings.Boolean{}, Live: settings.Unnoticed,
			Doc: "Whether writes of nothing but zeroes are turned into discards. Left out, they are where `discard` is on.",
		},
		{
			Name: "ssd", Place: settings.Prop{Name: "ssd"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Buses: []string{"scsi", "sata", "ide"},
			Doc: "Whether the guest sees an SSD; not for `virtio`. PVE's default is `false`.",
		},
		{
			Name: "iothread", Place: settings.Prop{Name: "iothread"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Buses: []string{"scsi", "virtio"},
			Doc: "Whether the disk has a thread of its own; `scsi` (with the controller `virtio-scsi-single`) and `virtio` only. PVE's default is `false`.",
		},
		{
			Name: "queues", Place: settings.Prop{Name: "queues"}, Form: settings.Integer{Least: 2}, Buses: []string{"scsi"},
			Doc: "How many queues the disk has; `scsi` only.",
		},
		{
			Name: "read_only", Place: settings.Prop{Name: "ro"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Buses: []string{"scsi", "virtio"},
			Doc: "Whether the guest may only read; `scsi` and `virtio` only. PVE's default is `false`.",
		},
		{
			Name: "scsi_block", Place: settings.Prop{Name: "scsiblock"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Buses: []string{"scsi"}, Live: settings.Unnoticed,
			Doc: "Whether the guest's SCSI commands reach a block device of the node as they are; `scsi` only. PVE's default is `false`.",
		},
		{
			Name: "snapshot", Place: settings.Prop{Name: "snapshot"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.Unnoticed,
			Doc: "Whether QEMU forgets what the guest has written when the VM stops. PVE's default is `false`.",
		},
		{
			Name: "backup", Place: settings.Prop{Name: "backup"}, Form: settings.Boolean{}, Absent: types.BoolValue(true), Live: settings.AtOnce,
			Doc: "Whether backups include the disk. PVE's default is `true`.",
		},
		{
			Name: "replicate", Place: settings.Prop{Name: "replicate"}, Form: settings.Boolean{}, Absent: types.BoolValue(true), Live: settings.AtOnce,
			Doc: "Whether replication jobs include the disk. PVE's default is `true`.",
		},
		{
			Name: "shared", Place: settings.Prop{Name: "shared"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.AtOnce,
			Doc: "Whether PVE takes the volume to be on every node, though its storage does not say so. PVE's default is `false`.",
		},
		{
			Name: "serial", Place: settings.Prop{Name: "serial"}, Live: settings.Unnoticed,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]{1,60}$`), "has at most 60 letters, digits and -_.!~*'() or is percent-encoded")}},
			Doc:  "The serial number that the guest sees, percent-encoded.",
		},
		{
			Name: "wwn", Place: settings.Prop{Name: "wwn"}, Buses: []string{"scsi", "sata", "ide"}, Live: settings.Unnoticed,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^0x[0-9a-fA-F]{16}$`), "is 0x and 16 hexadecimal digits")}},
			Doc:  "The worldwide name that the guest sees, such as `0x5000c50015ea71aa`; not for `virtio`.",
		},
		{
			Name: "model", Place: settings.Prop{Name: "model"}, Buses: []string{"ide"}, Live: settings.Unnoticed,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]{1,120}$`), "has at most 120 letters, digits and -_.!~*'() or is percent-encoded")}},
			Doc:  "The model that the guest sees, percent-encoded; `ide` only.",
		},
		{
			Name: "vendor", Place: settings.Prop{Name: "vendor"}, Buses: []string{"scsi"},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9_ -]{1,8}$`), "has at most 8 letters, digits, blanks, - and _")}},
			Doc:  "The vendor that the guest sees; `scsi` only.",
		},
		{
			Name: "product", Place: settings.Prop{Name: "product"}, Buses: []string{"scsi"},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9_ -]{1,16}$`), "has at most 16 letters, digits, blanks, - and _")}},
			Doc:  "The product that the guest sees; `scsi` only.",
		},
		{
			Name: "read_error", Place: settings.Prop{Name: "rerror"}, Form: settings.Choice("ignore", "report", "stop"), Live: settings.Unnoticed,
			Doc: "What happens when the node cannot read: `report` it to the guest, `ignore` it or `stop` the VM.",
		},
		{
			Name: "write_error", Place: settings.Prop{Name: "werror"}, Form: settings.Choice("enospc", "ignore", "report", "stop"), Live: settings.Unnoticed,
			Doc: "What happens when the node cannot write: `enospc` stops the VM where the storage is full and reports the rest, `report`, `ignore` or `stop`.",
		},
	},
	Groups: []*settings.Group{limitsGroup},
}

// limitsGroup bounds a disk's operations and bandwidth. A total excludes
// separate bounds of reads and writes, and a burst needs what it exceeds.
var limitsGroup = &settings.Group{
	Name: "limits",
	Doc: "Bounds of the disk's bandwidth (MB/s) and operations (per second): in all, or of reads and writes apart. " +
		"A `_max` is how far a burst may go, its `_max_seconds` for how long.",
	Settings: []settings.Setting{
		bandwidthSetting("mbps", "mbps", "In all, in MB/s."),
		bandwidthSetting("mbps_max", "mbps_max", "A burst in all, in MB/s; needs `mbps`."),
		burstSetting("mbps_max_seconds", "bps_max_length", "mbps_max"),
		bandwidthSetting("mbps_read", "mbps_rd", "Reads, in MB/s."),
		bandwidthSetting("mbps_read_max", "mbps_rd_max", "A burst of reads, in MB/s; needs `mbps_read`."),
		burstSetting("mbps_read_max_seconds", "bps_rd_max_length", "mbps_read_max"),
		bandwidthSetting("mbps_write", "mbps_wr", "Writes, in MB/s."),
		bandwidthSetting("mbps_write_max", "mbps_wr_max", "A burst of writes, in MB/s; needs `mbps_write`."),
		burstSetting("mbps_write_max_seconds", "bps_wr_max_length", "mbps_write_max"),
		operationsSetting("iops", "iops", "Operations in all, per second."),
		operationsSetting("iops_max", "iops_max", "A burst of operations in all, per second; needs `iops`."),
		burstSetting("iops_max_seconds", "iops_max_length", "iops_max"),
		operationsSetting("iops_read", "iops_rd", "Reads, per second."),
		operationsSetting("iops_read_max", "iops_rd_max", "A burst of reads, per second; needs `iops_read`."),
		burstSetting("iops_read_max_seconds", "iops_rd_max_length", "iops_read_max"),
		operationsSetting("iops_write", "iops_wr", "Writes, per second."),
		operationsSetting("iops_write_max", "iops_wr_max", "A burst of writes, per second; needs `iops_write`."),
		burstSetting("iops_write_max_seconds", "iops_wr_max_length", "iops_write_max"),
	},
}

func bandwidthSetting(name, property, doc string) settings.Setting {
	return settings.Setting{Name: name, Place: settings.Prop{Name: property}, Form: settings.Number{}, Live: settings.AtOnce, Doc: doc}
}

func operationsSetting(name, property, doc string) settings.Setting {
	return settings.Setting{Name: name, Place: settings.Prop{Name: property}, Form: settings.Integer{}, Live: settings.AtOnce, Doc: doc}
}

func burstSetting(name, property, of string) settings.Setting {
	return settings.Setting{
		Name: name, Place: settings.Prop{Name: property}, Form: settings.Integer{Least: 1}, Live: settings.AtOnce,
		Doc: "How long a burst may last, in seconds; needs `" + of + "`.",
	}
}
