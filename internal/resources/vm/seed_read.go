package vm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// readSeed looks whether the seed is in its drive and on the guest's node. One
// that is not is made again by the next apply.
func (f refresh) readSeed(ctx context.Context, state settings.Document) {
	values := guests.Wanted(f.Look.Config)
	held, ok := seedOf(ctx, state.Values["seed"], f.Diags)
	if !ok && f.Importing {
		f.findSeed(ctx, state, values)
		return
	}
	volid := held.VolumeID.ValueString()
	if !ok || volid == "" {
		return
	}
	size, err := seeds.Size(ctx, f.Client, f.Look.Node, volid)
	note, problem := loadSeedNote(ctx, f.Private, f.Diags), ""
	switch {
	case err != nil:
		framework.AddWarning(f.Diags, "look at the seed "+volid+"; its last known state is kept", err)
	case size == 0 && note.Node != "" && note.Node != f.Look.Node:
		problem = fmt.Sprintf("The VM moved from %s to %s, away from its seed", note.Node, f.Look.Node)
	case size == 0:
		problem = "The seed " + volid + " is gone"
	case size != held.Size.ValueInt64():
		problem = "The seed " + volid + " was changed by somebody else"
	case mediumIn(values[held.Slot.ValueString()]) != volid:
		problem = "The seed " + volid + " is not in its drive any more"
	}
	if problem == "" {
		if size != 0 && note.Node != f.Look.Node {
			// On a shared storage it is wherever the guest is; the node that it was
			// uploaded to may be down when it is to be deleted.
			note.Node = f.Look.Node
			framework.SetPrivate(ctx, f.Private, privateSeed, note, f.Diags)
		}
		return
	}
	f.Diags.AddWarning(problem, "The next apply puts it back.")
	// The state forgets the image, which may still be there: it is on the list of
	// what is to go.
	lost := seedImage{cmp.Or(note.Node, f.Look.Node), volid}
	if !slices.Contains(note.Outdated, lost) {
		note.Outdated = append(note.Outdated, lost)
		framework.SetPrivate(ctx, f.Private, privateSeed, note, f.Diags)
	}
	held.Lose()
	state.Values["seed"] = seedValue(ctx, state, held, f.Diags)
}

// checkDrives warns of configured images that are not on the guest's node: it
// would not start.
func (f refresh) checkDrives(ctx context.Context, state settings.Document) {
	drives := settings.Entries(state.Values["cdrom"])
	for _, slot := range slices.Sorted(maps.Keys(drives)) {
		volid := settings.TextOf(settings.Fields(drives[slot])["volume_id"])
		if volid == "" || volid == noMedium {
			continue
		}
		size, err := seeds.Size(ctx, f.Client, f.Look.Node, volid)
		if err != nil || size != 0 {
			continue // What cannot be told is no reason to warn.
		}
		f.Diags.AddAttributeWarning(settings.At("cdrom").AtMapKey(slot), fmt.Sprintf("%s is not on node %s", volid, f.Look.Node),
			kind.Describe(state)+" names it and cannot start there. It was deleted, or the VM moved away from it: "+
				"an image on a storage that is not shared has to be on the VM's own node.")
	}
}

// findSeed finds the seed of an imported guest. What is in it cannot be read,
// but its name tells: an unchanged configuration uploads nothing.
func (f refresh) findSeed(ctx context.Context, state settings.Document, values map[string]string) {
	for _, slot := range cdromSlots.Found(values) {
		name, ok := seeds.ParseName(mediumIn(values[slot]))
		if !ok || name.UID != f.Guest.UID {
			continue
		}
		size, err := seeds.Size(ctx, f.Client, f.Look.Node, name.String())
		if err != nil || size == 0 {
			continue
		}
		found := seedModel{Model: seeds.NullModel(seedType(state)), Slot: types.StringValue(slot)}
		found.Storage = types.StringValue(name.Storage)
		found.Settle(name, "", size)
		state.Values["seed"] = seedValue(ctx, state, found, f.Diags)
		return
	}
}

// seedsOf are the images of the guest of a state: the one in its drive, and those
// that were replaced.
func seedsOf(ctx context.Context, state settings.Document, note seedNote, diags *diag.Diagnostics) []seedImage {
	j := &job{Job: &guests.Job{State: state, Diags: diags}, seed: seedWork{note: note}}
	j.Guest.Node = state.Text("node")
	j.abandonSeed(ctx)
	return j.seed.note.Outdated
}

// deleteSeeds deletes the images of a guest that is gone. What is gone already
// is a success; one that another VM came to hold, as a copy of the guest does,
// is refused with its name.
func deleteSeeds(ctx context.Context, client *proxmox.Client, state settings.Document, note seedNote, diags *diag.Diagnostics) {
	known := seedsOf(ctx, state, note, diags)
	for _, each := range append(known, straysOf(ctx, client, state, known, diags)...) {
		users, err := otherUsers(ctx, client, each)
		if err == nil && len(users) > 0 {
			seeds.AddInUse(diags, each.VolID, users)
			continue
		}
		if err == nil {
			err = client.Storage.Delete(ctx, each.Node, each.VolID)
		}
		framework.AddError(diags, "delete the seed "+each.VolID+" of "+kind.Describe(state), err)
	}
}

// straysOf are images of the guest that no state knows: of a run that was killed
// before its upload was written into one, or of a tainted guest, whose private state
// the CLI keeps from its destruction. Their names have the guest's own uid.
func straysOf(ctx context.Context, client *proxmox.Client, state settings.Document, known []seedImage, diags *diag.Diagnostics) []seedImage {
	var strays []seedImage
	for _, place := range seedPlaces(ctx, state, known, diags) {
		images, err := client.Storage.Content(ctx, place.Node, place.Storage, "iso")
		if err != nil && !proxmox.IsNoStorage(err) {
			framework.AddWarning(diags, "look for seeds of "+kind.Describe(state)+" that an interrupted run left", err)
		}
		for _, image := range images {
			found, ok := seeds.ParseName(image.VolID)
			stray := seedImage{place.Node, image.VolID}
			if ok && found.UID == state.Text("uid") && !slices.Contains(known, stray) {
				strays = append(strays, stray)
			}
		}
	}
	return strays
}

type seedPlace struct{ Node, Storage string }

// seedPlaces are the storages where a guest's seeds are or were.
func seedPlaces(ctx context.Context, state settings.Document, known []seedImage, diags *diag.Diagnostics) []seedPlace {
	var places []seedPlace
	if held, ok := seedOf(ctx, state.Values["seed"], diags); ok && held.Storage.ValueString() != "" {
		places = append(places, seedPlace{state.Text("node"), held.Storage.ValueString()})
	}
	for _, each := range known {
		name, ok := seeds.ParseName(each.VolID)
		if place := (seedPlace{each.Node, name.Storage}); ok && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// otherUsers are the VMs that hold an image of a guest that does not. The image
// is meant for nobody else, so that VMs on a node that is away do not keep it.
func otherUsers(ctx context.Context, client *proxmox.Client, held seedImage) ([]proxmox.VolumeUser, error) {
	users, err := seeds.Users(ctx, client, held.Node, held.VolID)
	if proxmox.IsUnasked(err) {
		err = nil
	}
	return users, err
}

// leavesSeeds reports whether a guest that is gone without this provider left
// images behind. They stay in the state, and with them the guest: the next apply
// or destroy deletes them. One that went along with the guest, to whoever has it
// now, is none.
func (f refresh) leavesSeeds(ctx context.Context) bool {
	known := seedsOf(ctx, f.State, loadSeedNote(ctx, f.Private, f.Diags), f.Diags)
	left := slices.DeleteFunc(append(known, straysOf(ctx, f.Client, f.State, known, f.Diags)...), func(each seedImage) bool {
		if f.Look.Config != nil && f.Look.Config.SlotOf(each.VolID) != "" {
			return true
		}
		_, exists, err := f.Client.Storage.Volume(ctx, each.Node, each.VolID)
		return err == nil && !exists || proxmox.IsNoStorage(err)
	})
	if len(left) == 0 {
		return false
	}
	var names []string
	for _, each := range left {
		names = append(names, each.VolID+" on "+each.Node)
	}
	f.Diags.AddWarning(kind.Describe(f.State)+" leaves its seed behind",
		strings.Join(names, "; ")+".\n\nThe VM stays in the state with the status \"gone\" until its seed is deleted, which the next apply does that replaces or destroys it.")
	return true
}
