package guests

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// EachChange visits the configured settings that are known and differ from
// state.
func (d *Draft) EachChange(visit settings.Visitor) { d.EachChangeOf(d.State.Object(), visit) }

// EachChangeOf visits the configured settings that are known and differ from
// what a guest has, an object of the table.
func (d *Draft) EachChangeOf(has attr.Value, visit settings.Visitor) {
	d.Kind.Table.EachIn(path.Empty(), d.Config.Object(), d.Plan.Object(), has, func(s *settings.Setting, at path.Path, planned, held attr.Value) {
		if settings.IsKnown(planned) && (settings.IsNull(held) || !planned.Equal(held)) {
			visit(s, at, planned, held)
		}
	})
}

// eachRemoval visits the settings in state that the update takes away: they, or
// the slot that they are in, were applied and are no longer configured.
func (d *Draft) eachRemoval(visit settings.Visitor) {
	configured := settings.Applied{}
	d.Kind.Table.Walk(path.Empty(), d.Config.Object(), func(at path.Path) { configured[at.String()] = true })
	removed := func(at path.Path) bool {
		whole, _ := at.Steps()[0].(path.PathStepAttributeName)
		value := d.Config.Values[string(whole)]
		return d.Applied.Has(at) && !configured.Has(at) && (value == nil || !value.IsUnknown())
	}
	d.Kind.Table.EachIn(path.Empty(), d.State.Object(), d.Plan.Object(), d.State.Object(), func(s *settings.Setting, at path.Path, planned, held attr.Value) {
		holder := at.ParentPath()
		step, _ := holder.Steps().LastStep()
		_, inSlot := step.(path.PathStepElementKeyString)
		if removed(at) || inSlot && removed(holder) {
			visit(s, at, planned, held)
		}
	})
}

// CheckDescription refuses a description that leaves no room for the marker;
// source is the word that it has while the guest is made.
func (d *Draft) CheckDescription(source string) {
	description := d.Config.Values["description"]
	if !settings.IsKnown(description) {
		return
	}
	longest := proxmox.Marker{UID: proxmox.NewUID(), VMID: framework.MaxVMID, Creating: true, Source: source, Rests: true}
	if _, err := proxmox.JoinDescription(settings.TextOf(description), longest); err != nil {
		d.Diags.AddAttributeError(settings.At("description"), "The description cannot be used", err.Error())
	}
}

// CheckAddress wants address, gateway and method of an interface to agree.
func (d *Draft) CheckAddress(at path.Path, config attr.Value) {
	attributes := settings.Fields(config)
	address, gateway, method := attributes["address"], attributes["gateway"], settings.TextOf(attributes["method"])
	switch {
	case method != "" && method != settings.MethodStatic && !settings.IsNull(address):
		d.Diags.AddAttributeError(at.AtName("method"), "An address is static", "method is "+method+", which leaves no room for a configured address.")
	case method == settings.MethodStatic && settings.IsNull(address):
		d.Diags.AddAttributeError(at.AtName("address"), "No address is configured", "method is "+settings.MethodStatic+": give the address with its prefix length.")
	case !settings.IsNull(gateway) && settings.IsNull(address):
		d.Diags.AddAttributeError(at.AtName("gateway"), "A gateway needs an address", "PVE takes a gateway only beside a static address.")
	}
}
