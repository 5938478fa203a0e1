package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/seeds"
)

// planSeed plans the guest's seed.
func (d *draft) planSeed(ctx context.Context) {
	config := d.config.values["seed"]
	if isNull(config) || config.IsUnknown() {
		d.plan.values["seed"] = config
	} else {
		d.planGivenSeed(ctx)
	}
	if d.creates() || !d.differs("seed") {
		return
	}
	d.plan.setUnknown("devices", "reboot_required")
}

func (d *draft) planGivenSeed(ctx context.Context) {
	given, _ := seedOf(ctx, d.config.values["seed"], d.diags)
	held, _ := seedOf(ctx, d.state.values["seed"], d.diags)
	c := d.seedContext(given)
	planned, err := seeds.Draft{
		Config: given.Model, State: held.Model, There: held.VolumeID.ValueString() != "", Moved: !given.Storage.Equal(held.Storage),
		WasGiven: d.seed.Given, Context: c, SameContext: c != nil && given.UsesSecrets() && !d.differs("name") && !d.macsChange(),
	}.Plan(ctx)
	if err != nil {
		d.diags.AddAttributeError(at("seed"), "The seed cannot be made", err.Error())
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
	d.plan.values["seed"] = d.plan.seedValue(ctx, seedModel{Model: planned, Slot: slot}, d.diags)
}

// seedContext is what the seed depends on beside its own attributes; nil while
// it is not known.
func (d *draft) seedContext(given seedModel) *seeds.Context {
	name, macs := d.plan.values["name"], d.state.values["mac_addresses"]
	if d.creates() || !isKnown(name) || !given.Interfaces.IsNull() && (d.macsChange() || !isKnown(macs)) {
		return nil
	}
	return &seeds.Context{Scope: d.state.text("uid"), HostName: textOf(name), MACs: macsOf(macs)}
}

// checkSeed checks where the seed's image is to go, and which interfaces it
// speaks of.
func (c *checker) checkSeed(ctx context.Context) {
	d := c.draft
	given, ok := seedOf(ctx, d.config.values["seed"], d.diags)
	planned := fields(d.plan.values["seed"])
	if !ok || planned["volume_id"] == nil || !planned["volume_id"].IsUnknown() {
		return
	}
	if storage := given.Storage; !storage.IsUnknown() {
		seeds.CheckStorage(ctx, c.client, c.node, storage.ValueString(), at("seed").AtName("storage"), d.diags)
	}
	if d.creates() || !isKnown(d.plan.values["network"]) {
		return
	}
	devices, macs := entries(d.plan.values["network"]), macsOf(d.state.values["mac_addresses"])
	for slot := range given.Interfaces.Elements() {
		if _, configured := devices[slot]; !configured && macs[slot] == "" {
			d.diags.AddAttributeError(at("seed").AtName("interfaces").AtMapKey(slot), "The VM has no network device "+slot,
				fmt.Sprintf("Configure network.%s, or take it out of the seed.", slot))
		}
	}
}
