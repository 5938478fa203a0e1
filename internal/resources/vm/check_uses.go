package vm

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// hardware are the attributes whose keys PVE counts among the hardware.
var hardware = []string{
	"acpi", "hotplug", "kvm", "scsi_controller", "tablet", machineGroup.Name, smbiosGroup.Name, vgaGroup.Name, audioGroup.Name,
	rngGroup.Name, watchdogGroup.Name, serialGroup.Name, usbGroup.Name, pciGroup.Name,
}

// mapped are the groups whose devices come from resource mappings, with the words
// that [proxmox.Scope] has for them.
var mapped = map[string]string{usbGroup.Name: "usb", pciGroup.Name: "pci", virtiofsGroup.Name: "dir"}

// hwrng is the node's hardware source of random numbers, which is nobody's
// without a privilege of its own.
const hwrng = "/dev/hwrng"

// Uses are what the configuration asks for beside the making of a VM: of what a
// guest, or the template of a new one, has already nothing is written.
func (d *draft) Uses() []framework.Use {
	changed, objects := d.changes()
	asked := func(attributes ...string) bool {
		return slices.ContainsFunc(attributes, func(name string) bool { return changed[name] })
	}
	rng := settings.TextOf(settings.Fields(d.Plan.Values[rngGroup.Name])["source"])
	begins := !d.State.Provisioned()
	var uses []framework.Use
	use := func(asked bool, capability, action string) {
		if asked {
			uses = append(uses, framework.Use{Capability: capability, Action: action, Scope: objects, Spare: noObject(objects)})
		}
	}
	use(d.addsCloudInitDrive(), "vm.cloud-init", "add a cloud-init drive")
	use(asked(cdromGroup.Name), "vm.cdrom", "put images into the VM's drives")
	use(asked(hardware...), "vm.hardware", "set the VM's hardware")
	use(len(objects["usb"]) > 0, "vm.usb", "give the VM USB devices")
	use(len(objects["pci"]) > 0, "vm.pci", "give the VM PCI devices")
	use(asked(virtiofsGroup.Name), "vm.virtiofs", "share directories with the VM")
	use(asked(rngGroup.Name) && rng == hwrng, "vm.hwrng", "feed the VM from the node's random numbers")
	use(asked(startupGroup.Name), "vm.startup-order", "set when the VM starts")
	use(begins && waits(d.Plan), "vm.addresses", "wait for the VM's agent")
	use(begins && d.Plan.Text("wait_for") == waitCloudInit, "vm.cloud-init-status", "wait for cloud-init")
	return uses
}

// noObject spares what a storage or a mapping is needed for where none is named:
// an empty drive takes no image, and what is not known yet may be anything.
func noObject(objects proxmox.Scope) func(proxmox.Need) bool {
	return func(need proxmox.Need) bool {
		names, listed := objects[need.Object()]
		return listed && len(names) == 0
	}
}

// changes are the attributes that are written, and the storages of images and
// the mappings that they name.
func (d *draft) changes() (map[string]bool, proxmox.Scope) {
	changed, objects := map[string]bool{}, proxmox.Scope{"iso": nil}
	for _, object := range mapped {
		objects[object] = nil
	}
	d.EachChangeOf(d.has(), func(_ *settings.Setting, at path.Path, planned, _ attr.Value) {
		steps := at.Steps()
		name, _ := steps[0].(path.PathStepAttributeName)
		changed[string(name)] = true
		object, isMapped := mapped[string(name)]
		switch {
		case isMapped:
			slot, _ := steps[1].(path.PathStepElementKeyString)
			device := settings.Entries(d.Plan.Values[string(name)])[string(slot)]
			addObject(objects, object, settings.TextOf(settings.Fields(device)["mapping"]))
		case string(name) == cdromGroup.Name:
			storage, _, _ := proxmox.SplitVolID(settings.TextOf(planned))
			addObject(objects, "iso", storage)
		}
	})
	return changed, objects
}

func addObject(scope proxmox.Scope, object, name string) {
	if name != "" && !slices.Contains(scope[object], name) {
		scope[object] = append(scope[object], name)
	}
}

// has are the settings that the guest has, or that a new one gets from its
// template.
func (d *draft) has() attr.Value {
	if !d.Creates() || d.template == nil {
		return d.State.Object()
	}
	r := &settings.Reader{Values: guests.Wanted(d.template), Purpose: settings.Importing}
	return r.Object(table, "", nil)
}

// addsCloudInitDrive reports whether the guest lacks the drive through which PVE
// passes what is configured. Of what was not seen yet nobody can say.
func (d *draft) addsCloudInitDrive() bool {
	switch {
	case settings.IsNull(d.Config.Values[cloudInitGroup.Name]), d.Creates() && d.template == nil:
		return false
	case d.Creates():
		return !slices.ContainsFunc(slices.Collect(maps.Values(d.template.CDROMs())), proxmox.Disk.IsCloudInit)
	}
	devices := settings.Entries(d.State.Values["devices"])
	for slot := range devices {
		if drive, exists := d.diskInState(slot); exists && drive.IsCloudInit() {
			return false
		}
	}
	return devices != nil
}
