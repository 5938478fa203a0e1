package vm

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
	for slot, disk := range d.elements("disks") {
		d.checkDisk(settings.At("disks").AtMapKey(slot), slot, disk)
	}
	interfaces := settings.At("cloud_init").AtName("interfaces")
	for slot, config := range settings.Entries(settings.Fields(d.config.Values["cloud_init"])["interfaces"]) {
		d.checkAddress(interfaces.AtMapKey(slot).AtName("ipv4"), settings.Fields(config)["ipv4"])
		d.checkAddress(interfaces.AtMapKey(slot).AtName("ipv6"), settings.Fields(config)["ipv6"])
	}
	d.checkHardware()
	d.checkDrives()
	d.checkDescription()
	d.checkWait()
	d.checkRemovals()
}

// elements are the configured elements of a map of devices, in order of their
// slots.
func (d *draft) elements(name string) func(yield func(string, map[string]attr.Value) bool) {
	devices := settings.Entries(d.config.Values[name])
	return func(yield func(string, map[string]attr.Value) bool) {
		for _, slot := range slices.Sorted(maps.Keys(devices)) {
			if !yield(slot, settings.Fields(devices[slot])) {
				return
			}
		}
	}
}

func (d *draft) checkDisk(at path.Path, slot string, disk map[string]attr.Value) {
	if d.creates() || settings.IsNull(d.state.Values["devices"]) {
		return // Nothing was seen of the guest yet.
	}
	real, exists := d.diskInState(slot)
	switch {
	case exists && real.IsCDROM():
		d.diags.AddAttributeError(at, slot+" is a CD-ROM drive", "The VM has "+slot+"="+real.String()+". A disk needs another slot.")
		return
	case !exists:
		d.checkNewDisk(at, slot, disk)
		return
	case !d.attached(slot, real, disk):
		d.diags.AddAttributeError(at.AtName("attach"), slot+" has a volume already", "It is "+real.Volume+". A volume is attached to a slot that is new.")
	case real.Size != nil:
		d.checkGrowth(at, slot, disk["size_gib"], *real.Size, "is")
	}
}

// diskInState is the drive that the guest has at a slot, configured or not.
func (d *draft) diskInState(slot string) (proxmox.Disk, bool) {
	device := settings.TextOf(settings.Entries(d.state.Values["devices"])[slot])
	if device == "" {
		return proxmox.Disk{}, false
	}
	disk, err := proxmox.ParseDisk(device)
	return disk, err == nil
}

// checkGrowth refuses to make a disk smaller than it is.
func (d *draft) checkGrowth(at path.Path, slot string, want attr.Value, real proxmox.Size, verb string) {
	if !settings.IsKnown(want) || settings.BytesOf(want) >= real || len(d.replace) > 0 {
		return
	}
	d.diags.AddAttributeError(at.AtName("size_gib"), slot+" would shrink",
		fmt.Sprintf("The disk %s %s, configured is %s. PVE cannot shrink a disk: configure at least its size.", verb, real, settings.BytesOf(want)))
}

func (d *draft) checkNewDisk(at path.Path, slot string, disk map[string]attr.Value) {
	if !settings.IsNull(disk["attach"]) {
		d.checkAttach(at, slot, disk)
		return
	}
	if settings.IsNull(disk["size_gib"]) {
		d.diags.AddAttributeError(at.AtName("size_gib"), slot+" would be a new disk and needs a size",
			"There is no disk at "+slot+" yet, so that a new, empty one is made: give size_gib.")
	}
}

func (d *draft) checkAddress(at path.Path, config attr.Value) {
	attributes := settings.Fields(config)
	address, gateway, method := attributes["address"], attributes["gateway"], settings.TextOf(attributes["method"])
	switch {
	case method != "" && method != settings.MethodStatic && !settings.IsNull(address):
		d.diags.AddAttributeError(at.AtName("method"), "An address is static", "method is "+method+", which leaves no room for a configured address.")
	case method == settings.MethodStatic && settings.IsNull(address):
		d.diags.AddAttributeError(at.AtName("address"), "No address is configured", "method is "+settings.MethodStatic+": give the address with its prefix length.")
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
	longest := proxmox.Marker{UID: proxmox.NewUID(), VMID: framework.MaxVMID, Creating: true}
	if _, err := proxmox.JoinDescription(settings.TextOf(description), longest); err != nil {
		d.diags.AddAttributeError(settings.At("description"), "The description cannot be used", err.Error())
	}
}

// checkWait refuses to wait for an agent that PVE does not talk to.
func (d *draft) checkWait() {
	enabled := settings.Fields(d.plan.Values["agent"])["enabled"]
	if waits(d.plan) && settings.IsKnown(enabled) && !isTrue(enabled) {
		d.diags.AddAttributeError(settings.At("wait_for"), "There is no agent to wait for", "agent.enabled is false, so that PVE does not talk to an agent in the VM. Enable it.")
	}
}

// checkRemovals refuses to take away what the guest needs. PVE's own interface
// would let it.
func (d *draft) checkRemovals() {
	if d.creates() || len(d.replace) > 0 {
		return
	}
	for _, slot := range d.removed("network") {
		if slot == firstSlot(d.state.Values["mac_addresses"]) {
			d.diags.AddAttributeError(settings.At("network"), slot+" cannot be removed", "It is the VM's first network device, to which its address and its cloud-init data belong. Set link_down to cut it off.")
		}
	}
}

// removed lists the slots that were applied and are no longer configured.
func (d *draft) removed(name string) []string {
	config := d.config.Values[name]
	if config != nil && config.IsUnknown() {
		return nil
	}
	kept := settings.Entries(config)
	return slices.DeleteFunc(d.applied.Slots(settings.At(name)), func(slot string) bool {
		_, configured := kept[slot]
		return configured
	})
}

// firstSlot is the lowest slot of a map, by number.
func firstSlot(devices attr.Value) string {
	slots := slices.SortedFunc(maps.Keys(settings.Entries(devices)), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if len(slots) == 0 {
		return ""
	}
	return slots[0]
}

func isTrue(value attr.Value) bool {
	flag, ok := value.(interface{ ValueBool() bool })
	return ok && flag.ValueBool()
}
