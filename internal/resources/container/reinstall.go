package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// What a reinstallation does to a volume.
const (
	volumeKept      = "kept"
	volumeRebuilt   = "rebuilt"
	volumeDestroyed = "destroyed"
)

// sourceOf is the word in the marker of a container that is being made: what it is
// made from. A changed trigger is another source.
func sourceOf(d settings.Document) string {
	trigger := settings.TextOf(settings.Fields(d.Values["reinstall"])["trigger"])
	sum := sha256.Sum256([]byte(d.Text("template") + "\x00" + trigger))
	const enough = 8
	return hex.EncodeToString(sum[:enough])
}

// keptSlots are the mount points that a reinstallation keeps, sorted.
func keptSlots(d settings.Document) []string {
	return settings.ItemsOf(settings.Fields(d.Values["reinstall"])["keep"])
}

// planReinstall shows in the plan what becomes of each volume.
func (d *draft) planReinstall() {
	effects := d.effects()
	values := make(map[string]attr.Value, len(effects))
	var lines []string
	for _, slot := range slices.Sorted(maps.Keys(effects)) {
		values[slot] = types.StringValue(effects[slot])
		lines = append(lines, fmt.Sprintf("  %s: %s", slot, effects[slot]))
	}
	d.plan.Values["reinstallation"] = types.MapValueMust(types.StringType, values)
	d.forgetVolumes()
	d.diags.AddAttributeWarning(settings.At("template"), fmt.Sprintf("Container %d is reinstalled", d.state.Integer("vmid")),
		"It is stopped, destroyed and unpacked anew under its id. Kept volumes wait in a second container meanwhile. What becomes of its volumes:\n\n"+
			strings.Join(lines, "\n"))
}

// effects tells for each volume, by slot, what a reinstallation does to it.
func (d *draft) effects() map[string]string {
	effects := map[string]string{rootSlot: volumeRebuilt}
	kept := keptSlots(d.plan)
	wanted := settings.Entries(d.config.Values["mount_points"])
	for slot := range settings.Entries(d.state.Values["devices"]) {
		_, stays := wanted[slot]
		switch {
		case !volumeSlot.MatchString(slot) || slot == rootSlot:
		case slices.Contains(kept, slot):
			effects[slot] = volumeKept
		case stays:
			effects[slot] = volumeRebuilt
		default:
			effects[slot] = volumeDestroyed
		}
	}
	return effects
}

// forgetVolumes makes the ids of all volumes known after apply: a volume that comes
// back has another name.
func (d *draft) forgetVolumes() {
	if root := settings.Fields(d.plan.Values["root_volume"]); root != nil {
		root["volume"] = types.StringUnknown()
		d.plan.Values["root_volume"] = rootGroup.Object(root)
	}
	mounts := map[string]attr.Value{}
	configured := settings.Entries(d.config.Values["mount_points"])
	for slot, mount := range settings.Entries(d.plan.Values["mount_points"]) {
		attributes := settings.Fields(mount)
		if attributes == nil {
			mounts[slot] = mount
			continue
		}
		if settings.IsNull(settings.Fields(configured[slot])["volume"]) {
			attributes["volume"] = types.StringUnknown()
		}
		mounts[slot] = mountGroup.Object(attributes)
	}
	if len(mounts) > 0 {
		d.plan.Values["mount_points"] = mountGroup.Mapping(mounts)
	}
}

// checkReinstall refuses, before anything is touched, what could not be brought
// back.
func (c *checker) checkReinstall(ctx context.Context) {
	d, here := c.draft, settings.At("reinstall")
	vmid := d.state.Integer("vmid")
	c.checkKept()
	config, err := c.client.Containers.Pending(ctx, c.node, vmid)
	if err != nil {
		framework.AddAttributeError(d.diags, here, "read the container that is to be reinstalled", err)
		return
	}
	if config.Get("protection") == "1" {
		d.diags.AddAttributeError(settings.At("protection"), "A protected container is not reinstalled", "Set protection to false first, in an apply of its own.")
	}
	if lost := c.unwritable(config); len(lost) > 0 {
		d.diags.AddAttributeError(here, "What the container has could not be written again",
			"PVE takes these from root@pam alone, signed in with its password, so that a container made anew would lack them: "+strings.Join(lost, ", ")+". "+
				"Take them out in Proxmox VE first, or sign in so.")
	}
	if unknown := unknownVolumes(config.Current, append(listed(d.config, d.applied), keptSlots(d.plan)...)); len(unknown) > 0 && !mayTakeUnknown(d.plan) {
		d.diags.AddAttributeError(here, "The container has volumes that nobody listed",
			"They were not made by this configuration, and a reinstallation would destroy them: "+strings.Join(unknown, ", ")+". "+
				"Add them to mount_points and to reinstall.keep, remove them in Proxmox VE, or set on_destroy.unknown_disks to destroy.")
	}
	snapshots, err := c.client.Containers.Snapshots(ctx, c.node, vmid)
	switch {
	case err != nil:
		framework.AddAttributeError(d.diags, here, "list the container's snapshots", err)
	case len(snapshots) > 0:
		d.diags.AddAttributeError(here, "A container with snapshots is not reinstalled",
			"Its volumes cannot be moved, and the snapshots would be lost: "+strings.Join(snapshots, ", ")+". Delete them first.")
	}
}

// checkKept refuses to keep what there is not, or what has a name that would change.
func (c *checker) checkKept() {
	d, here := c.draft, settings.At("reinstall").AtName("keep")
	real := settings.Entries(d.state.Values["devices"])
	configured := settings.Entries(d.config.Values["mount_points"])
	for _, slot := range keptSlots(d.plan) {
		mount, listed := configured[slot]
		switch {
		case slot == rootSlot:
			d.diags.AddAttributeError(here, "The root volume is not kept", "A reinstallation is about a new root volume. Keep data on mount points.")
		case !mountSlot.MatchString(slot):
			d.diags.AddAttributeError(here, slot+" is no mount point", "Give slots such as mp0.")
		case !listed:
			d.diags.AddAttributeError(here, slot+" is not in mount_points", "What is kept has to be configured.")
		case settings.TextOf(real[slot]) == "":
			d.diags.AddAttributeError(here, slot+" does not exist", "The container has no volume there to keep.")
		case !settings.IsNull(settings.Fields(mount)["volume"]):
			d.diags.AddAttributeError(here, slot+" is configured by its volume's id", "The volume gets another name when it comes back: leave volume out, "+
				"or do not keep it. Folders and devices of the node need no keeping.")
		}
	}
}

// unwritable names the keys that this sign-in could not write again.
func (c *checker) unwritable(config *proxmox.GuestConfig) []string {
	if c.client.IsRoot() {
		return nil
	}
	var lost []string
	for key, value := range config.Current {
		switch {
		case key == "hookscript" || key == "lxc" || deviceSlot.MatchString(key):
			lost = append(lost, key)
		case mountSlot.MatchString(key) && !proxmox.ParseMount(value).IsVolume():
			lost = append(lost, key+" (bind mount or device)")
		case key == "features" && value != "nesting=1" && value != "nesting=0":
			lost = append(lost, "features")
		}
	}
	slices.Sort(lost)
	return lost
}

// reinstall rebuilds the container, or goes on with what an earlier run began.
func (j *job) reinstall(ctx context.Context) error {
	made, err := j.containerSpec(ctx)
	if err != nil {
		return err
	}
	kept := keptSlots(j.plan)
	for _, slot := range kept {
		delete(made.Settings, slot)
	}
	options := proxmox.PowerOptions{Progress: progress(ctx)}
	options.ShutdownTimeout, options.ForceStop = stopping(j.plan)
	done, err := j.client.Reinstall(ctx, proxmox.ReinstallSpec{
		Guest: j.guest, Keep: kept, New: made, Power: options,
		Check: checkUnknown(j.plan, append(listed(j.config, j.applied), kept...)),
	})
	j.take(done.Created, err)
	if err != nil {
		return err
	}
	j.rebuilt = true
	return j.finish(ctx, done.WasRunning || j.state.Text("status") == powerRunning)
}

// errNoNode says that nothing tells where to make a container.
var errNoNode = errors.New("no node is configured: set node, or the provider's defaults.node")
