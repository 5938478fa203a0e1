package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
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

	waitNone  = "none"
	waitAgent = "agent"

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
			name: "name", source: required, key: "name", place: whole{},
			form: text{validators: []validator.String{framework.DNSName()}},
			doc:  "The VM's name, DNS labels. It identifies nothing: two guests may have the same.",
		},
		{
			name: "description", key: "description", place: whole{},
			form: text{fold: withoutTrailingBlanks},
			doc: "The VM's notes, in Markdown, without the line that marks the guest as this provider's " +
				"(`terraform-proxmox-uid=…`), which counts towards PVE's 8,192 characters.",
		},
		{
			name: "tags", key: "tags", place: whole{},
			form: textSet{spelling: tagList, validators: []validator.Set{setvalidator.ValueStringsAre(framework.Tag())}},
			doc:  "The VM's tags, in lower case.",
		},
		{
			name: "on_boot", key: "onboot", place: whole{}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the VM starts when its node does. PVE's default is `false`.",
		},
		{
			name: "wait_for", source: local, absent: types.StringValue(waitNone), form: choice(waitNone, waitAgent),
			doc: "What the apply that starts the VM waits for: `none` (default), or `agent`, until the guest agent answers.",
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
	},
	groups: []*group{cpuGroup, memoryGroup, agentGroup, stopGroup, disksGroup, networkGroup, cloudInitGroup},
}

var cpuGroup = &group{
	name: "cpu",
	doc:  "The virtual processors. What is not set is inherited from the template.",
	settings: []setting{
		{
			name: "cores", key: "cores", place: whole{}, absent: types.Int64Value(1),
			form: integer{validators: []validator.Int64{int64validator.Between(1, 8192)}},
			doc:  "Cores per socket. PVE's default is 1.",
		},
		{
			name: "sockets", key: "sockets", place: whole{}, absent: types.Int64Value(1),
			form: integer{validators: []validator.Int64{int64validator.Between(1, 16)}},
			doc:  "Sockets. PVE's default is 1.",
		},
		{
			name: "type", key: "cpu", place: prop{name: "cputype", bare: true}, absent: types.StringValue("kvm64"),
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`), "is a CPU model such as host or x86-64-v2-AES")}},
			doc:  "The emulated model, such as `host` or `x86-64-v2-AES`. PVE's default is `kvm64`.",
		},
	},
}

var memoryGroup = &group{
	name: "memory",
	doc:  "The memory. What is not set is inherited from the template.",
	settings: []setting{
		{
			name: "mib", key: "memory", place: prop{name: "current", bare: true}, absent: types.Int64Value(512),
			form: integer{validators: []validator.Int64{int64validator.AtLeast(16)}},
			doc:  "Memory in MiB. PVE's default is 512.",
		},
		{
			name: "balloon_mib", key: "balloon", place: whole{},
			form: integer{validators: []validator.Int64{int64validator.AtLeast(0)}},
			doc:  "The least memory in MiB that ballooning may leave the VM; 0 takes the balloon device away.",
		},
	},
}

var agentGroup = &group{
	name: "agent",
	doc:  "The QEMU guest agent. It reports the addresses; a VM without it is fine and reports the configured ones.",
	settings: []setting{
		{
			name: "enabled", key: "agent", place: prop{name: "enabled", bare: true, off: "0"}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether PVE talks to an agent inside the VM. PVE's default is `false`.",
		},
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

// choice is one of some words.
func choice(words ...string) text {
	return text{validators: []validator.String{stringvalidator.OneOf(words...)}}
}

var (
	diskSlot    = regexp.MustCompile(`^(scsi|virtio|sata|ide)\d+$`)
	networkSlot = regexp.MustCompile(`^net(\d+)$`)
	otherDevice = regexp.MustCompile(`^(efidisk|tpmstate|unused)\d+$`)
	ipconfigKey = regexp.MustCompile(`^ipconfig(\d+)$`)
)

var diskSlots = &slots{
	accepts: framework.DiskSlot(),
	key:     func(slot string) string { return slot },
	real: func(key, value string) (string, bool) {
		if !diskSlot.MatchString(key) {
			return "", false
		}
		disk, err := proxmox.ParseDisk(value)
		return key, err == nil && !disk.IsCDROM()
	},
}

var networkSlots = &slots{
	accepts: framework.NetworkSlot(),
	key:     func(slot string) string { return slot },
	real:    func(key, _ string) (string, bool) { return key, networkSlot.MatchString(key) },
}

var interfaceSlots = &slots{
	accepts: framework.NetworkSlot(),
	key:     func(slot string) string { return "ipconfig" + strings.TrimPrefix(slot, "net") },
	real: func(key, _ string) (string, bool) {
		match := ipconfigKey.FindStringSubmatch(key)
		if match == nil {
			return "", false
		}
		return "net" + match[1], true
	},
}
