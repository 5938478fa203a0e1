package vm

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// defaultCPU is the model that PVE takes where the configuration names none. It
// is written where PVE requires one beside another property.
const defaultCPU = "kvm64"

var cpuType = settings.Prop{Name: "cputype", Bare: true, Off: defaultCPU}

var cpuGroup = &settings.Group{
	Name: "cpu",
	Doc:  "The virtual processors. What is not set is inherited from the template.",
	Settings: []settings.Setting{
		{
			Name: "cores", Key: "cores", Place: settings.Whole{}, Absent: types.Int64Value(1), Form: settings.Integer{Least: 1},
			Doc: "Cores per socket. PVE's default is 1.",
		},
		{
			Name: "sockets", Key: "sockets", Place: settings.Whole{}, Absent: types.Int64Value(1), Form: settings.Integer{Least: 1},
			Doc: "Sockets. PVE's default is 1.",
		},
		{
			Name: "vcpus", Key: "vcpus", Place: settings.Whole{}, Form: settings.Integer{Least: 1}, Live: settings.HotplugCPU,
			Doc: "How many of the processors are plugged in, at most `cores` times `sockets`. Left out, all are.",
		},
		{
			Name: "type", Key: "cpu", Place: cpuType, Absent: types.StringValue(defaultCPU),
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`), "is a CPU model such as host or x86-64-v2-AES")}},
			Doc: "The emulated model, such as `host` or `x86-64-v2-AES`. PVE's default is `kvm64`. " +
				"One of the cluster's own is named `custom-…` and needs the privilege `Mapping.Use` on `/mapping/cpu/…`, in PVE 8 `Sys.Audit` on `/nodes`.",
		},
		{
			Name: "flags", Key: "cpu", Place: settings.Prop{Name: "flags", Head: &cpuType},
			Form: settings.TextSet{Spelling: settings.SemicolonList, Validators: []validator.Set{setvalidator.ValueStringsAre(
				stringvalidator.RegexMatches(regexp.MustCompile(`^[+-][A-Za-z0-9_.-]+$`), "is + or - and a flag, such as +aes"))}},
			Doc: "Flags that the model gains or loses, such as `[\"+aes\", \"-pcid\"]`. PVE names those that it allows.",
		},
		{
			Name: "hidden", Key: "cpu", Place: settings.Prop{Name: "hidden", Head: &cpuType}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the guest is not told that it is virtual. PVE's default is `false`.",
		},
		{
			Name: "hv_vendor_id", Key: "cpu", Place: settings.Prop{Name: "hv-vendor-id", Head: &cpuType},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[A-Za-z0-9]{1,12}$`), "has at most 12 letters and digits")}},
			Doc:  "The Hyper-V vendor id that Windows is shown.",
		},
		{
			Name: "phys_bits", Key: "cpu", Place: settings.Prop{Name: "phys-bits", Head: &cpuType},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(host|[89]|[1-5][0-9]|6[0-4])$`), "is host or a number from 8 to 64")}},
			Doc:  "The width of physical addresses in bits, from `8` to `64`, or `host`.",
		},
		{
			Name: "guest_phys_bits", Key: "cpu", Place: settings.Prop{Name: "guest-phys-bits", Head: &cpuType}, Form: settings.Integer{Least: 32, Most: 64}, Since: 9,
			Doc: "How many bits of physical addresses the guest may use.",
		},
		{
			Name: "level", Key: "cpu", Place: settings.Prop{Name: "level", Head: &cpuType}, Form: settings.Integer{Most: 4294967295}, Since: 9,
			Doc: "The highest basic CPUID leaf that the guest may ask for; 30 helps Windows with Hyper-V on recent Intel processors.",
		},
		{
			Name: "limit", Key: "cpulimit", Place: settings.Whole{}, Absent: types.Float64Value(0), Form: settings.Number{Most: 128}, Live: settings.AtOnce,
			Doc: "How much processor time the VM may use, in cores; 0 is no limit. PVE's default is 0.",
		},
		{
			Name: "units", Key: "cpuunits", Place: settings.Whole{}, Form: settings.Integer{Least: 1, Most: 10000}, Live: settings.AtOnce,
			Doc: "The VM's weight among others that want processor time. PVE's default is 100 (1024 with cgroup v1), and it keeps no more than 10000.",
		},
		{
			Name: "numa", Key: "numa", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the guest sees NUMA nodes. PVE's default is `false`.",
		},
		{
			Name: "affinity", Key: "affinity", Place: settings.Whole{}, Root: settings.Always,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?(,\d+(-\d+)?)*$`), "is a list of cores such as 0,5,8-11")}},
			Doc:  "The node's cores that the VM may run on, such as `0,5,8-11`.",
		},
	},
}

var memorySize = settings.Prop{Name: "current", Bare: true}

var memoryGroup = &settings.Group{
	Name: "memory",
	Doc:  "The memory. What is not set is inherited from the template.",
	Settings: []settings.Setting{
		{
			Name: "mib", Key: "memory", Place: memorySize, Absent: types.Int64Value(512), Form: settings.Integer{Least: 16}, Live: settings.HotplugMemory,
			Doc: "Memory in MiB. PVE's default is 512.",
		},
		{
			Name: "balloon_mib", Key: "balloon", Place: settings.Whole{}, Form: settings.Integer{}, Live: settings.MostlyAtOnce,
			Doc: "The least memory in MiB that ballooning may leave the VM; 0 takes the balloon device away, which waits for the next start.",
		},
		{
			Name: "shares", Key: "shares", Place: settings.Whole{}, Absent: types.Int64Value(1000), Form: settings.Integer{Most: 50000}, Live: settings.AtOnce,
			Doc: "The VM's weight among others that ballooning gives memory to; 0 turns automatic ballooning off. PVE's default is 1000.",
		},
		{
			Name: "hugepages", Key: "hugepages", Place: settings.Whole{}, Form: settings.Choice("any", "2", "1024"), Root: settings.Always,
			Doc: "The size of huge pages in MiB, `2` or `1024`, or `any`. Wants `cpu.numa`.",
		},
		{
			Name: "keep_hugepages", Key: "keephugepages", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Root: settings.Always,
			Doc: "Whether huge pages stay reserved when the VM stops. PVE's default is `false`.",
		},
		{
			Name: "allow_ksm", Key: "allow-ksm", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true), Since: 9,
			Doc: "Whether the node may share pages that are alike in several VMs. PVE's default is `true`.",
		},
	},
}

// coreList is a list of cores or of NUMA nodes.
var coreList = settings.TextSet{Spelling: settings.SemicolonList, Validators: []validator.Set{setvalidator.ValueStringsAre(
	stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?$`), "is a number or a range such as 0-3"))}}

var numaGroup = &settings.Group{
	Name: "numa_nodes", Slots: numaSlots,
	Doc: "The guest's NUMA nodes, by slot (`numa0` …), where PVE shall not make them up itself. Wants `cpu.numa`.",
	Settings: []settings.Setting{
		{
			Name: "cpus", Source: settings.Required, Place: settings.Prop{Name: "cpus"}, Form: coreList,
			Doc: "The VM's processors in the node, such as `[\"0-3\"]`.",
		},
		{
			Name: "memory_mib", Place: settings.Prop{Name: "memory"}, Form: settings.Number{},
			Doc: "The node's share of the memory, in MiB.",
		},
		{
			Name: "host_nodes", Place: settings.Prop{Name: "hostnodes"}, Form: coreList,
			Doc: "The node's own NUMA nodes to take the memory from.",
		},
		{
			Name: "policy", Place: settings.Prop{Name: "policy"}, Form: settings.Choice("preferred", "bind", "interleave"),
			Doc: "How strictly: `preferred`, `bind` or `interleave`.",
		},
	},
}
