package guests

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
)

// Methods are the ways beside "static" in which an interface has its address.
type Methods struct {
	Names []string
	// Doc names them, to follow "static".
	Doc string
}

// AddressGroups are the addresses of an interface, in the property string that its
// slot is kept in.
func AddressGroups(ipv4, ipv6 Methods) []*settings.Group {
	return []*settings.Group{
		addressGroup("ipv4", "IPv4", "10.0.0.11/24", "", framework.IPv4CIDR(), framework.IPv4(), ipv4),
		addressGroup("ipv6", "IPv6", "2001:db8::11/64", "6", framework.IPv6CIDR(), framework.IPv6(), ipv6),
	}
}

func addressGroup(name, title, example, suffix string, address, gateway validator.String, methods Methods) *settings.Group {
	ip, gw := settings.Prop{Name: "ip" + suffix}, "gw"+suffix
	return &settings.Group{
		Name: name, Arrange: arrangeAddress, Doc: "The " + title + " address.",
		Settings: []settings.Setting{
			{
				Name: "address", Live: settings.AtOnce, Place: settings.IPAddress{Prop: ip}, Form: settings.Text{Validators: []validator.String{address}},
				Doc: "A static address with its prefix length, such as `" + example + "`.",
			},
			{
				Name: "gateway", Live: settings.AtOnce, Place: settings.Prop{Name: gw}, Form: settings.Text{Validators: []validator.String{gateway}},
				Doc: "The gateway of a static address.",
			},
			{
				Name: "method", Live: settings.AtOnce, Place: settings.IPMethod{Prop: ip, Gateway: gw},
				Form: settings.Choice(append([]string{settings.MethodStatic}, methods.Names...)...),
				Doc:  "How the address is had: `static`, which an `address` implies, " + methods.Doc,
			},
		},
	}
}

// arrangeAddress makes address and method agree: a configured address is
// static, another configured method leaves no address and no gateway.
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
