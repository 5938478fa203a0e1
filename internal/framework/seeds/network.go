package seeds

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/seed"
)

// network writes the network configuration that the interfaces mean.
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

// errNetworkForm is a network configuration that is neither text nor an object.
var errNetworkForm = errors.New("a network configuration is an object, or YAML as a text")

// networkText is the network configuration that is given in one of the ways; ""
// for none, and for one that is not known.
func networkText(values ...types.Dynamic) (string, error) {
	for _, value := range values {
		switch given := value.UnderlyingValue().(type) {
		case nil:
		case types.String:
			return given.ValueString(), nil
		case types.Object, types.Map:
			return seed.YAML(plain(given))
		default:
			return "", errNetworkForm
		}
	}
	return "", nil
}

// plain is a value without Terraform's types. An attribute that is null is as one
// that is left out.
func plain(value attr.Value) any {
	if value == nil || value.IsNull() || value.IsUnknown() {
		return nil
	}
	switch v := value.(type) {
	case types.String:
		return v.ValueString()
	case types.Bool:
		return v.ValueBool()
	case types.Number:
		return number(v.ValueBigFloat())
	case types.Object:
		return plainMap(v.Attributes())
	case types.Map:
		return plainMap(v.Elements())
	case types.Tuple:
		return plainList(v.Elements())
	case types.List:
		return plainList(v.Elements())
	case types.Set:
		return plainList(v.Elements())
	case types.Dynamic:
		return plain(v.UnderlyingValue())
	}
	return nil
}

func plainMap(values map[string]attr.Value) map[string]any {
	out := map[string]any{}
	for key, value := range values {
		if !value.IsNull() {
			out[key] = plain(value)
		}
	}
	return out
}

func plainList(values []attr.Value) []any {
	out := []any{}
	for _, value := range values {
		out = append(out, plain(value))
	}
	return out
}

func number(n *big.Float) any {
	if whole, accuracy := n.Int64(); accuracy == big.Exact {
		return whole
	}
	fraction, _ := n.Float64()
	return fraction
}
