package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
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
	d.Plan.Values["reinstallation"] = types.MapValueMust(types.StringType, values)
	d.forgetVolumes()
	d.Diags.AddAttributeWarning(settings.At("template"), fmt.Sprintf("Container %d is reinstalled", d.State.Integer("vmid")),
		"It is stopped, destroyed and unpacked anew under its id. Kept volumes wait in a second container meanwhile. What becomes of its volumes:\n\n"+
			strings.Join(lines, "\n"))
}

// volumes are the volumes, bind mounts and devices that the container has mounted
// or detached, in order of their slots.
func (d *draft) volumes() iter.Seq2[string, proxmox.Mount] {
	devices := settings.Entries(d.State.Values["devices"])
	return func(yield func(string, proxmox.Mount) bool) {
		for _, slot := range slices.Sorted(maps.Keys(devices)) {
			if volumeSlot.MatchString(slot) && !yield(slot, proxmox.ParseMount(d.Device(slot))) {
				return
			}
		}
	}
}

// effects tells for each volume, by slot, what a reinstallation does to it.
func (d *draft) effects() map[string]string {
	effects := map[string]string{rootSlot: volumeRebuilt}
	kept := keptSlots(d.Plan)
	wanted := settings.Entries(d.Config.Values["mount_points"])
	for slot := range d.volumes() {
		_, stays := wanted[slot]
		switch {
		case slot == rootSlot:
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
	if root := settings.Fields(d.Plan.Values["root_volume"]); root != nil {
		root["volume"] = types.StringUnknown()
		d.Plan.Values["root_volume"] = rootGroup.Object(root)
	}
	mounts := map[string]attr.Value{}
	configured := settings.Entries(d.Config.Values["mount_points"])
	for slot, mount := range settings.Entries(d.Plan.Values["mount_points"]) {
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
		d.Plan.Values["mount_points"] = mountGroup.Mapping(mounts)
	}
}

// checkReinstall refuses, before anything is touched, what could not be brought
// back.
func (d *draft) checkReinstall(ctx context.Context, c *guests.Checker) {
	here := settings.At("reinstall")
	vmid := d.State.Integer("vmid")
	d.checkKept()
	config, err := c.Client.Containers.Pending(ctx, c.Node, vmid)
	if err != nil {
		framework.AddAttributeError(d.Diags, here, "read the container that is to be reinstalled", err)
		return
	}
	if config.Get("protection") == "1" {
		d.Diags.AddAttributeError(settings.At("protection"), "A protected container is not reinstalled", "Set protection to false first, in an apply of its own.")
	}
	if lost := unwritable(c, config); len(lost) > 0 {
		d.Diags.AddAttributeError(here, "What the container has could not be written again",
			"PVE takes these from root@pam alone, signed in with its password, so that a container made anew would lack them: "+strings.Join(lost, ", ")+". "+
				"Take them out in Proxmox VE first, or sign in so.")
	}
	if err := kind.CheckUnknown(d.Plan, guests.Everything(config), d.listed()); err != nil {
		d.Diags.AddAttributeError(here, "The container has volumes that nobody listed", "A reinstallation would destroy them: "+err.Error()+
			". Or add them to mount_points and to reinstall.keep.")
	}
	snapshots, err := c.Client.Containers.Snapshots(ctx, c.Node, vmid)
	switch {
	case err != nil:
		framework.AddAttributeError(d.Diags, here, "list the container's snapshots", err)
	case len(snapshots) > 0:
		d.Diags.AddAttributeError(here, "A container with snapshots is not reinstalled",
			"Its volumes cannot be moved, and the snapshots would be lost: "+strings.Join(snapshots, ", ")+". Delete them first.")
	}
}

// checkKept refuses to keep what there is not, or what has a name that would change.
func (d *draft) checkKept() {
	here := settings.At("reinstall").AtName("keep")
	configured := settings.Entries(d.Config.Values["mount_points"])
	for _, slot := range keptSlots(d.Plan) {
		mount, listed := configured[slot]
		switch {
		case slot == rootSlot:
			d.Diags.AddAttributeError(here, "The root volume is not kept", "A reinstallation is about a new root volume. Keep data on mount points.")
		case !mountSlot.MatchString(slot):
			d.Diags.AddAttributeError(here, slot+" is no mount point", "Give slots such as mp0.")
		case !listed:
			d.Diags.AddAttributeError(here, slot+" is not in mount_points", "What is kept has to be configured.")
		case d.Device(slot) == "":
			d.Diags.AddAttributeError(here, slot+" does not exist", "The container has no volume there to keep.")
		case !settings.IsNull(settings.Fields(mount)["volume"]):
			d.Diags.AddAttributeError(here, slot+" is configured by its volume's id", "The volume gets another name when it comes back: leave volume out, "+
				"or do not keep it. Folders and devices of the node need no keeping.")
		}
	}
}

// unwritable names the keys that this sign-in could not write again.
func unwritable(c *guests.Checker, config *proxmox.GuestConfig) []string {
	if c.Client.IsRoot() {
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

// listed are the slots of the volumes that may go, or are kept.
func (d *draft) listed() []string { return withConfigured(d.Known, d.Config, d.Plan) }

func withConfigured(known []string, config, plan settings.Document) []string {
	slots := slices.AppendSeq(slices.Clone(known), maps.Keys(settings.Entries(config.Values["mount_points"])))
	return append(slots, keptSlots(plan)...)
}

// reinstall rebuilds the container, or goes on with what an earlier run began.
func (j *job) reinstall(ctx context.Context) error {
	made, err := j.containerSpec(ctx)
	if err != nil {
		return err
	}
	kept := keptSlots(j.Plan)
	for _, slot := range kept {
		delete(made.Settings, slot)
	}
	created, err := j.Client.Reinstall(ctx, proxmox.ReinstallSpec{
		Guest: j.Guest, Keep: kept, New: made, Power: j.PowerOptions(ctx),
		Ran: j.State.Text("status") == guests.PowerRunning,
		Check: func(config *proxmox.GuestConfig) error {
			return kind.CheckUnknown(j.Plan, guests.Everything(config), withConfigured(j.Known, j.Config, j.Plan))
		},
	})
	j.Take(created, err)
	if err != nil {
		return err
	}
	return j.Finish(ctx, j)
}

// errNoNode says that nothing tells where to make a container.
var errNoNode = errors.New("no node is configured: set node, or the provider's defaults.node")
