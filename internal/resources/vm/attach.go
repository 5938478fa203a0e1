package vm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// checkAttach wants the volume for a new slot to be an unused one of this very
// VM, and nothing else said of it: what it has is known only then.
func (d *draft) checkAttach(at path.Path, slot string, disk map[string]attr.Value) {
	for _, name := range []string{"size_gib", "storage", "format"} {
		if !settings.IsNull(disk[name]) {
			d.Diags.AddAttributeError(at.AtName(name), fmt.Sprintf("%s of %s is what the volume has", name, slot), "Attach the volume first, and change it afterwards.")
		}
	}
	volume := settings.TextOf(disk["attach"])
	if volume == "" {
		return // Not known yet.
	}
	var unused []string
	for slot, device := range settings.Entries(d.State.Values["devices"]) {
		if held, err := proxmox.ParseDisk(settings.TextOf(device)); err == nil && strings.HasPrefix(slot, "unused") {
			unused = append(unused, held.Volume)
		}
	}
	if slices.Contains(unused, volume) {
		return
	}
	slices.Sort(unused)
	detail := "It has no unused volumes."
	if len(unused) > 0 {
		detail = "It has these: " + strings.Join(unused, ", ") + "."
	}
	d.Diags.AddAttributeError(at.AtName("attach"), volume+" is no unused volume of the VM", detail)
}

// attached reports whether a disk has the volume that it is to be given; what
// has been attached may have been moved since.
func (d *draft) attached(slot string, real proxmox.Disk, disk map[string]attr.Value) bool {
	held := settings.Fields(settings.Entries(d.State.Values["disks"])[slot])
	return !settings.IsKnown(disk["attach"]) || settings.TextOf(disk["attach"]) == real.Volume || disk["attach"].Equal(held["attach"])
}

// checkUnused is [draft.checkAttach] once more, right before the change.
func checkUnused(config *proxmox.GuestConfig, slot, volume string) error {
	for _, disk := range config.Unused() {
		if disk.Volume == volume {
			return nil
		}
	}
	return fmt.Errorf("%s cannot be attached as %s: it is no unused volume of the VM", volume, slot)
}
