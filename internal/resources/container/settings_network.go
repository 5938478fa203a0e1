package container

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

// Ways in which an interface has its address.
const (
	methodDHCP   = "dhcp"
	methodManual = "manual"
	methodAuto   = "auto"
)

var networkGroup = &settings.Group{
	Name: "network", Slots: slotsOf(networkSlot, "net0"), Live: settings.AtOnce,
	Doc: "The network interfaces, by slot (`net0` …). They come, go and change while the container runs.",
	Settings: []settings.Setting{
		{
			Name: "name", Live: settings.AtOnce, Place: settings.Prop{Name: "name"}, Kept: true,
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^[-_.A-Za-z0-9]+$`), "is the name of an interface such as eth0")}},
			Doc:  "Its name inside the container; `eth0` of `net0` and so on unless set.",
		},
		{
			Name: "mac_address", Live: settings.AtOnce, Place: settings.Prop{Name: "hwaddr"}, Kept: true,
			Form: settings.Text{Fold: strings.ToUpper, Validators: []validator.String{framework.MAC()}},
			Doc:  "The address. PVE gives each new interface one.",
		},
		{
			Name: "bridge", Live: settings.AtOnce, Place: settings.Prop{Name: "bridge"}, Kept: true,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The bridge or VNet that it is attached to; the provider's default unless set.",
		},
		{
			Name: "vlan", Live: settings.AtOnce, Place: settings.Prop{Name: "tag"}, Form: settings.Integer{Least: 1, Most: 4094},
			Doc: "The VLAN that the bridge puts it into.",
		},
		{
			Name: "firewall", Live: settings.AtOnce, Place: settings.Prop{Name: "firewall"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether PVE's firewall filters it. PVE's default is `false`.",
		},
		{
			Name: "rate_mbps", Live: settings.AtOnce, Place: settings.Prop{Name: "rate"}, Form: settings.Number{},
			Doc: "The most that it may transfer, in MB per second; unlimited unless set.",
		},
		{
			Name: "mtu", Live: settings.Unnoticed, Place: settings.Prop{Name: "mtu"}, Form: settings.Integer{Least: 64, Most: 65535},
			Doc: "The size of its largest packet in bytes; the bridge's unless set. A change is in force from the next start on, which PVE does not tell.",
		},
		{
			Name: "link_down", Live: settings.AtOnce, Place: settings.Prop{Name: "link_down"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the cable is pulled. PVE's default is `false`.",
		},
		{
			Name: "host_managed", Live: settings.AtOnce, Place: settings.Prop{Name: "host-managed"}, Form: settings.Boolean{}, Since: 9,
			Doc: "Whether the node sees to the addresses, DHCP included, for a container that has nothing to do so itself, from PVE 9 on. " +
				"PVE turns it on for the interfaces with which a container is made from an OCI image; it does no SLAAC.",
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
	Groups: guests.AddressGroups(
		guests.Methods{Names: []string{methodDHCP, methodManual}, Doc: "`dhcp`, or `manual`: the container sees to it itself."},
		guests.Methods{Names: []string{methodDHCP, methodAuto, methodManual}, Doc: "`dhcp`, `auto` (SLAAC), or `manual`."},
	),
}
