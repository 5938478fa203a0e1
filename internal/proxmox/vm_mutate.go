package proxmox

import (
	"context"
	"net/http"
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
