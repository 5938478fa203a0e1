package proxmox

import "context"

// Update changes the configuration and returns when that is done. PVE refuses
// when the configuration is no longer the one that the gate read.
func (s *VMService) Update(ctx context.Context, own *Owned, u VMUpdate) error { return nil }

// UpdateAsync changes the configuration in a task, which may create and remove
// volumes.
func (s *VMService) UpdateAsync(ctx context.Context, own *Owned, u VMUpdate) (UPID, error) {
	return UPID{}, nil
}

// Resize grows a disk to a size.
func (s *VMService) Resize(ctx context.Context, own *Owned, slot string, size Size) (UPID, error) {
	return UPID{}, nil
}

// Unlink detaches disks; with force their volumes are removed.
func (s *VMService) Unlink(ctx context.Context, own *Owned, slots []string, force bool) error {
	return nil
}

// Delete destroys a stopped VM and its disks.
func (s *VMService) Delete(ctx context.Context, own *Owned, o DeleteOptions) (UPID, error) {
	return UPID{}, nil
}

// Start starts a VM. Starting a running one is a task that fails.
func (s *VMService) Start(ctx context.Context, p PowerPermission) (UPID, error) { return UPID{}, nil }

// Stop stops a VM at once. Stopping a stopped one succeeds.
func (s *VMService) Stop(ctx context.Context, p PowerPermission) (UPID, error) { return UPID{}, nil }

// Shutdown asks a VM's system to shut down.
func (s *VMService) Shutdown(ctx context.Context, p PowerPermission, o ShutdownOptions) (UPID, error) {
	return UPID{}, nil
}

// Suspend pauses a running VM.
func (s *VMService) Suspend(ctx context.Context, p PowerPermission) (UPID, error) {
	return UPID{}, nil
}

// Resume lets a paused VM go on.
func (s *VMService) Resume(ctx context.Context, p PowerPermission) (UPID, error) {
	return UPID{}, nil
}

// Reboot shuts a VM down and starts it, which applies pending changes.
func (s *VMService) Reboot(ctx context.Context, p PowerPermission) (UPID, error) {
	return UPID{}, nil
}

// Reset resets a running VM.
func (s *VMService) Reset(ctx context.Context, p PowerPermission) (UPID, error) { return UPID{}, nil }
