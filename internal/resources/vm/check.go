package vm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// CheckSettings checks what can be known without a call.
func (d *draft) CheckSettings() {
	for slot, disk := range d.Elements("disks") {
		d.checkDisk(settings.At("disks").AtMapKey(slot), slot, disk)
	}
	interfaces := settings.At("cloud_init").AtName("interfaces")
	for slot, config := range settings.Entries(settings.Fields(d.Config.Values["cloud_init"])["interfaces"]) {
		d.CheckAddress(interfaces.AtMapKey(slot).AtName("ipv4"), settings.Fields(config)["ipv4"])
		d.CheckAddress(interfaces.AtMapKey(slot).AtName("ipv6"), settings.Fields(config)["ipv6"])
	}
	d.checkHardware()
	d.checkDrives()
	d.CheckDescription("")
	d.checkWait()
	d.checkRemovals()
}

func (d *draft) checkDisk(at path.Path, slot string, disk map[string]attr.Value) {
	if d.Creates() || settings.IsNull(d.State.Values["devices"]) {
		return // Nothing was seen of the guest yet.
	}
	real, exists := d.diskInState(slot)
	switch {
	case exists && real.IsCDROM():
		d.Diags.AddAttributeError(at, slot+" is a CD-ROM drive", "The VM has "+slot+"="+real.String()+". A disk needs another slot.")
		return
	case !exists:
		d.checkNewDisk(at, slot, disk)
		return
	case !d.attached(slot, real, disk):
		d.Diags.AddAttributeError(at.AtName("attach"), slot+" has a volume already", "It is "+real.Volume+". A volume is attached to a slot that is new.")
	case real.Size != nil:
		d.checkGrowth(at, slot, disk["size_gib"], *real.Size, "is")
	}
}

// diskInState is the drive that the guest has at a slot, configured or not.
func (d *draft) diskInState(slot string) (proxmox.Disk, bool) {
	device := settings.TextOf(settings.Entries(d.State.Values["devices"])[slot])
	if device == "" {
		return proxmox.Disk{}, false
	}
	disk, err := proxmox.ParseDisk(device)
	return disk, err == nil
}

// checkGrowth refuses to make a disk smaller than it is.
func (d *draft) checkGrowth(at path.Path, slot string, want attr.Value, real proxmox.Size, verb string) {
	if !settings.IsKnown(want) || settings.BytesOf(want) >= real || len(d.Replaces) > 0 {
		return
	}
	d.Diags.AddAttributeError(at.AtName("size_gib"), slot+" would shrink",
		fmt.Sprintf("The disk %s %s, configured is %s. PVE cannot shrink a disk: configure at least its size.", verb, real, settings.BytesOf(want)))
}

func (d *draft) checkNewDisk(at path.Path, slot string, disk map[string]attr.Value) {
	if !settings.IsNull(disk["attach"]) {
		d.checkAttach(at, slot, disk)
		return
	}
	if settings.IsNull(disk["size_gib"]) {
		d.Diags.AddAttributeError(at.AtName("size_gib"), slot+" would be a new disk and needs a size",
			"There is no disk at "+slot+" yet, so that a new, empty one is made: give size_gib.")
	}
}

// checkWait refuses to wait for an agent that PVE does not talk to.
func (d *draft) checkWait() {
	enabled := settings.Fields(d.Plan.Values["agent"])["enabled"]
	if waits(d.Plan) && settings.IsKnown(enabled) && !settings.IsTrue(enabled) {
		d.Diags.AddAttributeError(settings.At("wait_for"), "There is no agent to wait for", "agent.enabled is false, so that PVE does not talk to an agent in the VM. Enable it.")
	}
}

// checkRemovals refuses to take away what the guest needs. PVE's own interface
// would let it.
func (d *draft) checkRemovals() {
	if d.Creates() || len(d.Replaces) > 0 {
		return
	}
	for _, slot := range guests.Removed("network", d.Applied, d.Config) {
		if slot == firstSlot(d.State.Values["mac_addresses"]) {
			d.Diags.AddAttributeError(settings.At("network"), slot+" cannot be removed", "It is the VM's first network device, to which its address and its cloud-init data belong. Set link_down to cut it off.")
		}
	}
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
