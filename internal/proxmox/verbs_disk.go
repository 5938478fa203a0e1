package proxmox

import (
	"context"
	"fmt"
	"slices"
)

// Move brings a disk of a VM to another storage, into another format, or both;
// "" is what it has. One that is there already is left alone. It returns what
// the gate read before.
func (c *Client) Move(ctx context.Context, guest Guest, own *Owned, slot, storage, format string, progress func(line string)) (*GuestConfig, error) {
	release, err := c.limits.hold(ctx, guest.Node, storage)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.perform(ctx, guest, own, func(own *Owned) error {
		disk, err := ParseDisk(own.Config().Get(slot))
		if err != nil || disk.Storage() == "" {
			return fmt.Errorf("%s has no disk %s", guest, slot)
		}
		target := storage
		if target == "" {
			target = disk.Storage()
		}
		if target == disk.Storage() && (format == "" || format == disk.VolumeFormat()) {
			return nil
		}
		upid, err := c.VMs.MoveDisk(ctx, own, slot, target, format)
		if err != nil {
			return err
		}
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: progress})
		return err
	})
}

// RegenerateCloudInit makes the image in a VM's cloud-init drive anew, see
// [VMService.RegenerateCloudInit].
func (c *Client) RegenerateCloudInit(ctx context.Context, guest Guest, own *Owned) error {
	_, err := c.perform(ctx, guest, own, func(own *Owned) error { return c.VMs.RegenerateCloudInit(ctx, own) })
	return err
}

// newVolumes are the volumes of disks that wait to be plugged in and are in none
// of the slots of before: a refused change has just made them.
func newVolumes(before, config *GuestConfig, keys []string) []string {
	var volumes []string
	for _, key := range keys {
		value, pending := config.Pending[key]
		if !pending || !diskSlot.MatchString(key) || before.Get(key) != "" {
			continue
		}
		if disk, err := ParseDisk(value); err == nil && !disk.IsCDROM() && disk.Storage() != "" && !before.names(disk.Volume) {
			volumes = append(volumes, disk.Volume)
		}
	}
	return volumes
}

// names reports whether a configuration names a volume anywhere.
func (c *GuestConfig) names(volume string) bool {
	for _, values := range []map[string]string{c.Current, c.Pending} {
		for _, value := range values {
			if disk, err := ParseDisk(value); err == nil && disk.Volume == volume {
				return true
			}
		}
	}
	return false
}

// discard removes unused volumes of a guest, which PVE makes of a reverted
// disk's.
func (c *Client) discard(ctx context.Context, guest Guest, volumes []string) error {
	if len(volumes) == 0 {
		return nil
	}
	_, err := c.perform(ctx, guest, nil, func(own *Owned) error {
		var keys []string
		for key, disk := range own.Config().Unused() {
			if slices.Contains(volumes, disk.Volume) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return nil
		}
		return c.VMs.Update(ctx, own, ConfigUpdate{Delete: keys})
	})
	if err != nil {
		return fmt.Errorf("the volumes that the refused change made stay as unused disks (%v): %w", volumes, err)
	}
	return nil
}
