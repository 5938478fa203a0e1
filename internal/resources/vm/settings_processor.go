package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// defaultCPU is the model that PVE takes where the configuration names none. It
// is written where PVE requires one beside another property.
const defaultCPU = "kvm64"

var cpuType = prop{name: "cputype", bare: true, off: defaultCPU}

var cpuGroup = &group{
	name: "cpu",
	doc:  "The virtual processors. What is not set is inherited from the template.",
	settings: []setting{
		{
			name: "cores", key: "cores", place: whole{}, absent: types.Int64Value(1), form: integer{least: 1},
			doc: "Cores per socket. PVE's default is 1.",
		},
		{
			name: "sockets", key: "sockets", place: whole{}, absent: types.Int64Value(1), form: integer{least: 1},
			doc: "Sockets. PVE's default is 1.",
		},
		{
			name: "vcpus", key: "vcpus", place: whole{}, form: integer{least: 1}, live: hotplugCPU,
			doc: "How many of the processors are plugged in, at most `cores` times `sockets`. Left out, all are.",
		},
		{
			name: "type", key: "cpu", place: cpuType, absent: types.StringValue(defaultCPU),
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`), "is a CPU model such as host or x86-64-v2-AES")}},
			doc:  "The emulated model, such as `host` or `x86-64-v2-AES`. PVE's default is `kvm64`.",
		},
		{
			name: "flags", key: "cpu", place: prop{name: "flags", head: &cpuType},
			form: textSet{spelling: semicolonList, validators: []validator.Set{setvalidator.ValueStringsAre(
				stringvalidator.RegexMatches(regexp.MustCompile(`^[+-][A-Za-z0-9_.-]+$`), "is + or - and a flag, such as +aes"))}},
			doc: "Flags that the model gains or loses, such as `[\"+aes\", \"-pcid\"]`. PVE names those that it allows.",
		},
		{
			name: "hidden", key: "cpu", place: prop{name: "hidden", head: &cpuType}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the guest is not told that it is virtual. PVE's default is `false`.",
		},
		{
			name: "hv_vendor_id", key: "cpu", place: prop{name: "hv-vendor-id", head: &cpuType},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9]{1,12}$`), "has at most 12 letters and digits")}},
			doc:  "The Hyper-V vendor id that Windows is shown.",
		},
		{
			name: "phys_bits", key: "cpu", place: prop{name: "phys-bits", head: &cpuType},
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(host|[89]|[1-5][0-9]|6[0-4])$`), "is host or a number from 8 to 64")}},
			doc:  "The width of physical addresses in bits, from `8` to `64`, or `host`.",
		},
		{
			name: "limit", key: "cpulimit", place: whole{}, absent: types.Float64Value(0), form: number{most: 128}, live: atOnce,
			doc: "How much processor time the VM may use, in cores; 0 is no limit. PVE's default is 0.",
		},
		{
			name: "units", key: "cpuunits", place: whole{}, form: integer{least: 1, most: 262144}, live: atOnce,
			doc: "The VM's weight among others that want processor time. PVE's default is 100 (1024 with cgroup v1).",
		},
		{
			name: "numa", key: "numa", place: whole{}, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the guest sees NUMA nodes. PVE's default is `false`.",
		},
		{
			name: "affinity", key: "affinity", place: whole{}, root: always,
			form: text{validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?(,\d+(-\d+)?)*$`), "is a list of cores such as 0,5,8-11")}},
			doc:  "The node's cores that the VM may run on, such as `0,5,8-11`.",
		},
	},
}

var memorySize = prop{name: "current", bare: true}

var memoryGroup = &group{
	name: "memory",
	doc:  "The memory. What is not set is inherited from the template.",
	settings: []setting{
		{
			name: "mib", key: "memory", place: memorySize, absent: types.Int64Value(512), form: integer{least: 16}, live: hotplugMemory,
			doc: "Memory in MiB. PVE's default is 512.",
		},
		{
			name: "balloon_mib", key: "balloon", place: whole{}, form: integer{}, live: mostlyAtOnce,
			doc: "The least memory in MiB that ballooning may leave the VM; 0 takes the balloon device away, which waits for the next start.",
		},
		{
			name: "shares", key: "shares", place: whole{}, absent: types.Int64Value(1000), form: integer{most: 50000}, live: atOnce,
			doc: "The VM's weight among others that ballooning gives memory to; 0 turns automatic ballooning off. PVE's default is 1000.",
		},
		{
			name: "hugepages", key: "hugepages", place: whole{}, form: choice("any", "2", "1024"), root: always,
			doc: "The size of huge pages in MiB, `2` or `1024`, or `any`. Wants `cpu.numa`.",
		},
		{
			name: "keep_hugepages", key: "keephugepages", place: whole{}, form: boolean{}, absent: types.BoolValue(false), root: always,
			doc: "Whether huge pages stay reserved when the VM stops. PVE's default is `false`.",
		},
		{
			name: "allow_ksm", key: "allow-ksm", place: whole{}, form: boolean{}, absent: types.BoolValue(true), since: 9,
			doc: "Whether the node may share pages that are alike in several VMs. PVE's default is `true`.",
		},
	},
}

// coreList is a list of cores or of NUMA nodes.
var coreList = textSet{spelling: semicolonList, validators: []validator.Set{setvalidator.ValueStringsAre(
	stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?$`), "is a number or a range such as 0-3"))}}

var numaGroup = &group{
	name: "numa_nodes", slots: numaSlots,
	doc: "The guest's NUMA nodes, by slot (`numa0` …), where PVE shall not make them up itself. Wants `cpu.numa`.",
	settings: []setting{
		{
			name: "cpus", source: required, place: prop{name: "cpus"}, form: coreList,
			doc: "The VM's processors in the node, such as `[\"0-3\"]`.",
		},
		{
			name: "memory_mib", place: prop{name: "memory"}, form: number{},
			doc: "The node's share of the memory, in MiB.",
		},
		{
			name: "host_nodes", place: prop{name: "hostnodes"}, form: coreList,
			doc: "The node's own NUMA nodes to take the memory from.",
		},
		{
			name: "policy", place: prop{name: "policy"}, form: choice("preferred", "bind", "interleave"),
			doc: "How strictly: `preferred`, `bind` or `interleave`.",
		},
	},
}
