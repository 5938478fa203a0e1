package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

// ValidateConfig refuses what PVE would, and what it would keep otherwise than
// written. What is unknown is left for later.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || config.Scope.IsUnknown() {
		return
	}
	v := validation{model: config, diags: &resp.Diagnostics}
	v.kind, _ = config.kind(ctx, v.diags)
	if v.kind == "" {
		v.refuse(path.Root("scope"), "names exactly one of vm, container, node, cluster (true) and security_group")
		return
	}
	v.ownership()
	v.options()
	v.rules(ctx)
	v.names(ctx)
}

// validation checks one configuration.
type validation struct {
	model model
	kind  proxmox.FirewallKind
	diags *diag.Diagnostics
}

func (v *validation) refuse(at path.Path, text string) {
	v.diags.AddAttributeError(at, "Invalid firewall", fmt.Sprintf("%s %s.", at, text))
}

func (v *validation) ofGuest() bool { return proxmox.FirewallScope{Kind: v.kind}.OfGuest() }

func (v *validation) ownership() {
	m := v.model
	if !v.ofGuest() && !m.Foreign.IsUnknown() && !m.Foreign.ValueBool() {
		v.refuse(path.Root("foreign"), "must be true: this firewall belongs to no guest that was made here")
	}
	tagged := m.Ownership.ValueString() == ownsTagged
	switch {
	case m.Ownership.IsUnknown() || m.Tag.IsUnknown():
	case tagged && m.Tag.IsNull():
		v.refuse(path.Root("tag"), `is needed with ownership = "tagged"`)
	case !tagged && !m.Tag.IsNull():
		v.refuse(path.Root("tag"), `is for ownership = "tagged"`)
	}
	if v.kind != proxmox.FirewallGroup && !m.Comment.IsNull() {
		v.refuse(path.Root("comment"), "is for security groups")
	}
	if wrong := checkComment(m.Comment.ValueString()); wrong != "" {
		v.refuse(path.Root("comment"), wrong)
	}
}

func (v *validation) options() {
	for _, o := range options {
		value := v.model.Options.Attributes()[o.name]
		if value == nil || value.IsNull() || o.in(v.kind) {
			continue
		}
		v.refuse(path.Root("options").AtName(o.name), "is for "+o.places())
	}
	if len(v.model.Spoofing.Elements()) > 0 && optionValue(v.model, "mac_filter").Equal(types.BoolValue(false)) {
		v.refuse(path.Root("spoof_protection"), "needs the MAC filter, which options.mac_filter turns off")
	}
}

// optionValue is the value of an option.
func optionValue(m model, name string) attr.Value {
	if value := m.Options.Attributes()[name]; value != nil {
		return value
	}
	return types.BoolNull()
}

func (v *validation) rules(ctx context.Context) {
	for i, each := range v.model.ruleModels(ctx, v.diags) {
		if !each.known() {
			continue
		}
		for _, wrong := range checkRule(v.kind, each.rule()) {
			v.refuse(path.Root("rules").AtListIndex(i).AtName(wrong.attribute), wrong.text)
		}
	}
}

func (v *validation) names(ctx context.Context) {
	m := v.model
	named := len(m.IPSets.Elements()) + len(m.Aliases.Elements())
	if named > 0 && !v.ofGuest() && v.kind != proxmox.FirewallCluster {
		v.refuse(path.Root("ip_sets"), "and aliases are for guests and the cluster")
	}
	if len(m.Spoofing.Elements()) > 0 && !v.ofGuest() {
		v.refuse(path.Root("spoof_protection"), "is for guests")
	}
	for name, value := range m.IPSets.Elements() {
		at := path.Root("ip_sets").AtMapKey(name)
		if !setReference.MatchString("+" + name) {
			v.refuse(at, "is not a set's name: lower-case letters, digits, hyphens and underscores, beginning with a letter")
		}
		if nic, ok := strings.CutPrefix(name, filterSet); ok && guestNIC.MatchString(nic) {
			v.refuse(at, "is what spoof_protection makes: configure it there")
		}
		v.members(ctx, at, value)
	}
	for nic, value := range m.Spoofing.Elements() {
		at := path.Root("spoof_protection").AtMapKey(nic)
		if !guestNIC.MatchString(nic) {
			v.refuse(at, "is not the slot of a network device, such as net0")
		}
		v.members(ctx, at, value)
	}
	for name, value := range m.Aliases.Elements() {
		at := path.Root("aliases").AtMapKey(name)
		if !nameForm.MatchString(name) {
			v.refuse(at, "is not an alias's name: letters, digits, hyphens and underscores, beginning with a letter")
		}
		if text, ok := value.(types.String); ok && !text.IsNull() && !text.IsUnknown() {
			v.address(at, text.ValueString())
		}
	}
}

func (v *validation) members(ctx context.Context, at path.Path, value attr.Value) {
	for address := range membersOf(ctx, value, v.diags) {
		if !aliasForm.MatchString(address) {
			v.address(at, address)
		}
	}
}

// address accepts an address or a network in the form that PVE keeps.
func (v *validation) address(at path.Path, text string) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		return
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		v.refuse(at, fmt.Sprintf("holds %q, which is neither an address nor a network", text))
	case network.Bits() == 0:
		v.refuse(at, "holds a network of all addresses, which PVE does not take: leave the restriction out instead")
	case network.IsSingleIP():
		v.refuse(at, fmt.Sprintf("holds %q, which PVE keeps as %s", text, network.Addr()))
	case network.Masked().String() != text:
		v.refuse(at, fmt.Sprintf("holds %q, which PVE keeps as %s", text, network.Masked()))
	}
}
