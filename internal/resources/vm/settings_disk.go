package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var disksGroup = &group{
	name: "disks", slots: diskSlots, live: hotplugDisk,
	doc: "The disks, by slot (`scsi0`, `virtio0`, `sata0`, `ide0` …). A slot that the template has is that disk, grown to `size_gib`; " +
		"any other is a new, empty disk. What is not named here stays as it is.",
	settings: []setting{
		{
			name: "size_gib", source: structural, place: prop{name: "size"}, live: atOnce,
			form: gib{validators: []validator.Float64{float64validator.AtLeast(1.0 / 1024), wholeMiB{}}},
			doc:  "The size in GiB, whole MiB. A disk only grows: a smaller size is refused in the plan.",
		},
		volumeStorageSetting, removalSetting,
		{
			name: "format", source: structural, place: diskFormat{}, form: choice("raw", "qcow2", "vmdk"), live: atOnce,
			doc: "The format of the volume, where the storage knows several. A new disk has the storage's default unless set. Another format copies the volume.",
		},
		{
			name: "cache", place: prop{name: "cache"}, absent: types.StringValue("none"),
			form: choice("none", "writethrough", "writeback", "unsafe", "directsync"),
			doc:  "The cache mode: `none`, `writethrough`, `writeback`, `directsync` or `unsafe`. PVE's default is `none`.",
		},
		{
			name: "aio", place: prop{name: "aio"}, form: choice("native", "threads", "io_uring"),
			doc: "How the node reads and writes: `io_uring`, `native` or `threads`. Left out, PVE decides by the storage.",
		},
		{
			name: "discard", place: prop{name: "discard"}, form: boolean{on: "on", off: "ignore"}, absent: types.BoolValue(false),
			doc: "Whether the guest's discards reach the storage. PVE's default is `false`.",
		},
		{
			name: "detect_zeroes", place: prop{name: "detect_zeroes"}, form: boolean{}, live: atOnce,
			doc: "Whether writes of nothing but zeroes are turned into discards. Left out, they are where `discard` is on.",
		},
		{
			name: "ssd", place: prop{name: "ssd"}, form: boolean{}, absent: types.BoolValue(false), buses: []string{"scsi", "sata", "ide"},
			doc: "Whether the guest sees an SSD; not for `virtio`. PVE's default is `false`.",
		},
		{
			name: "iothread", place: prop{name: "iothread"}, form: boolean{}, absent: types.BoolValue(false), buses: []string{"scsi", "virtio"},
			doc: "Whether the disk has a thread of its own; `scsi` (with the controller `virtio-scsi-single`) and `virtio` only. PVE's default is `false`.",
		},
		{
			name: "queues", place: prop{name: "queues"}, form: integer{least: 2}, buses: []string{"scsi"},
			doc: "How many queues the disk has; `scsi` only.",
		},
		{
			name: "read_only", place: prop{name: "ro"}, form: boolean{}, absent: types.BoolValue(false), buses: []string{"scsi", "virtio"},
			doc: "Whether the guest may only read; `scsi` and `virtio` only. PVE's default is `false`.",
		},
		{
			name: "backup", place: prop{name: "backup"}, form: boolean{}, absent: types.BoolValue(true), live: atOnce,
			doc: "Whether backups include the disk. PVE's default is `true`.",
		},
		{
			name: "replicate", place: prop{name: "replicate"}, form: boolean{}, absent: types.BoolValue(true), live: atOnce,
			doc: "Whether replication jobs include the disk. PVE's default is `true`.",
		},
		{
			name: "shared", place: prop{name: "shared"}, form: boolean{}, absent: types.BoolValue(false), live: atOnce,
			doc: "Whether PVE takes the volume to be on every node, though its storage does not say so. PVE's default is `false`.",
		},
		{
			name: "serial", place: prop{name: "serial"}, live: atOnce,
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]{1,60}$`), "has at most 60 letters, digits and -_.!~*'() or is percent-encoded")}},
			doc:  "The serial number that the guest sees, percent-encoded.",
		},
		{
			name: "wwn", place: prop{name: "wwn"}, buses: []string{"scsi", "sata", "ide"}, live: atOnce,
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^0x[0-9a-fA-F]{16}$`), "is 0x and 16 hexadecimal digits")}},
			doc:  "The worldwide name that the guest sees, such as `0x5000c50015ea71aa`; not for `virtio`.",
		},
		{
			name: "vendor", place: prop{name: "vendor"}, buses: []string{"scsi"},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9_ -]{1,8}$`), "has at most 8 letters, digits, blanks, - and _")}},
			doc:  "The vendor that the guest sees; `scsi` only.",
		},
		{
			name: "product", place: prop{name: "product"}, buses: []string{"scsi"},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9_ -]{1,16}$`), "has at most 16 letters, digits, blanks, - and _")}},
			doc:  "The product that the guest sees; `scsi` only.",
		},
		{
			name: "read_error", place: prop{name: "rerror"}, form: choice("ignore", "report", "stop"), live: atOnce,
			doc: "What happens when the node cannot read: `report` it to the guest, `ignore` it or `stop` the VM.",
		},
		{
			name: "write_error", place: prop{name: "werror"}, form: choice("enospc", "ignore", "report", "stop"), live: atOnce,
			doc: "What happens when the node cannot write: `enospc` stops the VM where the storage is full and reports the rest, `report`, `ignore` or `stop`.",
		},
	},
	groups: []*group{limitsGroup},
}

// limitsGroup bounds a disk's operations and bandwidth. A total excludes
// separate bounds of reads and writes, and a burst needs what it exceeds.
var limitsGroup = &group{
	name: "limits",
	doc: "Bounds of the disk's bandwidth (MB/s) and operations (per second): in all, or of reads and writes apart. " +
		"A `_max` is how far a burst may go, its `_max_seconds` for how long.",
	settings: []setting{
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

func bandwidthSetting(name, property, doc string) setting {
	return setting{name: name, place: prop{name: property}, form: number{}, live: atOnce, doc: doc}
}

func operationsSetting(name, property, doc string) setting {
	return setting{name: name, place: prop{name: property}, form: integer{}, live: atOnce, doc: doc}
}

func burstSetting(name, property, of string) setting {
	return setting{
		name: name, place: prop{name: property}, form: integer{least: 1}, live: atOnce,
		doc: "How long a burst may last, in seconds; needs `" + of + "`.",
	}
}
