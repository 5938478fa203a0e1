package vm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// visitor is given each setting that the configuration names: its path, what is
// planned, and what is in state, nil where what would hold it is not there.
type visitor func(s *setting, at path.Path, planned, held attr.Value)

// each visits the configured settings of a group, in order of their names.
func (g *group) each(at path.Path, config, planned, held attr.Value, visit visitor) {
	if g.slots == nil {
		g.eachIn(at, config, planned, held, visit)
		return
	}
	configured := entries(config)
	for _, slot := range slices.Sorted(maps.Keys(configured)) {
		g.eachIn(at.AtMapKey(slot), configured[slot], entries(planned)[slot], entries(held)[slot], visit)
	}
}

func (g *group) eachIn(at path.Path, config, planned, held attr.Value, visit visitor) {
	given, wanted, had := fields(config), fields(planned), fields(held)
	for i := range g.settings {
		if s := &g.settings[i]; !isNull(given[s.name]) {
			visit(s, at.AtName(s.name), wanted[s.name], had[s.name])
		}
	}
	for _, sub := range g.groups {
		sub.each(at.AtName(sub.name), given[sub.name], wanted[sub.name], had[sub.name], visit)
	}
}

// eachChange visits the configured settings that are known and differ from
// state.
func (d *draft) eachChange(visit visitor) {
	table.eachIn(path.Empty(), d.config.object(), d.plan.object(), d.state.object(), func(s *setting, at path.Path, planned, held attr.Value) {
		if isKnown(planned) && (isNull(held) || !planned.Equal(held)) {
			visit(s, at, planned, held)
		}
	})
}

// checkRoot refuses what PVE takes from root@pam alone, signed in by password.
func (c *checker) checkRoot() {
	if c.client.IsRoot() {
		return
	}
	c.draft.eachChange(func(s *setting, at path.Path, planned, _ attr.Value) {
		if s.root == nil || !s.root(s.form.print(planned)) {
			return
		}
		c.draft.diags.AddAttributeError(at, fmt.Sprintf("Only root@pam can set %s", at),
			"PVE takes this from root@pam alone, signed in with its password: it refuses it even to a token of root. "+
				"Sign in so, or set it on the node, where it stays as it is while it is not configured here.")
	})
}

// checkSince refuses settings that the cluster's version does not know.
func (c *checker) checkSince(ctx context.Context) {
	var version proxmox.Version
	asked := false
	c.draft.eachChange(func(s *setting, at path.Path, _, _ attr.Value) {
		if s.since == 0 || c.draft.diags.HasError() {
			return
		}
		if !asked {
			var err error
			if version, err = c.client.Cluster.Version(ctx); err != nil {
				framework.AddError(c.draft.diags, "read the cluster's version", err)
				return
			}
			asked = true
		}
		if version.Major < s.since {
			c.draft.diags.AddAttributeError(at, fmt.Sprintf("PVE %d does not know %s", version.Major, at),
				fmt.Sprintf("It came with PVE %d. Leave it out here.", s.since))
		}
	})
}

// checkHardware checks what the table says of settings and what they say of each
// other.
func (d *draft) checkHardware() {
	d.eachChange(func(s *setting, at path.Path, _, held attr.Value) {
		if s.fixed && isKnown(held) && len(d.replace) == 0 {
			d.diags.AddAttributeError(at, fmt.Sprintf("%s cannot be changed", at),
				"It is given when the device is made. Take the device out of the configuration, apply, and add it anew: its content is lost.")
		}
	})
	for slot, disk := range d.elements("disks") {
		here := at("disks").AtMapKey(slot)
		d.checkBus(here, slot, disk)
		d.checkLimits(here.AtName("limits"), fields(disk["limits"]))
	}
	for _, g := range []*group{usbGroup, pciGroup} {
		for slot, device := range d.elements(g.name) {
			d.checkSource(at(g.name).AtMapKey(slot), device)
		}
	}
	d.checkProcessors()
	d.checkBalloon()
	d.checkProtected()
}

// checkProtected refuses to take volumes from a VM that stays protected.
func (d *draft) checkProtected() {
	if d.creates() || !isTrue(d.state.values["protection"]) || !isTrue(d.plan.values["protection"]) {
		return
	}
	for _, slot := range removedDrives(d.applied, d.config) {
		d.diags.AddAttributeError(at("protection"), "The VM is protected, so that "+slot+" cannot be removed",
			"PVE takes no drives from a protected VM. Set protection to false, or keep the drive.")
	}
}

// checkBus refuses settings that PVE knows for other buses only.
func (d *draft) checkBus(at path.Path, slot string, disk map[string]attr.Value) {
	bus := strings.TrimRight(slot, "0123456789")
	for i := range disksGroup.settings {
		s := &disksGroup.settings[i]
		value := disk[s.name]
		if s.buses == nil || slices.Contains(s.buses, bus) || !isKnown(value) || value.Equal(s.none()) {
			continue
		}
		d.diags.AddAttributeError(at.AtName(s.name), fmt.Sprintf("%s is not for %s disks", s.name, bus),
			fmt.Sprintf("PVE knows it for %s disks only.", strings.Join(s.buses, ", ")))
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
				d.diags.AddAttributeError(at.AtName(bound), fmt.Sprintf("%s and %s exclude each other", bound, kind),
					"Bound all operations together, or reads and writes apart.")
			}
		}
	}
}

func (d *draft) checkBeside(at path.Path, limits map[string]attr.Value, name, needed string) {
	if !isZero(limits[name]) && isZero(limits[needed]) && !isUnknown(limits[needed]) {
		d.diags.AddAttributeError(at.AtName(name), name+" needs "+needed, "PVE takes it only beside "+needed+", which it exceeds.")
	}
}

// isZero reports whether a bound is not there, or none.
func isZero(value attr.Value) bool {
	return !isKnown(value) || value.Equal(types.Int64Value(0)) || value.Equal(types.Float64Value(0))
}

func isUnknown(value attr.Value) bool { return value != nil && value.IsUnknown() }

// checkSource wants to know which device is meant.
func (d *draft) checkSource(at path.Path, device map[string]attr.Value) {
	mapping, host := device["mapping"], device["host"]
	switch {
	case isNull(mapping) && isNull(host):
		d.diags.AddAttributeError(at, "Which device is not said", "Give mapping, the resource mapping of a device, or host.")
	case !isNull(mapping) && !isNull(host):
		d.diags.AddAttributeError(at.AtName("host"), "mapping and host exclude each other", "Give one of them.")
	}
}

// checkProcessors refuses more plugged processors than there are.
func (d *draft) checkProcessors() {
	cpu := fields(d.plan.values["cpu"])
	plugged, cores, sockets := integerOf(cpu["vcpus"]), integerOf(cpu["cores"]), integerOf(cpu["sockets"])
	configured := fields(d.config.values["cpu"])
	if isKnown(configured["vcpus"]) && cores > 0 && sockets > 0 && plugged > cores*sockets {
		d.diags.AddAttributeError(at("cpu").AtName("vcpus"), "More processors are plugged in than there are",
			fmt.Sprintf("vcpus is %d, cores times sockets is %d.", plugged, cores*sockets))
	}
}

// checkBalloon refuses a balloon that leaves more than there is.
func (d *draft) checkBalloon() {
	memory, configured := fields(d.plan.values["memory"]), fields(d.config.values["memory"])
	if mib := integerOf(memory["mib"]); isKnown(configured["balloon_mib"]) && mib > 0 && integerOf(memory["balloon_mib"]) > mib {
		d.diags.AddAttributeError(at("memory").AtName("balloon_mib"), "The balloon leaves more memory than there is",
			fmt.Sprintf("balloon_mib is %d, mib is %d.", integerOf(memory["balloon_mib"]), mib))
	}
}

// integerOf is a number's value, 0 when it is null or unknown.
func integerOf(value attr.Value) int64 {
	number, _ := value.(types.Int64)
	return number.ValueInt64()
}
