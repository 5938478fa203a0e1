package proxmox

import (
	"context"
	"time"
)

// VMService reads and changes VMs.
type VMService struct{ c *Client }

// GuestStatus is a guest's state as its node sees it now.
type GuestStatus struct {
	VMID int    `json:"vmid"`
	Name string `json:"name"`
	// Status is "running" or "stopped".
	Status string `json:"status"`
	// QMPStatus tells "paused" and others from "running"; only Status fills it.
	QMPStatus string `json:"qmpstatus"`
	Template  Bool   `json:"template"`
	Lock      string `json:"lock"`
	// Tags are separated by ";".
	Tags   string `json:"tags"`
	Uptime Int    `json:"uptime"`
	PID    Int    `json:"pid"`
}

// Running reports whether the guest runs (or is paused).
func (s GuestStatus) Running() bool { return s.Status == "running" }

// Paused reports whether the guest's processors are stopped. Only a status read
// by [VMService.Status] can tell.
func (s GuestStatus) Paused() bool { return s.QMPStatus == "paused" }

// CloneRequest asks for a clone.
type CloneRequest struct {
	// TemplateNode is where the template is, Template its vmid.
	TemplateNode string
	Template     int
	NewID        int
	Name         string
	Description  string
	// Target is the node for the clone, "" for the template's own; another
	// node needs the template on a shared storage.
	Target string
	// Storage and Format apply to full clones.
	Storage string
	Pool    string
	Full    bool
	Format  string
}

// VMUpdate is a change of a VM's configuration.
type VMUpdate struct {
	Set map[string]string
	// Delete returns keys to PVE's default; a disk becomes "unusedN".
	Delete []string
	// Revert drops pending changes.
	Revert []string
	// Force removes the volumes of deleted disks.
	Force bool
}

// ShutdownOptions is how to shut a guest down.
type ShutdownOptions struct {
	// Timeout is how long the guest may take, whole seconds; 0 is PVE's default.
	Timeout time.Duration
	// ForceStop stops the guest when it has not shut down in time.
	ForceStop bool
}

// DeleteOptions says what goes with the guest.
type DeleteOptions struct {
	// Purge removes it from backup, replication and HA configuration too.
	Purge bool
	// DestroyUnreferencedDisks removes volumes with its vmid that its
	// configuration does not name.
	DestroyUnreferencedDisks bool
}

// List reads the VMs of a node, live. VMs that the token may not read are left
// out.
func (s *VMService) List(ctx context.Context, node string) ([]GuestStatus, error) { return nil, nil }

// Status reads a VM's state, paused or not. It is a protected call: use it only
// where that is needed.
func (s *VMService) Status(ctx context.Context, node string, vmid int) (GuestStatus, error) {
	return GuestStatus{}, nil
}

// Config reads a VM's configuration with pending changes merged in.
func (s *VMService) Config(ctx context.Context, node string, vmid int) (*VMConfig, error) {
	return nil, nil
}

// Pending reads a VM's configuration: values in force, pending changes and the
// digest in one call.
func (s *VMService) Pending(ctx context.Context, node string, vmid int) (*VMConfig, error) {
	return nil, nil
}

// Clone starts a clone. No guest of that id may exist, so it needs no
// permission of the gate; an id outside the client's range is refused before
// any call.
func (s *VMService) Clone(ctx context.Context, r CloneRequest) (UPID, error) { return UPID{}, nil }
