package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
)

// planSeed plans the guest's seed.
func (d *draft) planSeed(ctx context.Context) {
	config := d.Config.Values["seed"]
	if settings.IsNull(config) || config.IsUnknown() {
		d.Plan.Values["seed"] = config
	} else {
		d.planGivenSeed(ctx)
	}
	if d.Creates() || !d.Differs("seed") {
		return
	}
	d.Plan.SetUnknown("devices", "reboot_required")
}

func (d *draft) planGivenSeed(ctx context.Context) {
	given, _ := seedOf(ctx, d.Config.Values["seed"], d.Diags)
	held, _ := seedOf(ctx, d.State.Values["seed"], d.Diags)
	c := d.seedContext(given)
	planned, err := seeds.Draft{
		Config: given.Model, State: held.Model, There: held.VolumeID.ValueString() != "", Moved: d.leavesSeed || !given.Storage.Equal(held.Storage),
		WasGiven: d.seed.Given, Context: c, SameContext: c != nil && given.UsesSecrets() && !d.Differs("name") && !d.MACsChange(),
	}.Plan(ctx)
	if err != nil {
		d.Diags.AddAttributeError(settings.At("seed"), "The seed cannot be made", err.Error())
		return
	}
	slot := given.Slot
	switch {
	case !slot.IsNull():
	case held.Slot.ValueString() != "":
		slot = held.Slot
	default:
		slot = types.StringUnknown()
	}
	d.Plan.Values["seed"] = seedValue(ctx, d.Plan, seedModel{Model: planned, Slot: slot}, d.Diags)
}

// seedContext is what the seed depends on beside its own attributes; nil while
// it is not known.
func (d *draft) seedContext(given seedModel) *seeds.Context {
	name, macs := d.Plan.Values["name"], d.State.Values["mac_addresses"]
	if d.Creates() || !settings.IsKnown(name) || !given.Interfaces.IsNull() && (d.MACsChange() || !settings.IsKnown(macs)) {
		return nil
	}
	return &seeds.Context{Scope: d.State.Text("uid"), HostName: settings.TextOf(name), MACs: macsOf(macs)}
}

// checkSeed checks where the seed's image is to go, and which interfaces it
// speaks of.
func (d *draft) checkSeed(ctx context.Context, c *guests.Checker) {
	given, ok := seedOf(ctx, d.Config.Values["seed"], d.Diags)
	planned := settings.Fields(d.Plan.Values["seed"])
	if !ok || planned["volume_id"] == nil || !planned["volume_id"].IsUnknown() {
		return
	}
	if storage := given.Storage; !storage.IsUnknown() {
		seeds.CheckStorage(ctx, c.Client, c.Node, storage.ValueString(), settings.At("seed").AtName("storage"), d.Diags)
	}
	if d.Creates() || !settings.IsKnown(d.Plan.Values["network"]) {
		return
	}
	devices, macs := settings.Entries(d.Plan.Values["network"]), macsOf(d.State.Values["mac_addresses"])
	for slot := range given.Interfaces.Elements() {
		if _, configured := devices[slot]; !configured && macs[slot] == "" {
			d.Diags.AddAttributeError(settings.At("seed").AtName("interfaces").AtMapKey(slot), "The VM has no network device "+slot,
				fmt.Sprintf("Configure network.%s, or take it out of the seed.", slot))
		}
	}
}
