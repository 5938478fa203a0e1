package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

// defaultModel is the model of a network device that says none.
const defaultModel = "virtio"

// Ways in which cloud-init gives an interface its address.
const (
	methodDHCP = "dhcp"
	methodAuto = "auto"
)

var networkGroup = &group{
	name: "network", slots: networkSlots, live: hotplugNetwork,
	doc: "The network devices, by slot (`net0` …). A slot that the template has is that device; any other is a new one. " +
		"What is not named here stays as it is.",
	settings: []setting{
		{
			name: "model", place: nicModel{}, live: hotplugNetwork, absent: types.StringValue(defaultModel),
			form: choice("virtio", "e1000", "e1000e", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "rtl8139", "vmxnet3",
				"i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet"),
			doc: "The emulated model; a new device is `virtio` unless set.",
		},
		{
			name: "mac_address", place: nicMAC{}, live: hotplugNetwork, kept: true,
			form: text{fold: strings.ToUpper, validators: []validator.String{framework.MAC()}},
			doc:  "The address. PVE gives each new device one.",
		},
		{
			name: "bridge", place: prop{name: "bridge"}, live: atOnce, kept: true,
			form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			doc:  "The bridge or VNet that the device is attached to; a new device takes the provider's default unless set.",
		},
		{
			name: "vlan", place: prop{name: "tag"}, form: integer{least: 1, most: 4094}, live: atOnce,
			doc: "The VLAN that the bridge puts the device into.",
		},
		{
			name: "trunks", place: prop{name: "trunks"}, live: atOnce,
			form: textSet{spelling: semicolonList, validators: []validator.Set{setvalidator.ValueStringsAre(
				stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?$`), "is a VLAN or a range such as 20-29"))}},
			doc: "The VLANs that reach the guest with their tags, such as `[\"10\", \"20-29\"]`.",
		},
		{
			name: "firewall", place: prop{name: "firewall"}, live: atOnce, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether PVE's firewall filters the device. PVE's default is `false`.",
		},
		{
			name: "link_down", place: prop{name: "link_down"}, live: atOnce, form: boolean{}, absent: types.BoolValue(false),
			doc: "Whether the cable is pulled. PVE's default is `false`.",
		},
		{
			name: "rate_mbps", place: prop{name: "rate"}, form: number{}, live: atOnce,
			doc: "How much the device may carry, in MB/s.",
		},
		{
			name: "mtu", place: prop{name: "mtu"}, form: integer{least: 1, most: 65520}, live: hotplugNetwork,
			doc: "The MTU that the guest sees, `virtio` only; 1 is the bridge's.",
		},
		{
			name: "queues", place: prop{name: "queues"}, form: integer{most: 64}, live: hotplugNetwork,
			doc: "How many queues the device has, for several processors.",
		},
		{
			name: "ipv4_addresses", source: reported, form: textList{spelling: blankList},
			doc: "The IPv4 addresses, without prefix length: those that the guest agent reports, else the one that cloud-init configures.",
		},
		{
			name: "ipv6_addresses", source: reported, form: textList{spelling: blankList},
			doc: "The IPv6 addresses, likewise; link-local ones are left out.",
		},
	},
}

var cloudInitGroup = &group{
	name: "cloud_init", optional: true,
	doc: "What cloud-init sets up in the guest. PVE passes it in a drive, which is added where the template has none. " +
		"What is in force shows in `cloud_init_effective`.",
	settings: []setting{
		{
			name: "user", live: atOnce, key: "ciuser", place: whole{},
			form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			doc:  "The user that is set up instead of the image's default one.",
		},
		{
			name: "ssh_keys", live: atOnce, key: "sshkeys", place: whole{}, form: textList{spelling: keyList},
			doc: "The user's public SSH keys.",
		},
		{
			name: "upgrade", live: atOnce, key: "ciupgrade", place: whole{}, form: boolean{}, absent: types.BoolValue(true),
			doc: "Whether all packages are upgraded at the first boot. PVE's default is `true`.",
		},
		{
			name: "password_wo", live: atOnce, source: secret,
			form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			doc:  "The user's password, write-only: it is in no state and no plan. It is set when the VM is made and when `password_wo_version` changes.",
		},
		{
			name: "password_wo_version", source: local, form: integer{}, imported: types.Int64Value(0),
			doc: "Change it to set `password_wo` again. 0 after an import.",
		},
	},
	groups: []*group{
		{
			name: "dns",
			doc:  "The resolver. PVE takes the node's own where nothing is set.",
			settings: []setting{
				{
					name: "servers", live: atOnce, key: "nameserver", place: whole{},
					form: textList{spelling: blankList, validators: []validator.List{listvalidator.ValueStringsAre(framework.IP())}},
					doc:  "The name servers' addresses.",
				},
				{
					name: "domain", live: atOnce, key: "searchdomain", place: whole{},
					form: text{validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
					doc:  "The search domain.",
				},
			},
		},
		{
			name: "interfaces", slots: interfaceSlots,
			doc: "The addresses, by network device (`net0` …).",
			groups: []*group{
				{
					name: "ipv4", arrange: arrangeAddress,
					doc: "The IPv4 address.",
					settings: []setting{
						{
							name: "address", live: atOnce, place: ipAddress{prop{name: "ip"}},
							form: text{validators: []validator.String{framework.IPv4CIDR()}},
							doc:  "A static address with its prefix length, such as `10.0.0.11/24`.",
						},
						{
							name: "gateway", live: atOnce, place: prop{name: "gw"},
							form: text{validators: []validator.String{framework.IPv4()}},
							doc:  "The gateway of a static address.",
						},
						{
							name: "method", live: atOnce, place: ipMethod{prop: prop{name: "ip"}, gateway: "gw"}, form: choice(methodStatic, methodDHCP),
							doc: "How the address is had: `static`, which an `address` implies, or `dhcp`.",
						},
					},
				},
				{
					name: "ipv6", arrange: arrangeAddress,
					doc: "The IPv6 address.",
					settings: []setting{
						{
							name: "address", live: atOnce, place: ipAddress{prop{name: "ip6"}},
							form: text{validators: []validator.String{framework.IPv6CIDR()}},
							doc:  "A static address with its prefix length, such as `2001:db8::11/64`.",
						},
						{
							name: "gateway", live: atOnce, place: prop{name: "gw6"},
							form: text{validators: []validator.String{framework.IPv6()}},
							doc:  "The gateway of a static address.",
						},
						{
							name: "method", live: atOnce, place: ipMethod{prop: prop{name: "ip6"}, gateway: "gw6"}, form: choice(methodStatic, methodDHCP, methodAuto),
							doc: "How the address is had: `static`, which an `address` implies, `dhcp`, or `auto` (SLAAC).",
						},
					},
				},
			},
		},
	},
}

// arrangeAddress makes address and method agree: a configured address is
// static, another configured method leaves no address and no gateway.
func arrangeAddress(config, planned map[string]attr.Value) {
	switch {
	case !isNull(config["address"]) && isNull(config["method"]):
		planned["method"] = types.StringValue(methodStatic)
	case isKnown(config["method"]) && textOf(config["method"]) != methodStatic && isNull(config["address"]):
		planned["address"] = types.StringNull()
		if isNull(config["gateway"]) {
			planned["gateway"] = types.StringNull()
		}
	}
}
