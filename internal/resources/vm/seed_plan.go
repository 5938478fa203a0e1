package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
)

// planSeed plans the guest's seed.
func (d *draft) planSeed(ctx context.Context) {
	config := d.config.Values["seed"]
	if settings.IsNull(config) || config.IsUnknown() {
		d.plan.Values["seed"] = config
	} else {
		d.planGivenSeed(ctx)
	}
	if d.creates() || !d.differs("seed") {
		return
	}
	d.plan.SetUnknown("devices", "reboot_required")
}

func (d *draft) planGivenSeed(ctx context.Context) {
	given, _ := seedOf(ctx, d.config.Values["seed"], d.diags)
	held, _ := seedOf(ctx, d.state.Values["seed"], d.diags)
	c := d.seedContext(given)
	planned, err := seeds.Draft{
		Config: given.Model, State: held.Model, There: held.VolumeID.ValueString() != "", Moved: !given.Storage.Equal(held.Storage),
		WasGiven: d.seed.Given, Context: c, SameContext: c != nil && given.UsesSecrets() && !d.differs("name") && !d.macsChange(),
	}.Plan(ctx)
	if err != nil {
		d.diags.AddAttributeError(settings.At("seed"), "The seed cannot be made", err.Error())
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
	d.plan.Values["seed"] = seedValue(ctx, d.plan, seedModel{Model: planned, Slot: slot}, d.diags)
}

// planGone replaces a guest that is gone and left its seed: what is left goes with
// the old one. The new one is planned, and checked, on its own.
func (d *draft) planGone(ctx context.Context, resp *resource.ModifyPlanResponse) {
	d.plan.SetUnknown("status")
	resp.RequiresReplace = append(resp.RequiresReplace, settings.At("status"))
	d.plan.Save(ctx, &resp.Plan, &resp.Diagnostics)
}

// seedContext is what the seed depends on beside its own attributes; nil while
// it is not known.
func (d *draft) seedContext(given seedModel) *seeds.Context {
	name, macs := d.plan.Values["name"], d.state.Values["mac_addresses"]
	if d.creates() || !settings.IsKnown(name) || !given.Interfaces.IsNull() && (d.macsChange() || !settings.IsKnown(macs)) {
		return nil
	}
	return &seeds.Context{Scope: d.state.Text("uid"), HostName: settings.TextOf(name), MACs: macsOf(macs)}
}

// checkSeed checks where the seed's image is to go, and which interfaces it
// speaks of.
func (c *checker) checkSeed(ctx context.Context) {
	d := c.draft
	given, ok := seedOf(ctx, d.config.Values["seed"], d.diags)
	planned := settings.Fields(d.plan.Values["seed"])
	if !ok || planned["volume_id"] == nil || !planned["volume_id"].IsUnknown() {
		return
	}
	if storage := given.Storage; !storage.IsUnknown() {
		seeds.CheckStorage(ctx, c.client, c.node, storage.ValueString(), settings.At("seed").AtName("storage"), d.diags)
	}
	if d.creates() || !settings.IsKnown(d.plan.Values["network"]) {
		return
	}
	devices, macs := settings.Entries(d.plan.Values["network"]), macsOf(d.state.Values["mac_addresses"])
	for slot := range given.Interfaces.Elements() {
		if _, configured := devices[slot]; !configured && macs[slot] == "" {
			d.diags.AddAttributeError(settings.At("seed").AtName("interfaces").AtMapKey(slot), "The VM has no network device "+slot,
				fmt.Sprintf("Configure network.%s, or take it out of the seed.", slot))
		}
	}
}
