// Package seeds is what the resources share that make cloud-init seeds: their
// attributes, the image that these mean, and its place on a storage.
package seeds

import (
	"regexp"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/dynamicvalidator"
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
	attributes := map[string]schema.Attribute{
		"storage": schema.StringAttribute{
			Required: true, Validators: []validator.String{framework.StorageName()},
			MarkdownDescription: "The storage for the image; it must allow the content `iso`. Deleting an image needs Datastore.Allocate, " +
				"which allows to delete everything on the storage: use one that holds nothing but seeds.",
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
	addText(attributes, "user_data", userData, "The user data: `#cloud-config`, a script (`#!`), or another form that cloud-init knows.")
	addText(attributes, "vendor_data", vendorData, "Vendor data: like user data, and overruled by it.")
	addText(attributes, "meta_data", metaData, "The meta data, YAML with an `instance-id`. Left out, it is made of `instance_id` and `host_name`.", "instance_id", "host_name")
	addNetworkConfig(attributes)
	return attributes
}

// addText adds a file of a seed, in plain and write-only. It leaves no room for
// the others that are named.
func addText(attributes map[string]schema.Attribute, name string, check fileValidator, doc string, others ...string) {
	secret := name + "_wo"
	checks := []validator.String{check}
	for _, other := range others {
		checks = append(checks, exclusive(other))
	}
	attributes[name] = schema.StringAttribute{
		Optional: true, Validators: append(slices.Clone(checks), exclusive(secret)), MarkdownDescription: doc,
	}
	attributes[secret] = schema.StringAttribute{
		Optional: true, WriteOnly: true, Sensitive: true, Validators: append(checks, along(version(secret))), MarkdownDescription: secretDoc(name),
	}
	addVersion(attributes, secret)
}

// addNetworkConfig adds the network configuration, which may be an object.
func addNetworkConfig(attributes map[string]schema.Attribute) {
	const name = "network_config"
	secret := name + "_wo"
	checks := []validator.Dynamic{networkConfig, dynamicvalidator.ConflictsWith(sibling("interfaces"), sibling("dns"))}
	attributes[name] = schema.DynamicAttribute{
		Optional: true, Validators: append(slices.Clone(checks), dynamicvalidator.ConflictsWith(sibling(secret))),
		MarkdownDescription: "The network configuration of version 2 (as netplan's) or 1: an object such as `{ version = 2, ethernets = { … } }`, or its YAML. " +
			"`interfaces` is shorter where it is enough. With neither, cloud-init asks DHCP on the first interface.",
	}
	attributes[secret] = schema.DynamicAttribute{
		Optional: true, WriteOnly: true, Sensitive: true, Validators: append(checks, dynamicvalidator.AlsoRequires(sibling(version(secret)))),
		MarkdownDescription: secretDoc(name),
	}
	addVersion(attributes, secret)
}

func secretDoc(name string) string {
	secret := name + "_wo"
	return "As `" + name + "`, write-only: the state holds no more of it than the image's hash. It is written anew when `" + version(secret) +
		"` changes, or with any other change of the seed."
}

// version is the attribute whose change writes a write-only one again.
func version(secret string) string { return secret + "_version" }

func addVersion(attributes map[string]schema.Attribute, secret string) {
	attributes[version(secret)] = schema.Int64Attribute{
		Optional: true, Validators: []validator.Int64{int64validator.AlsoRequires(sibling(secret))},
		MarkdownDescription: "Change it to write `" + secret + "` again.",
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

func sibling(name string) path.Expression { return path.MatchRelative().AtParent().AtName(name) }

func exclusive(name string) validator.String { return stringvalidator.ConflictsWith(sibling(name)) }

func along(name string) validator.String { return stringvalidator.AlsoRequires(sibling(name)) }

var (
	userData      = fileValidator{"user data", seed.CheckUserData}
	vendorData    = fileValidator{"vendor data", seed.CheckVendorData}
	metaData      = fileValidator{"meta data", seed.CheckMetaData}
	networkConfig = networkValidator{fileValidator{"network configuration", seed.CheckNetworkConfig}}
)
