package proxmox

import (
	"context"
	"net/http"
	"net/url"
)

// UpdateAsync changes the configuration in a task, which may create and remove
// volumes.
func (s *VMService) UpdateAsync(ctx context.Context, own *Owned, u ConfigUpdate) (UPID, error) {
	params, err := u.params()
	if err != nil {
		return UPID{}, err
	}
	return s.task(ctx, own, http.MethodPost, []string{"config"}, params, digested)
}

// Unlink detaches disks; with force their volumes are removed. It changes the
// configuration, for PVE's call of that name takes no digest.
func (s *VMService) Unlink(ctx context.Context, own *Owned, slots []string, force bool) error {
	return s.Update(ctx, own, ConfigUpdate{Delete: slots, Force: force})
}

// Reset resets a running VM.
func (s *VMService) Reset(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "reset", nil)
}

// RegenerateCloudInit makes the image in a VM's cloud-init drive anew, of the
// configuration in force, and gives it to a running VM, whose system reads it
// when it boots the next time. A VM without such a drive is left as it is. PVE
// does the same at each start. It needs VM.Config.Cloudinit, also where
// VM.Config.Network was enough to write what is in the image.
func (s *VMService) RegenerateCloudInit(ctx context.Context, own *Owned) error {
	granted, err := s.grantOf(own)
	if err != nil {
		return err
	}
	return s.c.call(granted.guard(ctx, nil), http.MethodPut, s.path(granted.node, granted.vmid, "cloudinit"), nil, nil)
}

// MoveDisk copies a disk's volume to another storage or into another format,
// or both, and removes the source. Format "" is the storage's choice. PVE
// refuses it where a snapshot holds the source.
func (s *VMService) MoveDisk(ctx context.Context, own *Owned, slot, storage, format string) (UPID, error) {
	params := url.Values{"disk": {slot}, "storage": {storage}, "delete": {formatBool(true)}}
	if format != "" {
		params.Set("format", format)
	}
	return s.task(ctx, own, http.MethodPost, []string{"move_disk"}, params, digested)
}
