package vm

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/proxmox"
)

// imageKey is a key whose value PVE writes into the cloud-init drive's image.
var imageKey = regexp.MustCompile(`^(ci[a-z]+|sshkeys|nameserver|searchdomain|ipconfig\d+|name)$`)

// outdatesImage reports whether an update changes something of what is in the
// image of a guest's cloud-init drive: of network devices that is the address.
func outdatesImage(config *proxmox.GuestConfig, update proxmox.ConfigUpdate) bool {
	drives := slices.Collect(maps.Values(config.CDROMs()))
	if !slices.ContainsFunc(drives, proxmox.Disk.IsCloudInit) {
		return false // PVE makes one when it adds the drive.
	}
	return slices.ContainsFunc(append(slices.Collect(maps.Keys(update.Set)), update.Delete...), func(key string) bool {
		before, _ := nicMAC{}.Get(config.Wanted(key))
		after, _ := nicMAC{}.Get(update.Set[key])
		return imageKey.MatchString(key) || networkSlot.MatchString(key) && before != after
	})
}

// Written has PVE make the image anew for a guest that ran all the time: otherwise
// PVE does so only when it starts the guest, and one that reboots by itself would
// read the old one. Nothing restarts. A run that is killed before the call leaves it
// to that start.
func (j *job) Written(ctx context.Context) error {
	before := j.State.Text("status")
	if !j.outdatesImage || before == "" || before == guests.PowerStopped || j.Status() == guests.PowerStopped {
		return nil
	}
	err := j.Client.RegenerateCloudInit(ctx, j.Guest, nil)
	if proxmox.IsPermission(err) {
		framework.AddWarning(j.Diags, "regenerate the cloud-init drive, which keeps what it has until the VM is started anew", err)
		return nil
	}
	return err
}
