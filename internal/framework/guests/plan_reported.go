package guests

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework/settings"
)

// planReported makes known after apply what the changes may change.
func (d *Draft) planReported(own Planning) {
	if d.Unfinished() || d.Rebuilds {
		d.Plan.SetUnknown("provisioned", "status", "marked", "reboot_required", "devices", "mac_addresses")
		d.forgetAddresses()
		own.PlanReported()
		return
	}
	if d.guestChanged() {
		d.Plan.SetUnknown("reboot_required")
	}
	if d.Differs(d.Kind.DeviceGroups...) {
		d.Plan.SetUnknown("devices")
	}
	if d.moves() {
		d.Plan.SetUnknown("devices", "status")
	}
	if d.MACsChange() {
		d.Plan.SetUnknown("mac_addresses")
	}
	if d.powers() {
		d.Plan.SetUnknown("status", "reboot_required")
		d.forgetAddresses()
	}
	own.PlanReported()
	d.planRestart()
}

// guestChanged reports whether anything but this provider's own settings
// differs.
func (d *Draft) guestChanged() bool {
	p := settings.Planner{Applied: d.Applied, KeepLocal: true}
	planned := settings.Fields(p.Object(d.Kind.Table, path.Empty(), d.Config.Object(), d.State.Object()))
	for name, value := range planned {
		if !value.Equal(d.State.Values[name]) {
			return true
		}
	}
	return false
}

// MACsChange reports whether a network device comes, goes or gets another
// address.
func (d *Draft) MACsChange() bool {
	planned, held := settings.Entries(d.Plan.Values["network"]), settings.Entries(d.State.Values["network"])
	return d.Differs("network") && !maps.EqualFunc(planned, held, func(a, b attr.Value) bool {
		return settings.IsSame(settings.Fields(a)["mac_address"], settings.Fields(b)["mac_address"])
	})
}

// powers reports whether the update changes the guest's power: when the
// configured one changes, and with enforce_power when the real one is another.
func powers(plan, state settings.Document) bool {
	power := plan.Values["power"]
	enforced := settings.IsTrue(plan.Values["enforce_power"]) && !power.Equal(state.Values["status"])
	return settings.IsKnown(power) && (!power.Equal(state.Values["power"]) || enforced)
}

func (d *Draft) powers() bool { return powers(d.Plan, d.State) }

func (d *Draft) planRestart() {
	if !d.Kind.Restarts(d.Plan, d.State) {
		return
	}
	d.Plan.SetUnknown("reboot_required")
	why := "waiting: " + strings.Join(d.State.List("reboot_required"), ", ")
	if names := d.Kind.waiting(d.Plan, d.State); len(names) > 0 {
		why = "changing: " + strings.Join(names, ", ")
	}
	d.Diags.AddAttributeWarning(settings.At("reboot"), fmt.Sprintf("%s %d may be restarted", d.Kind.title(), d.State.Integer("vmid")),
		fmt.Sprintf("The %[1]s runs, and reboot is %[2]q: it is restarted if Proxmox VE cannot apply the change to the running %[1]s (%[3]s).", d.Kind, rebootAuto, why))
}

// forgetAddresses makes the addresses known after apply, where a guest starts
// anew.
func (d *Draft) forgetAddresses() {
	d.Plan.Values["network"] = mapAddresses(d.Kind.Network, d.Plan.Values["network"], func(string, attr.Value) (attr.Value, attr.Value) {
		return settings.TextList{}.Unknown(), settings.TextList{}.Unknown()
	})
	d.Plan.SetUnknown("addresses_stale")
}
