package vm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// checkHardware checks what the table says of settings and what they say of each
// other.
func (d *draft) checkHardware() {
	d.EachChange(func(s *settings.Setting, at path.Path, _, held attr.Value) {
		if s.Fixed && settings.IsKnown(held) && len(d.Replaces) == 0 {
			d.Diags.AddAttributeError(at, fmt.Sprintf("%s cannot be changed", at),
				"It is given when the device is made. Take the device out of the configuration, apply, and add it anew: its content is lost.")
		}
	})
	for slot, disk := range d.Elements("disks") {
		here := settings.At("disks").AtMapKey(slot)
		d.checkBus(here, slot, disk)
		d.checkLimits(here.AtName("limits"), settings.Fields(disk["limits"]))
	}
	for _, g := range []*settings.Group{usbGroup, pciGroup} {
		for slot, device := range d.Elements(g.Name) {
			d.checkSource(settings.At(g.Name).AtMapKey(slot), device)
		}
	}
	d.checkProcessors()
	d.checkMachine()
	d.checkBalloon()
	d.checkProtected()
}

// checkProtected refuses to take volumes from a VM that stays protected.
func (d *draft) checkProtected() {
	if d.Creates() || !settings.IsTrue(d.State.Values["protection"]) || !settings.IsTrue(d.Plan.Values["protection"]) {
		return
	}
	for _, slot := range removedDrives(d.Applied, d.Config) {
		d.Diags.AddAttributeError(settings.At("protection"), "The VM is protected, so that "+slot+" cannot be removed",
			"PVE takes no drives from a protected VM. Set protection to false, or keep the drive.")
	}
}

// checkBus refuses settings that PVE knows for other buses only.
func (d *draft) checkBus(at path.Path, slot string, disk map[string]attr.Value) {
	bus := strings.TrimRight(slot, "0123456789")
	for i := range disksGroup.Settings {
		s := &disksGroup.Settings[i]
		value := disk[s.Name]
		if s.Buses == nil || slices.Contains(s.Buses, bus) || !settings.IsKnown(value) || value.Equal(s.None()) {
			continue
		}
		d.Diags.AddAttributeError(at.AtName(s.Name), fmt.Sprintf("%s is not for %s disks", s.Name, bus),
			fmt.Sprintf("PVE knows it for %s disks only.", strings.Join(s.Buses, ", ")))
	}
}

// limitNeeds are the bounds that others need beside them, limitExcludes those
// that others exclude.
var (
	limitKinds    = []string{"mbps", "iops"}
	limitSubjects = []string{"", "_read", "_write"}
)

func (d *draft) checkLimits(at path.Path, limits map[string]attr.Value) {
	for _, kind := range limitKinds {
		for _, subject := range limitSubjects {
			bound := kind + subject
			d.checkBeside(at, limits, bound+"_max", bound)
			d.checkBeside(at, limits, bound+"_max_seconds", bound+"_max")
			if subject != "" && !isZero(limits[bound]) && !isZero(limits[kind]) {
				d.Diags.AddAttributeError(at.AtName(bound), fmt.Sprintf("%s and %s exclude each other", bound, kind),
					"Bound all operations together, or reads and writes apart.")
			}
		}
	}
}

func (d *draft) checkBeside(at path.Path, limits map[string]attr.Value, name, needed string) {
	if !isZero(limits[name]) && isZero(limits[needed]) && !isUnknown(limits[needed]) {
		d.Diags.AddAttributeError(at.AtName(name), name+" needs "+needed, "PVE takes it only beside "+needed+", which it exceeds.")
	}
}

// isZero reports whether a bound is not there, or none.
func isZero(value attr.Value) bool {
	return !settings.IsKnown(value) || value.Equal(types.Int64Value(0)) || value.Equal(types.Float64Value(0))
}

func isUnknown(value attr.Value) bool { return value != nil && value.IsUnknown() }

// checkSource wants to know which device is meant.
func (d *draft) checkSource(at path.Path, device map[string]attr.Value) {
	mapping, host := device["mapping"], device["host"]
	switch {
	case settings.IsNull(mapping) && settings.IsNull(host):
		d.Diags.AddAttributeError(at, "Which device is not said", "Give mapping, the resource mapping of a device, or host.")
	case !settings.IsNull(mapping) && !settings.IsNull(host):
		d.Diags.AddAttributeError(at.AtName("host"), "mapping and host exclude each other", "Give one of them.")
	}
}

// checkProcessors refuses more plugged processors than there are.
func (d *draft) checkProcessors() {
	cpu := settings.Fields(d.Plan.Values["cpu"])
	plugged, cores, sockets := integerOf(cpu["vcpus"]), integerOf(cpu["cores"]), integerOf(cpu["sockets"])
	configured := settings.Fields(d.Config.Values["cpu"])
	if settings.IsKnown(configured["vcpus"]) && cores > 0 && sockets > 0 && plugged > cores*sockets {
		d.Diags.AddAttributeError(settings.At("cpu").AtName("vcpus"), "More processors are plugged in than there are",
			fmt.Sprintf("vcpus is %d, cores times sockets is %d.", plugged, cores*sockets))
	}
}

// checkMachine refuses a virtual IOMMU that PVE refuses: it would do so only
// when the guest is there already.
func (d *draft) checkMachine() {
	if settings.IsNull(d.Config.Values["machine"]) {
		return
	}
	machine, here := settings.Fields(d.Plan.Values["machine"]), settings.At("machine")
	model, viommu, bits := machine["type"], settings.TextOf(machine["viommu"]), integerOf(machine["aw_bits"])
	switch {
	case viommu == "intel" && !isUnknown(model) && !strings.Contains(settings.TextOf(model), "q35"):
		d.Diags.AddAttributeError(here.AtName("viommu"), "Intel's virtual IOMMU needs q35", "Set machine.type to q35, or viommu to virtio.")
	case viommu == "intel" && bits != 0 && bits != 39 && bits != 48:
		d.Diags.AddAttributeError(here.AtName("aw_bits"), "Intel's virtual IOMMU knows 39 and 48 bits", fmt.Sprintf("aw_bits is %d.", bits))
	case viommu == "" && bits != 0 && !isUnknown(machine["viommu"]):
		d.Diags.AddAttributeError(here.AtName("aw_bits"), "There is no virtual IOMMU", "aw_bits is the width of its addresses: set viommu.")
	}
}

// checkBalloon refuses a balloon that leaves more than there is.
func (d *draft) checkBalloon() {
	memory, configured := settings.Fields(d.Plan.Values["memory"]), settings.Fields(d.Config.Values["memory"])
	if mib := integerOf(memory["mib"]); settings.IsKnown(configured["balloon_mib"]) && mib > 0 && integerOf(memory["balloon_mib"]) > mib {
		d.Diags.AddAttributeError(settings.At("memory").AtName("balloon_mib"), "The balloon leaves more memory than there is",
			fmt.Sprintf("balloon_mib is %d, mib is %d.", integerOf(memory["balloon_mib"]), mib))
	}
}

// integerOf is a number's value, 0 when it is null or unknown.
func integerOf(value attr.Value) int64 {
	number, _ := value.(types.Int64)
	return number.ValueInt64()
}
