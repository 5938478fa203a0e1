package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Migration is what PVE says of moving a VM to another node.
type Migration struct {
	Running Bool `json:"running"`
	// Allowed are the nodes that the VM can move to.
	Allowed []string `json:"allowed_nodes"`
	// Refused says what speaks against each other node. PVE lists those that are
	// allowed here, too, with nothing against them.
	Refused map[string]struct {
		UnavailableStorages []string `json:"unavailable_storages"`
		// UnavailableResources are devices whose resource mappings lack the node.
		UnavailableResources []string `json:"unavailable-resources"`
	} `json:"not_allowed_nodes"`
	LocalDisks []struct {
		VolID string `json:"volid"`
		CDROM Bool   `json:"cdrom"`
	} `json:"local_disks"`
	// LocalResources are devices of the node itself that the VM has, those of
	// resource mappings among them. MappedResources bind a VM that runs alone.
	LocalResources  []string `json:"local_resources"`
	MappedResources []string `json:"mapped-resources"`
}

// CheckMigration asks whether a VM could move. It needs VM.Migrate, and the
// node whom the VM is on has to answer.
func (s *VMService) CheckMigration(ctx context.Context, node string, vmid int, target string) (Migration, error) {
	var m Migration
	err := s.c.get(ctx, s.path(node, vmid, "migrate"), url.Values{"target": {target}}, &m)
	return m, err
}

// Refusal says why the VM cannot move to a node; "" when it can.
func (m Migration) Refusal(target string) string {
	if devices := m.bound(); len(devices) > 0 {
		return "it has devices of its node: " + strings.Join(devices, ", ")
	}
	if slices.Contains(m.Allowed, target) {
		return ""
	}
	switch refused, known := m.Refused[target]; {
	case len(refused.UnavailableStorages) > 0:
		return "that node has no storage " + strings.Join(refused.UnavailableStorages, ", ")
	case len(refused.UnavailableResources) > 0:
		return "that node is in no resource mapping of " + strings.Join(refused.UnavailableResources, ", ")
	case known:
		return "Proxmox VE does not allow it there (HA rules may bind it to other nodes)"
	}
	return ""
}

// bound are the devices that keep the VM on its node.
func (m Migration) bound() []string {
	return slices.DeleteFunc(slices.Clone(m.LocalResources), func(slot string) bool {
		return !bool(m.Running) && slices.Contains(m.MappedResources, slot)
	})
}

// Copied are the volumes that have to be copied, since their storage is not
// shared.
func (m Migration) Copied() []string {
	var volumes []string
	for _, disk := range m.LocalDisks {
		if !bool(disk.CDROM) {
			volumes = append(volumes, disk.VolID)
		}
	}
	return volumes
}

// Images are the images in the VM's drives that are on no shared storage. PVE
// copies none of them, and moves no VM that has one.
func (m Migration) Images() []string {
	var images []string
	for _, disk := range m.LocalDisks {
		if bool(disk.CDROM) && !(Disk{Volume: disk.VolID}).IsCloudInit() {
			images = append(images, disk.VolID)
		}
	}
	slices.Sort(images)
	return images
}

// Migrate starts the move of a VM to another node, while it runs if it does.
// Volumes on storages that are not shared are copied.
func (s *VMService) Migrate(ctx context.Context, own *Owned, target string, running bool) (UPID, error) {
	params := url.Values{"target": {target}, "with-local-disks": {formatBool(true)}}
	if running {
		params.Set("online", formatBool(true))
	}
	return s.task(ctx, own, http.MethodPost, []string{"migrate"}, params, undigested)
}

// Migrate starts the move of a container to another node. PVE moves none while it
// runs: one that does is shut down, at most for the timeout, whole seconds, and
// started anew there.
func (s *ContainerService) Migrate(ctx context.Context, own *Owned, target string, running bool, timeout time.Duration) (UPID, error) {
	params := url.Values{"target": {target}}
	if running {
		params.Set("restart", formatBool(true))
		params.Set("timeout", strconv.Itoa(max(1, int(timeout.Seconds()))))
	}
	return s.task(ctx, own, http.MethodPost, []string{"migrate"}, params, undigested)
}

// Migrate moves a guest to another node and waits: a VM that runs goes on running,
// a container is restarted. A guest that is there is left alone. It returns what
// the gate read before.
func (c *Client) Migrate(ctx context.Context, guest Guest, own *Owned, target string, o PowerOptions) (*GuestConfig, error) {
	release, err := c.limits.hold(ctx, guest.Node)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.perform(ctx, guest, own, func(own *Owned) error {
		if own.Node() == target {
			return nil
		}
		status, err := c.of(guest.kind()).Status(ctx, own.Node(), own.VMID())
		if err != nil {
			return err
		}
		var upid UPID
		if guest.kind() == KindContainer {
			upid, err = c.Containers.Migrate(ctx, own, target, status.Running(), o.ShutdownTimeout)
		} else {
			upid, err = c.VMs.Migrate(ctx, own, target, status.Running())
		}
		if err != nil {
			return err
		}
		defer c.View.Drop(target)
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: o.Progress})
		if err == nil && upid.Type == taskHAMigrate {
			err = c.awaitMove(ctx, guest, target)
		}
		if err != nil {
			return fmt.Errorf("migrate to %s: %w", target, err)
		}
		return nil
	})
}
