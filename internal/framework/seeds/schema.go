// Package seeds is what the resources share that make cloud-init seeds: their
// attributes, the image that these mean, and its place on a storage.
package seeds

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/seed"
)

// Form is in which of the resources the attributes are.
type Form struct {
	// OfGuest is set where the seed belongs to one guest: interfaces are keyed
	// by its network devices, whose addresses are known.
	OfGuest bool
	// HostName says what the host name is that is not given.
	HostName string
}

// Attributes are the attributes of a seed.
func (f Form) Attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"storage": schema.StringAttribute{
			Required: true, Validators: []validator.String{framework.StorageName()},
			MarkdownDescription: "The storage for the image; it must allow the content `iso`. Deleting an image needs Datastore.Allocate, " +
				"which allows to delete everything on the storage: use one that holds nothing but seeds.",
		},
		"user_data": schema.StringAttribute{
			Optional: true, Validators: []validator.String{userData, exclusive("user_data_wo")},
			MarkdownDescription: "The user data: `#cloud-config`, a script (`#!`), or another form that cloud-init knows.",
		},
		"user_data_wo": schema.StringAttribute{
			Optional: true, WriteOnly: true, Sensitive: true, Validators: []validator.String{userData, along("user_data_wo_version")},
			MarkdownDescription: "The user data, write-only: the state holds no more of it than the image's hash. It is written anew when " +
				"`user_data_wo_version` changes, or with any other change of the seed.",
		},
		"user_data_wo_version": version("user_data_wo"),
		"vendor_data": schema.StringAttribute{
			Optional: true, Validators: []validator.String{vendorData, exclusive("vendor_data_wo")},
			MarkdownDescription: "Vendor data: like user data, and overruled by it.",
		},
		"vendor_data_wo": schema.StringAttribute{
			Optional: true, WriteOnly: true, Sensitive: true, Validators: []validator.String{vendorData, along("vendor_data_wo_version")},
			MarkdownDescription: "Vendor data, write-only like `user_data_wo`.",
		},
		"vendor_data_wo_version": version("vendor_data_wo"),
		"meta_data": schema.StringAttribute{
			Optional: true, Validators: []validator.String{metaData, exclusive("host_name"), exclusive("instance_id")},
			MarkdownDescription: "The meta data, YAML with an `instance-id`. Left out, it is made of `instance_id` and `host_name`.",
		},
		"instance_id": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{stringvalidator.LengthBetween(1, 64)},
			MarkdownDescription: "The id by which cloud-init tells whether it has run on a guest before: with another one it runs the user data again at the next boot, " +
				"as on a new machine, SSH host keys and all. Left out, it is derived from user data and vendor data, so that a change of these runs them and a change of " +
				"anything else does not. Give one to decide that yourself.",
		},
		"host_name": schema.StringAttribute{
			Optional: true, Validators: []validator.String{framework.DNSName()},
			MarkdownDescription: "The guest's host name. " + f.HostName,
		},
		"network_config": schema.StringAttribute{
			Optional: true, Validators: []validator.String{networkConfig, exclusive("interfaces"), exclusive("dns")},
			MarkdownDescription: "The network configuration, YAML of version 2 (`yamlencode({ version = 2, … })`) or 1. " +
				"`interfaces` is shorter where it is enough. With neither, cloud-init asks DHCP on the first interface.",
		},
		"interfaces": f.interfaces(),
		"dns": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "The resolver, for all `interfaces`.",
			Attributes: map[string]schema.Attribute{
				"servers": schema.ListAttribute{
					Optional: true, ElementType: types.StringType, Validators: []validator.List{listvalidator.ValueStringsAre(framework.IP())},
					MarkdownDescription: "The name servers' addresses.",
				},
				"domain": schema.StringAttribute{
					Optional: true, Validators: []validator.String{framework.DNSName()}, MarkdownDescription: "The search domain.",
				},
			},
		},
		"volume_id": schema.StringAttribute{Computed: true, MarkdownDescription: "The image's volume id, for a VM's CD-ROM drive."},
		"sha256":    schema.StringAttribute{Computed: true, MarkdownDescription: "The image's SHA-256 digest in hex. The same inputs give the same image."},
		"size":      schema.Int64Attribute{Computed: true, MarkdownDescription: "The image's size in bytes, as the storage lists it."},
	}
}

func (f Form) interfaces() schema.Attribute {
	attributes := map[string]schema.Attribute{
		"ipv4": address("IPv4", framework.IPv4CIDR(), framework.IPv4(), "10.0.0.11/24", methodStatic, methodDHCP),
		"ipv6": address("IPv6", framework.IPv6CIDR(), framework.IPv6(), "2001:db8::11/64", methodStatic, methodDHCP, methodAuto),
	}
	keys := framework.NetworkSlot()
	doc := "The addresses, by network device: `net0` is the guest's `eth0`, found by its MAC address."
	if !f.OfGuest {
		keys = stringvalidator.RegexMatches(regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,14}$`), "is an interface's name in the guest, such as eth0")
		doc = "The addresses, by the interface's name in the guest, such as `eth0`. It is found by its MAC address and called so."
		attributes["mac_address"] = schema.StringAttribute{
			Required: true, Validators: []validator.String{framework.MAC()},
			MarkdownDescription: "The address of the network device.",
		}
	}
	return schema.MapNestedAttribute{
		Optional: true, MarkdownDescription: doc,
		Validators:   []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.KeysAre(keys)},
		NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

// Ways in which an interface gets its address.
const (
	methodStatic = "static"
	methodDHCP   = "dhcp"
	methodAuto   = "auto"
)

func address(family string, cidr, ip validator.String, example string, methods ...string) schema.Attribute {
	doc := "How the address is had: `static`, which an `address` implies, or `dhcp`."
	if len(methods) > 2 {
		doc = "How the address is had: `static`, which an `address` implies, `dhcp`, or `auto` (SLAAC)."
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "The " + family + " address; none unless set.",
		Attributes: map[string]schema.Attribute{
			"address": schema.StringAttribute{
				Optional: true, Validators: []validator.String{cidr},
				MarkdownDescription: "A static address with its prefix length, such as `" + example + "`.",
			},
			"gateway": schema.StringAttribute{
				Optional: true, Validators: []validator.String{ip, along("address")}, MarkdownDescription: "The gateway of a static address.",
			},
			"method": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf(methods...), stringvalidator.AtLeastOneOf(sibling("address"), sibling("method")), method{}},
				MarkdownDescription: doc,
			},
		},
	}
}

func version(of string) schema.Attribute {
	return schema.Int64Attribute{
		Optional: true, Validators: []validator.Int64{int64validator.AlsoRequires(sibling(of))},
		MarkdownDescription: "Change it to write `" + of + "` again.",
	}
}

func sibling(name string) path.Expression { return path.MatchRelative().AtParent().AtName(name) }

func exclusive(name string) validator.String { return stringvalidator.ConflictsWith(sibling(name)) }

func along(name string) validator.String { return stringvalidator.AlsoRequires(sibling(name)) }

var (
	userData      = fileValidator{"user data", seed.CheckUserData}
	vendorData    = fileValidator{"vendor data", seed.CheckVendorData}
	metaData      = fileValidator{"meta data", seed.CheckMetaData}
	networkConfig = fileValidator{"network configuration", seed.CheckNetworkConfig}
)
