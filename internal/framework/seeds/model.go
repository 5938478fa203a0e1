package seeds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/seed"
)

// Model is the values of [Form.Attributes].
type Model struct {
	Storage             types.String `tfsdk:"storage"`
	UserData            types.String `tfsdk:"user_data"`
	UserDataWO          types.String `tfsdk:"user_data_wo"`
	UserDataWOVersion   types.Int64  `tfsdk:"user_data_wo_version"`
	VendorData          types.String `tfsdk:"vendor_data"`
	VendorDataWO        types.String `tfsdk:"vendor_data_wo"`
	VendorDataWOVersion types.Int64  `tfsdk:"vendor_data_wo_version"`
	MetaData            types.String `tfsdk:"meta_data"`
	InstanceID          types.String `tfsdk:"instance_id"`
	HostName            types.String `tfsdk:"host_name"`
	NetworkConfig       types.String `tfsdk:"network_config"`
	Interfaces          types.Map    `tfsdk:"interfaces"`
	DNS                 types.Object `tfsdk:"dns"`
	VolumeID            types.String `tfsdk:"volume_id"`
	SHA256              types.String `tfsdk:"sha256"`
	Size                types.Int64  `tfsdk:"size"`
}

// Context is what an image depends on beside the configuration.
type Context struct {
	// Scope tells the instance ids of guests apart; it may be empty.
	Scope string
	// HostName is the host name that holds when none is given.
	HostName string
	// MACs are the addresses of a guest's network devices by slot, nil where the
	// configuration gives them.
	MACs map[string]string
}

// content are the values that the image is made of, instance_id included.
func (m Model) content() []attr.Value {
	return []attr.Value{
		m.UserData, m.UserDataWO, m.VendorData, m.VendorDataWO, m.MetaData, m.InstanceID, m.HostName, m.NetworkConfig, m.Interfaces, m.DNS,
	}
}

// Known reports whether a configuration's content is known to its last value.
func (m Model) Known(ctx context.Context) bool {
	return !slices.ContainsFunc(m.content(), func(value attr.Value) bool {
		raw, err := value.ToTerraformValue(ctx)
		return err != nil || !raw.IsFullyKnown()
	})
}

// SameInputs reports whether two configurations mean the same image, as far as
// a state can tell: of write-only parts it knows the versions.
func (m Model) SameInputs(other Model) bool {
	pairs := [][2]attr.Value{
		{m.UserData, other.UserData},
		{m.UserDataWOVersion, other.UserDataWOVersion},
		{m.VendorData, other.VendorData},
		{m.VendorDataWOVersion, other.VendorDataWOVersion},
		{m.MetaData, other.MetaData},
		{m.HostName, other.HostName},
		{m.NetworkConfig, other.NetworkConfig},
		{m.Interfaces, other.Interfaces},
		{m.DNS, other.DNS},
	}
	return !slices.ContainsFunc(pairs, func(pair [2]attr.Value) bool { return !pair[0].Equal(pair[1]) })
}

// Image is the image that a configuration means, and its instance id.
func (m Model) Image(c Context) (image *seed.Image, instanceID string, err error) {
	files := seed.Files{
		UserData: first(m.UserData, m.UserDataWO), VendorData: first(m.VendorData, m.VendorDataWO),
		MetaData: m.MetaData.ValueString(), NetworkConfig: m.NetworkConfig.ValueString(),
	}
	instanceID = m.InstanceID.ValueString()
	if files.MetaData == "" {
		if instanceID == "" {
			instanceID = seed.InstanceID(c.Scope, files)
		}
		host := m.HostName.ValueString()
		if host == "" {
			host = c.HostName
		}
		if files.MetaData, err = seed.MetaData(instanceID, host); err != nil {
			return nil, "", err
		}
	}
	if !m.Interfaces.IsNull() {
		if files.NetworkConfig, err = m.network(c.MACs); err != nil {
			return nil, "", err
		}
	}
	image, err = seed.NewImage(files)
	return image, instanceID, err
}

func (m Model) network(macs map[string]string) (string, error) {
	elements := m.Interfaces.Elements()
	var interfaces []seed.Interface
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		device := attributes(elements[key])
		each := seed.Interface{Name: key, MAC: text(device["mac_address"])}
		if macs != nil {
			each.Name, each.MAC = "eth"+strings.TrimPrefix(key, "net"), macs[key]
		}
		if each.MAC == "" {
			return "", fmt.Errorf("the guest has no network device %s", key)
		}
		each.MAC = strings.ToLower(each.MAC)
		four, six := attributes(device["ipv4"]), attributes(device["ipv6"])
		each.DHCP4, each.DHCP6, each.Auto6 = text(four["method"]) == methodDHCP, text(six["method"]) == methodDHCP, text(six["method"]) == methodAuto
		each.Gateway4, each.Gateway6 = text(four["gateway"]), text(six["gateway"])
		for _, family := range []map[string]attr.Value{four, six} {
			if address := text(family["address"]); address != "" {
				each.Addresses = append(each.Addresses, address)
			}
		}
		interfaces = append(interfaces, each)
	}
	dns := m.DNS.Attributes()
	var servers, search []string
	if list, ok := dns["servers"].(types.List); ok {
		for _, server := range list.Elements() {
			servers = append(servers, text(server))
		}
	}
	if domain := text(dns["domain"]); domain != "" {
		search = []string{domain}
	}
	return seed.NetworkConfig(interfaces, servers, search)
}

func first(values ...types.String) string {
	for _, value := range values {
		if !value.IsNull() {
			return value.ValueString()
		}
	}
	return ""
}

func attributes(value attr.Value) map[string]attr.Value {
	object, _ := value.(types.Object)
	return object.Attributes()
}

func text(value attr.Value) string {
	text, _ := value.(types.String)
	return text.ValueString()
}

// NullModel is a seed of which nothing is known, with the types that an object
// of the attributes has.
func NullModel(attributes map[string]attr.Type) Model {
	m := Model{Interfaces: types.MapNull(types.StringType)}
	if typ, ok := attributes["interfaces"].(types.MapType); ok {
		m.Interfaces = types.MapNull(typ.ElemType)
	}
	if typ, ok := attributes["dns"].(types.ObjectType); ok {
		m.DNS = types.ObjectNull(typ.AttrTypes)
	}
	return m
}
