package container

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// checkSettings checks what can be known without a call.
func (d *draft) checkSettings() {
	if d.creates() && settings.IsNull(d.config.Values["root_volume"]) && d.defaults.Storage == "" {
		d.diags.AddAttributeError(settings.At("root_volume"), "No storage is configured for the root volume",
			"Give root_volume.storage, or the provider's defaults.storage.")
	}
	for slot, mount := range d.elements("mount_points") {
		d.checkMount(settings.At("mount_points").AtMapKey(slot), slot, mount)
	}
	d.checkSizes()
	for slot, device := range d.elements("network") {
		here := settings.At("network").AtMapKey(slot)
		d.checkAddress(here.AtName("ipv4"), device["ipv4"])
		d.checkAddress(here.AtName("ipv6"), device["ipv6"])
	}
	d.checkDescription()
	d.checkBackups()
	d.checkOnce()
}

// elements are the configured elements of a map, in order of their slots.
func (d *draft) elements(name string) func(yield func(string, map[string]attr.Value) bool) {
	elements := settings.Entries(d.config.Values[name])
	return func(yield func(string, map[string]attr.Value) bool) {
		for _, slot := range slices.Sorted(maps.Keys(elements)) {
			if !yield(slot, settings.Fields(elements[slot])) {
				return
			}
		}
	}
}

func (d *draft) checkMount(at path.Path, slot string, mount map[string]attr.Value) {
	volume := mount["volume"]
	isNew := settings.IsNull(volume) && (d.creates() || settings.TextOf(settings.Entries(d.state.Values["devices"])[slot]) == "")
	switch {
	case isNew && d.applied.Has(at) && !d.creates() && !d.unfinished() && !d.reinstalls:
		d.diags.AddAttributeError(at, slot+" is gone from the container",
			"It was there when it was applied, so that no empty volume is made in its place. Attach its volume again in Proxmox VE, "+
				"or take it out of the configuration for one apply to make a new one.")
	case isNew && settings.IsNull(mount["size_gib"]):
		d.diags.AddAttributeError(at.AtName("size_gib"), slot+" would be a new volume and needs a size", "Give size_gib, or name an existing volume.")
	case isNew && settings.IsNull(mount["storage"]) && d.defaults.Storage == "":
		d.diags.AddAttributeError(at.AtName("storage"), slot+" would be a new volume and needs a storage", "Give storage, or the provider's defaults.storage.")
	case settings.IsKnown(volume) && isHostPath(settings.TextOf(volume)) && settings.IsTrue(mount["backup"]):
		d.diags.AddAttributeError(at.AtName("backup"), slot+" is never in a backup", "It is a folder or a device of the node, which PVE's backups leave out whatever this says.")
	}
	if settings.IsTrue(mount["quota"]) && settings.IsTrue(d.plan.Values["unprivileged"]) {
		d.diags.AddAttributeError(at.AtName("quota"), "An unprivileged container has no quotas", "PVE would not start it.")
	}
}

// checkSizes refuses to make a volume smaller than it is.
func (d *draft) checkSizes() {
	if d.creates() || len(d.replace) > 0 {
		return
	}
	devices := settings.Entries(d.state.Values["devices"])
	for slot, want := range wantedSizes(d.config) {
		real := proxmox.ParseMount(settings.TextOf(devices[slot]))
		rebuilt := d.reinstalls && !slices.Contains(keptSlots(d.plan), slot)
		if !settings.IsKnown(want) || real.Size == nil || rebuilt || settings.BytesOf(want) >= *real.Size {
			continue
		}
		here := settings.At("root_volume")
		if slot != rootSlot {
			here = settings.At("mount_points").AtMapKey(slot)
		}
		d.diags.AddAttributeError(here.AtName("size_gib"), slot+" would shrink",
			fmt.Sprintf("The volume is %s, configured is %s. PVE cannot shrink a volume: configure at least its size.", real.Size, settings.BytesOf(want)))
	}
}

func (d *draft) checkAddress(at path.Path, config attr.Value) {
	attributes := settings.Fields(config)
	address, gateway, method := attributes["address"], attributes["gateway"], settings.TextOf(attributes["method"])
	switch {
	case method != "" && method != settings.MethodStatic && !settings.IsNull(address):
		d.diags.AddAttributeError(at.AtName("method"), "An address is static", "method is "+method+", which leaves no room for a configured address.")
	case method == settings.MethodStatic && settings.IsNull(address):
		d.diags.AddAttributeError(at.AtName("address"), "No address is configured", "method is static: give the address with its prefix length.")
	case !settings.IsNull(gateway) && settings.IsNull(address):
		d.diags.AddAttributeError(at.AtName("gateway"), "A gateway needs an address", "PVE takes a gateway only beside a static address.")
	}
}

// checkDescription refuses a description that leaves no room for the marker.
func (d *draft) checkDescription() {
	description := d.config.Values["description"]
	if !settings.IsKnown(description) {
		return
	}
	longest := proxmox.Marker{UID: proxmox.NewUID(), VMID: framework.MaxVMID, Creating: true, Source: sourceOf(d.plan)}
	if _, err := proxmox.JoinDescription(settings.TextOf(description), longest); err != nil {
		d.diags.AddAttributeError(settings.At("description"), "The description cannot be used", err.Error())
	}
}

// checkBackups warns of new data volumes that nobody decided about.
func (d *draft) checkBackups() {
	var open []string
	for slot, mount := range d.elements("mount_points") {
		_, before := settings.Entries(d.state.Values["mount_points"])[slot]
		if !before && settings.IsNull(mount["backup"]) && !isHostPath(settings.TextOf(mount["volume"])) {
			open = append(open, slot)
		}
	}
	if len(open) > 0 {
		d.diags.AddAttributeWarning(settings.At("mount_points"), "No backup will include "+strings.Join(open, ", "),
			"PVE leaves mount points out of backups unless told otherwise, in contrast to a VM's disks. Set backup = true, or backup = false to say that this is meant.")
	}
}

// checkOnce warns of what takes effect only when a container is made.
func (d *draft) checkOnce() {
	if d.creates() || d.reinstalls || len(d.replace) > 0 || !d.differs("ssh_keys") {
		return
	}
	d.diags.AddAttributeWarning(settings.At("ssh_keys"), "The keys inside the container stay as they are",
		"PVE sets them when a container is made or reinstalled. Change them inside, or change reinstall.trigger.")
}

// eachChange visits the configured settings that are known and differ from state.
func (d *draft) eachChange(visit settings.Visitor) {
	table.EachIn(path.Empty(), d.config.Object(), d.plan.Object(), d.state.Object(), func(s *settings.Setting, at path.Path, planned, held attr.Value) {
		if settings.IsKnown(planned) && (settings.IsNull(held) || !planned.Equal(held)) {
			visit(s, at, planned, held)
		}
	})
}
