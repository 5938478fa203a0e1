package container

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
)

// Ways in which an interface has its address.
const (
	methodDHCP   = "dhcp"
	methodManual = "manual"
	methodAuto   = "auto"
)

var networkGroup = &settings.Group{
	Name: "network", Slots: slotsOf(networkSlot, "net0"),
	Doc: "The network interfaces, by slot (`net0` …). They come, go and change while the container runs.",
	Settings: []settings.Setting{
		{
			Name: "name", Place: settings.Prop{Name: "name"}, Kept: true,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[-_.A-Za-z0-9]+$`), "is the name of an interface such as eth0")}},
			Doc:  "Its name inside the container; `eth0` of `net0` and so on unless set.",
		},
		{
			Name: "mac_address", Place: settings.Prop{Name: "hwaddr"}, Kept: true,
			Form: settings.Text{Fold: strings.ToUpper, Validators: []validator.String{framework.MAC()}},
			Doc:  "The address. PVE gives each new interface one.",
		},
		{
			Name: "bridge", Place: settings.Prop{Name: "bridge"}, Kept: true,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The bridge or VNet that it is attached to; the provider's default unless set.",
		},
		{
			Name: "vlan", Place: settings.Prop{Name: "tag"}, Form: settings.Integer{Least: 1, Most: 4094},
			Doc: "The VLAN that the bridge puts it into.",
		},
		{
			Name: "firewall", Place: settings.Prop{Name: "firewall"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether PVE's firewall filters it. PVE's default is `false`.",
		},
		{
			Name: "rate_mbps", Place: settings.Prop{Name: "rate"}, Form: settings.Number{},
			Doc: "The most that it may transfer, in MB per second; unlimited unless set.",
		},
		{
			Name: "mtu", Place: settings.Prop{Name: "mtu"}, Form: settings.Integer{Least: 64, Most: 65535},
			Doc: "The size of its largest packet in bytes; the bridge's unless set.",
		},
		{
			Name: "link_down", Place: settings.Prop{Name: "link_down"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the cable is pulled. PVE's default is `false`.",
		},
		{
			Name: "ipv4_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "The IPv4 addresses, without prefix length: those that the running container has, else the configured one.",
		},
		{
			Name: "ipv6_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "The IPv6 addresses, likewise; link-local ones are left out.",
		},
	},
	Groups: []*settings.Group{
		{
			Name: "ipv4", Arrange: arrangeAddress, Doc: "The IPv4 address.",
			Settings: []settings.Setting{
				{
					Name: "address", Place: settings.IPAddress{Prop: settings.Prop{Name: "ip"}},
					Form: settings.Text{Validators: []validator.String{framework.IPv4CIDR()}},
					Doc:  "A static address with its prefix length, such as `10.0.0.11/24`.",
				},
				{
					Name: "gateway", Place: settings.Prop{Name: "gw"}, Form: settings.Text{Validators: []validator.String{framework.IPv4()}},
					Doc: "The gateway of a static address.",
				},
				{
					Name: "method", Place: settings.IPMethod{Prop: settings.Prop{Name: "ip"}, Gateway: "gw"},
					Form: settings.Choice(settings.MethodStatic, methodDHCP, methodManual),
					Doc:  "How the address is had: `static`, which an `address` implies, `dhcp`, or `manual`: the container sees to it itself.",
				},
			},
		},
		{
			Name: "ipv6", Arrange: arrangeAddress, Doc: "The IPv6 address.",
			Settings: []settings.Setting{
				{
					Name: "address", Place: settings.IPAddress{Prop: settings.Prop{Name: "ip6"}},
					Form: settings.Text{Validators: []validator.String{framework.IPv6CIDR()}},
					Doc:  "A static address with its prefix length, such as `2001:db8::11/64`.",
				},
				{
					Name: "gateway", Place: settings.Prop{Name: "gw6"}, Form: settings.Text{Validators: []validator.String{framework.IPv6()}},
					Doc: "The gateway of a static address.",
				},
				{
					Name: "method", Place: settings.IPMethod{Prop: settings.Prop{Name: "ip6"}, Gateway: "gw6"},
					Form: settings.Choice(settings.MethodStatic, methodDHCP, methodAuto, methodManual),
					Doc:  "How the address is had: `static`, which an `address` implies, `dhcp`, `auto` (SLAAC), or `manual`.",
				},
			},
		},
	},
}

// arrangeAddress makes address and method agree: a configured address is static,
// another configured method leaves no address and no gateway.
func arrangeAddress(config, planned map[string]attr.Value) {
	switch {
	case !settings.IsNull(config["address"]) && settings.IsNull(config["method"]):
		planned["method"] = types.StringValue(settings.MethodStatic)
	case settings.IsKnown(config["method"]) && settings.TextOf(config["method"]) != settings.MethodStatic && settings.IsNull(config["address"]):
		planned["address"] = types.StringNull()
		if settings.IsNull(config["gateway"]) {
			planned["gateway"] = types.StringNull()
		}
	}
}
