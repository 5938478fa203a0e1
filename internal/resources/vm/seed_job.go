package vm

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// seedWork is a job's part that is about the guest's seed.
type seedWork struct {
	// wanted is the seed as planned, completed once its image is made; nil for
	// none.
	wanted *seedModel
	note   seedNote
	// heldSlot is the drive that the state names, "" for none.
	heldSlot string
	// macs are the addresses that the seed gives to network devices which are
	// still to be made.
	macs map[string]string
}

// placeSeed uploads the image that is planned, before the guest's configuration
// names it.
func (j *job) placeSeed(ctx context.Context, config *proxmox.GuestConfig) error {
	held, _ := seedOf(ctx, j.State.Values["seed"], j.Diags)
	j.seed.heldSlot = held.Slot.ValueString()
	wanted, ok := seedOf(ctx, j.Plan.Values["seed"], j.Diags)
	if !ok {
		j.abandonSeed(ctx)
		return nil
	}
	given, _ := seedOf(ctx, j.Config.Values["seed"], j.Diags)
	j.seed.wanted = &wanted
	j.seed.note.Given = !given.InstanceID.IsNull()
	if wanted.Slot.IsUnknown() {
		wanted.Slot = types.StringValue(j.seedSlot(config))
	}
	if !wanted.VolumeID.IsUnknown() {
		return nil
	}
	made, id, err := given.Image(seeds.Context{Scope: j.Guest.UID, HostName: j.Plan.Text("name"), MACs: j.seedMACs(config, given)})
	if err != nil {
		return fmt.Errorf("make the seed: %w", err)
	}
	digest, err := made.SHA256()
	if err != nil {
		return fmt.Errorf("make the seed: %w", err)
	}
	name := seeds.Name{Storage: wanted.Storage.ValueString(), UID: j.Guest.UID, SHA256: digest}
	wanted.Settle(name, id, made.Size())
	j.retireSeed(ctx, seedImage{j.Guest.Node, name.String()})
	if _, err := seeds.Put(ctx, j.Client, j.Guest.Node, name, made); err != nil {
		return fmt.Errorf("upload the seed: %w", err)
	}
	return nil
}

// Leave takes the guest's seed out of its drive where it is to be made anew on the
// node that the guest moves to: PVE moves no VM that has an image of its node.
func (j *job) Leave(ctx context.Context) error {
	if planned, ok := seedOf(ctx, j.Plan.Values["seed"], j.Diags); ok && !planned.VolumeID.IsUnknown() {
		return nil
	}
	err := j.Configure(ctx, func(config *proxmox.GuestConfig) (proxmox.ConfigUpdate, error) {
		update := proxmox.ConfigUpdate{Set: map[string]string{}}
		for slot, drive := range config.CDROMs() {
			if j.isOwnSeed(drive.Volume) {
				update.Set[slot] = emptyDrive
			}
		}
		for slot, value := range config.Pending {
			if update.Set[slot] == "" && j.isOwnSeed(mediumIn(value)) {
				update.Revert = append(update.Revert, slot)
			}
		}
		return update, nil
	})
	if err != nil {
		return fmt.Errorf("take the seed out of its drive, to move the VM: %w", err)
	}
	return nil
}

// abandonSeed remembers that the image in state is to go.
func (j *job) abandonSeed(ctx context.Context) {
	old, ok := j.heldSeed(ctx)
	if ok && !slices.Contains(j.seed.note.Outdated, old) {
		j.seed.note.Outdated = append(j.seed.note.Outdated, old)
	}
}

// heldSeed is the image in state.
func (j *job) heldSeed(ctx context.Context) (seedImage, bool) {
	held, ok := seedOf(ctx, j.State.Values["seed"], j.Diags)
	node := j.seed.note.Node
	if node == "" {
		node = j.Guest.Node
	}
	return seedImage{node, held.VolumeID.ValueString()}, ok && held.VolumeID.ValueString() != ""
}

// retireSeed remembers that another image takes the place of the one in state.
// Until the state is written, a failure would leave the new one: it is on the
// list of what is to go, too.
func (j *job) retireSeed(ctx context.Context, fresh seedImage) {
	old, exists := j.heldSeed(ctx)
	note := &j.seed.note
	note.Outdated = slices.DeleteFunc(note.Outdated, func(each seedImage) bool { return each == fresh || each == old })
	if exists && old != fresh {
		note.Outdated = append(note.Outdated, old)
	}
	note.Outdated = append(note.Outdated, fresh)
	note.Node = fresh.Node
}

// seedSlot is the drive for a seed that names none.
func (j *job) seedSlot(config *proxmox.GuestConfig) string {
	drives := config.CDROMs()
	for slot, drive := range drives {
		if drive.IsCloudInit() {
			return slot
		}
	}
	for _, slot := range cloudInitSlots {
		_, configured := settings.Entries(j.Config.Values["cdrom"])[slot]
		_, isDisk := settings.Entries(j.Config.Values["disks"])[slot]
		if drive, exists := drives[slot]; !configured && !isDisk && (config.Wanted(slot) == "" || exists && drive.Volume == noMedium) {
			return slot
		}
	}
	return cloudInitSlots[0]
}

// seedMACs are the addresses of the network devices as they will be.
func (j *job) seedMACs(config *proxmox.GuestConfig, given seedModel) map[string]string {
	macs := map[string]string{}
	for slot, nic := range config.NICs() {
		if nic.MAC != nil {
			macs[slot] = *nic.MAC
		}
	}
	for slot, device := range settings.Entries(j.Plan.Values["network"]) {
		if mac := settings.Fields(device)["mac_address"]; settings.IsKnown(mac) {
			macs[slot] = settings.TextOf(mac)
		}
		if _, spoken := given.Interfaces.Elements()[slot]; spoken && macs[slot] == "" {
			macs[slot] = newMAC()
		}
	}
	j.seed.macs = macs
	return macs
}

// newMAC is a random address as PVE makes them: Proxmox's own prefix.
func newMAC() string {
	tail := make([]byte, 3)
	_, _ = rand.Read(tail) // Never fails.
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", tail[0], tail[1], tail[2])
}

// attachSeed puts the seed into its drive, and takes one that is no longer
// wanted out of its drive. real are the values found, now the ones wanted.
func (j *job) attachSeed(real, now map[string]string) {
	slot := j.seed.heldSlot
	if now[slot] == real[slot] && j.isOwnSeed(mediumIn(real[slot])) {
		now[slot] = emptyDrive
	}
	if j.seed.wanted == nil {
		return
	}
	slot, volid := j.seed.wanted.Slot.ValueString(), j.seed.wanted.VolumeID.ValueString()
	now[slot] = volid + ",media=cdrom"
	if mediumIn(real[slot]) == volid {
		now[slot] = real[slot]
	}
}

func mediumIn(drive string) string {
	volume, _ := medium{}.Get(drive)
	return volume
}

// isOwnSeed reports whether a volume is a seed of this very guest.
func (j *job) isOwnSeed(volid string) bool {
	name, ok := seeds.ParseName(volid)
	return ok && name.UID == j.Guest.UID
}

// dropSeeds deletes the images that are no longer in use, once the guest's
// configuration was read after the change. One that another VM came to hold, as a
// copy of the guest does, waits for the next time.
func (j *job) dropSeeds(ctx context.Context) {
	j.keepSeed()
	j.seed.note.Outdated = slices.DeleteFunc(j.seed.note.Outdated, func(each seedImage) bool {
		if j.Latest == nil || j.Latest.SlotOf(each.VolID) != "" {
			return false
		}
		users, err := otherUsers(ctx, j.Client, each)
		if err == nil && len(users) == 0 {
			err = j.Client.Storage.Delete(ctx, each.Node, each.VolID)
		}
		framework.AddWarning(j.Diags, "delete the outdated seed "+each.VolID, err)
		return err == nil && len(users) == 0
	})
}

// keepSeed takes the image that is wanted off the list of those that are to go.
func (j *job) keepSeed() {
	if j.seed.wanted == nil {
		return
	}
	current := seedImage{j.seed.note.Node, j.seed.wanted.VolumeID.ValueString()}
	j.seed.note.Outdated = slices.DeleteFunc(j.seed.note.Outdated, func(each seedImage) bool { return each == current })
}

// saveSeed writes the seed into a state. Without an image nothing is known of
// one.
func (j *job) saveSeed(ctx context.Context, state settings.Document) {
	j.keepSeed()
	if j.seed.wanted != nil {
		state.Values["seed"] = seedValue(ctx, state, *j.seed.wanted, j.Diags)
		return
	}
	planned, ok := seedOf(ctx, state.Values["seed"], j.Diags)
	if !ok {
		return
	}
	planned.Lose()
	for _, each := range []*types.String{&planned.InstanceID, &planned.Slot} {
		if each.IsUnknown() {
			*each = types.StringNull()
		}
	}
	state.Values["seed"] = seedValue(ctx, state, planned, j.Diags)
}
