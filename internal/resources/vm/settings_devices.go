package vm

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

// defaultModel is the model of a network device that says none.
const defaultModel = "virtio"

// Ways in which cloud-init gives an interface its address.
const (
	methodDHCP = "dhcp"
	methodAuto = "auto"
)

var networkGroup = &settings.Group{
	Name: "network", Slots: networkSlots, Live: settings.HotplugNetwork,
	Doc: "The network devices, by slot (`net0` …). A slot that the template has is that device; any other is a new one. " +
		"What is not named here stays as it is.",
	Settings: []settings.Setting{
		{
			Name: "model", Place: nicModel{}, Live: settings.HotplugNetwork, Absent: types.StringValue(defaultModel),
			Form: settings.Choice("virtio", "e1000", "e1000e", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "rtl8139", "vmxnet3",
				"i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet"),
			Doc: "The emulated model; a new device is `virtio` unless set.",
		},
		{
			Name: "mac_address", Place: nicMAC{}, Live: settings.HotplugNetwork, Kept: true,
			Form: settings.Text{Fold: strings.ToUpper, Validators: []validator.String{framework.MAC()}},
			Doc:  "The address. PVE gives each new device one.",
		},
		{
			Name: "bridge", Place: settings.Prop{Name: "bridge"}, Live: settings.AtOnce, Kept: true,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The bridge or VNet that the device is attached to; a new device takes the provider's default unless set.",
		},
		{
			Name: "vlan", Place: settings.Prop{Name: "tag"}, Form: settings.Integer{Least: 1, Most: 4094}, Live: settings.AtOnce,
			Doc: "The VLAN that the bridge puts the device into.",
		},
		{
			Name: "trunks", Place: settings.Prop{Name: "trunks"}, Live: settings.AtOnce,
			Form: settings.TextSet{Spelling: settings.SemicolonList, Validators: []validator.Set{setvalidator.ValueStringsAre(
				stringvalidator.RegexMatches(regexp.MustCompile(`^\d+(-\d+)?$`), "is a VLAN or a range such as 20-29"))}},
			Doc: "The VLANs that reach the guest with their tags, such as `[\"10\", \"20-29\"]`.",
		},
		{
			Name: "firewall", Place: settings.Prop{Name: "firewall"}, Live: settings.AtOnce, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether PVE's firewall filters the device. PVE's default is `false`.",
		},
		{
			Name: "link_down", Place: settings.Prop{Name: "link_down"}, Live: settings.AtOnce, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the cable is pulled. PVE's default is `false`.",
		},
		{
			Name: "rate_mbps", Place: settings.Prop{Name: "rate"}, Form: settings.Number{}, Live: settings.AtOnce,
			Doc: "How much the device may carry, in MB/s.",
		},
		{
			Name: "mtu", Place: settings.Prop{Name: "mtu"}, Form: settings.Integer{Least: 1, Most: 65520}, Live: settings.HotplugNetwork,
			Doc: "The MTU that the guest sees, `virtio` only; 1 is the bridge's.",
		},
		{
			Name: "queues", Place: settings.Prop{Name: "queues"}, Form: settings.Integer{Most: 64}, Live: settings.HotplugNetwork,
			Doc: "How many queues the device has, for several processors.",
		},
		{
			Name: "host_tunnel", Place: settings.Prop{Name: "host-tunnel"}, Form: settings.Boolean{}, Live: settings.Unnoticed, Since: 9,
			Doc: "Whether the node does the segmentation of UDP tunnels, `virtio` only. Left out, the machine's version decides.",
		},
		{
			Name: "ipv4_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "The IPv4 addresses, without prefix length: those that the guest agent reports, else the one that cloud-init configures.",
		},
		{
			Name: "ipv6_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "The IPv6 addresses, likewise; link-local ones are left out.",
		},
	},
}

var cloudInitGroup = &settings.Group{
	Name: "cloud_init", Optional: true,
	Doc: "What cloud-init sets up in the guest. PVE passes it in a drive, which is added where the template has none. " +
		"A change makes a running VM's drive anew, and its system reads it when it boots the next time: nothing is restarted or replaced. " +
		"What is in force shows in `cloud_init_effective`.",
	Settings: []settings.Setting{
		{
			Name: "user", Live: settings.AtOnce, Key: "ciuser", Place: settings.Whole{},
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The user that is set up instead of the image's default one.",
		},
		{
			Name: "ssh_keys", Live: settings.AtOnce, Key: "sshkeys", Place: settings.Whole{}, Form: settings.TextList{Spelling: keyList},
			Doc: "The user's public SSH keys.",
		},
		{
			Name: "upgrade", Live: settings.AtOnce, Key: "ciupgrade", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether all packages are upgraded at the first boot. PVE's default is `true`.",
		},
		{
			Name: "type", Live: settings.AtOnce, Key: "citype", Place: settings.Whole{}, Form: settings.Choice("nocloud", "configdrive2", "opennebula"),
			Doc: "The form of the drive's content. Left out, PVE decides by `os_type`: `configdrive2` for Windows, else `nocloud`.",
		},
		{
			Name: "password_wo", Live: settings.AtOnce, Source: settings.Secret,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
			Doc:  "The user's password, write-only: it is in no state and no plan. It is set when the VM is made and when `password_wo_version` changes.",
		},
		{
			Name: "password_wo_version", Source: settings.Local, Form: settings.Integer{}, Imported: types.Int64Value(0),
			Doc: "Change it to set `password_wo` again. 0 after an import.",
		},
	},
	Groups: []*settings.Group{
		{
			Name: "custom",
			Doc: "Snippets that take the place of what PVE makes itself, such as `local:snippets/user.yaml`. They have to be on the VM's node: " +
				"PVE's API takes no uploads of snippets. `seed` needs none.",
			Settings: []settings.Setting{
				snippetSetting("user", "The user data, with which `user`, `password_wo` and `ssh_keys` do nothing."),
				snippetSetting("network", "The network configuration, with which `interfaces` and `dns` do nothing."),
				snippetSetting("vendor", "The vendor data."),
				snippetSetting("meta", "The meta data."),
			},
		},
		{
			Name: "dns",
			Doc:  "The resolver. PVE takes the node's own where nothing is set.",
			Settings: []settings.Setting{
				{
					Name: "servers", Live: settings.AtOnce, Key: "nameserver", Place: settings.Whole{},
					Form: settings.TextList{Spelling: settings.BlankList, Validators: []validator.List{listvalidator.ValueStringsAre(framework.IP())}},
					Doc:  "The name servers' addresses.",
				},
				{
					Name: "domain", Live: settings.AtOnce, Key: "searchdomain", Place: settings.Whole{},
					Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
					Doc:  "The search domain.",
				},
			},
		},
		{
			Name: "interfaces", Slots: interfaceSlots,
			Doc: "The addresses, by network device (`net0` …).",
			Groups: guests.AddressGroups(
				guests.Methods{Names: []string{methodDHCP}, Doc: "or `dhcp`."},
				guests.Methods{Names: []string{methodDHCP, methodAuto}, Doc: "`dhcp`, or `auto` (SLAAC)."},
			),
		},
	},
}

func snippetSetting(name, doc string) settings.Setting {
	return settings.Setting{
		Name: name, Live: settings.AtOnce, Key: "cicustom", Place: settings.Prop{Name: name}, Doc: doc,
		Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(snippetForm, "is the volume id of a snippet, such as local:snippets/user.yaml")}},
	}
}

var snippetForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*:snippets/[^/,]+$`)
