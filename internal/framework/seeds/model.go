package seeds

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/seed"
)

// Model is the values of [Form.Attributes].
type Model struct {
	Storage                types.String  `tfsdk:"storage"`
	UserData               types.String  `tfsdk:"user_data"`
	UserDataWO             types.String  `tfsdk:"user_data_wo"`
	UserDataWOVersion      types.Int64   `tfsdk:"user_data_wo_version"`
	VendorData             types.String  `tfsdk:"vendor_data"`
	VendorDataWO           types.String  `tfsdk:"vendor_data_wo"`
	VendorDataWOVersion    types.Int64   `tfsdk:"vendor_data_wo_version"`
	MetaData               types.String  `tfsdk:"meta_data"`
	MetaDataWO             types.String  `tfsdk:"meta_data_wo"`
	MetaDataWOVersion      types.Int64   `tfsdk:"meta_data_wo_version"`
	InstanceID             types.String  `tfsdk:"instance_id"`
	HostName               types.String  `tfsdk:"host_name"`
	NetworkConfig          types.Dynamic `tfsdk:"network_config"`
	NetworkConfigWO        types.Dynamic `tfsdk:"network_config_wo"`
	NetworkConfigWOVersion types.Int64   `tfsdk:"network_config_wo_version"`
	Interfaces             types.Map     `tfsdk:"interfaces"`
	DNS                    types.Object  `tfsdk:"dns"`
	VolumeID               types.String  `tfsdk:"volume_id"`
	SHA256                 types.String  `tfsdk:"sha256"`
	Size                   types.Int64   `tfsdk:"size"`
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
		m.UserData, m.UserDataWO, m.VendorData, m.VendorDataWO, m.MetaData, m.MetaDataWO, m.InstanceID, m.HostName,
		m.NetworkConfig, m.NetworkConfigWO, m.Interfaces, m.DNS,
	}
}

// UsesSecrets reports whether a configuration has write-only parts.
func (m Model) UsesSecrets() bool {
	return !m.UserDataWO.IsNull() || !m.VendorDataWO.IsNull() || !m.MetaDataWO.IsNull() || !m.NetworkConfigWO.IsNull()
}

// hideSecrets takes out what no plan and no state may hold.
func (m *Model) hideSecrets() {
	m.UserDataWO, m.VendorDataWO, m.MetaDataWO = types.StringNull(), types.StringNull(), types.StringNull()
	m.NetworkConfigWO = types.DynamicNull()
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
		{m.MetaDataWOVersion, other.MetaDataWOVersion},
		{m.HostName, other.HostName},
		{m.NetworkConfig, other.NetworkConfig},
		{m.NetworkConfigWOVersion, other.NetworkConfigWOVersion},
		{m.Interfaces, other.Interfaces},
		{m.DNS, other.DNS},
	}
	return !slices.ContainsFunc(pairs, func(pair [2]attr.Value) bool { return !pair[0].Equal(pair[1]) })
}

// files are the files as far as they are given: what is not known is empty.
func (m Model) files() (seed.Files, error) {
	network, err := networkText(m.NetworkConfig, m.NetworkConfigWO)
	return seed.Files{
		UserData: first(m.UserData, m.UserDataWO), VendorData: first(m.VendorData, m.VendorDataWO),
		MetaData: first(m.MetaData, m.MetaDataWO), NetworkConfig: network,
	}, err
}

// CheckSize fails where a configuration has more than a seed may have, as far as
// it is known.
func (m Model) CheckSize() error {
	files, err := m.files()
	if err != nil {
		return err
	}
	return files.CheckSize()
}

// Image is the image that a configuration means, and its instance id.
func (m Model) Image(c Context) (image *seed.Image, instanceID string, err error) {
	files, err := m.files()
	if err != nil {
		return nil, "", err
	}
	if err := files.CheckSize(); err != nil {
		return nil, "", err
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
