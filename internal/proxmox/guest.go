package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// guestService is what the services of both kinds of guests have in common.
type guestService struct {
	c    *Client
	kind Kind
}

// of is the service for a kind of guests.
func (c *Client) of(kind Kind) *guestService {
	if kind == KindContainer {
		return &c.Containers.guestService
	}
	return &c.VMs.guestService
}

// Pending reads the configuration of a guest of either kind: values in force,
// pending changes and the digest in one call.
func (c *Client) Pending(ctx context.Context, kind Kind, node string, vmid int) (*GuestConfig, error) {
	return c.of(kind).Pending(ctx, node, vmid)
}

// Status reads the state of a guest of either kind, paused or not. It is a
// protected call: use it only where that is needed.
func (c *Client) Status(ctx context.Context, kind Kind, node string, vmid int) (GuestStatus, error) {
	return c.of(kind).Status(ctx, node, vmid)
}

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
	// HA is what the HA manager makes of the guest; only Status fills it.
	HA HAManaged `json:"ha"`
}

// Running reports whether the guest runs (or is paused).
func (s GuestStatus) Running() bool { return s.Status == "running" }

// Paused reports whether the guest's processors are stopped. Only a status read
// by Status can tell.
func (s GuestStatus) Paused() bool { return s.QMPStatus == "paused" }

// ConfigUpdate is a change of a guest's configuration.
type ConfigUpdate struct {
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

// OutOfRangeError is a guest id outside the client's range: refused before any
// call.
type OutOfRangeError struct {
	VMID  int
	Range VMIDRange
}

func (e *OutOfRangeError) Error() string {
	if !e.Range.Configured() {
		return fmt.Sprintf("no guest is made (%d) while no range of guest ids is configured", e.VMID)
	}
	return fmt.Sprintf("guest id %d lies outside the range %s", e.VMID, e.Range)
}

// List reads the guests of the service's kind on a node, live. Guests that the
// token may not read are left out.
func (s *guestService) List(ctx context.Context, node string) ([]GuestStatus, error) {
	return s.c.guests(ctx, node, s.kind)
}

func (c *Client) guests(ctx context.Context, node string, kind Kind) ([]GuestStatus, error) {
	var guests []GuestStatus
	err := c.get(ctx, at("nodes", node, string(kind)), nil, &guests)
	return guests, err
}

// Status reads a guest's state, paused or not. It is a protected call: use it only
// where that is needed.
func (s *guestService) Status(ctx context.Context, node string, vmid int) (GuestStatus, error) {
	var status GuestStatus
	err := s.c.get(ctx, s.path(node, vmid, "status", "current"), nil, &status)
	return status, err
}

// Config reads a guest's configuration with pending changes merged in.
func (s *guestService) Config(ctx context.Context, node string, vmid int) (*GuestConfig, error) {
	var values map[string]json.RawMessage
	if err := s.c.get(ctx, s.path(node, vmid, "config"), nil, &values); err != nil {
		return nil, err
	}
	config := newGuestConfig(s.kind, node, vmid)
	for key, raw := range values {
		if value, err := scalar(raw); err == nil {
			config.set(key, value)
		}
	}
	return config, nil
}

// Pending reads a guest's configuration: values in force, pending changes and the
// digest in one call.
func (s *guestService) Pending(ctx context.Context, node string, vmid int) (*GuestConfig, error) {
	var items []struct {
		Key     string `json:"key"`
		Value   *Text  `json:"value"`
		Pending *Text  `json:"pending"`
		// Delete is 1, or 2 for a deletion that removes the volume.
		Delete Int `json:"delete"`
	}
	if err := s.c.get(ctx, s.path(node, vmid, "pending"), nil, &items); err != nil {
		return nil, err
	}
	config := newGuestConfig(s.kind, node, vmid)
	for _, item := range items {
		if item.Value != nil {
			config.set(item.Key, string(*item.Value))
		}
		if item.Pending != nil {
			config.Pending[item.Key] = string(*item.Pending)
		}
		if item.Delete != 0 {
			config.PendingDelete = append(config.PendingDelete, item.Key)
		}
	}
	slices.Sort(config.PendingDelete)
	return config, nil
}

func (s *guestService) path(node string, vmid int, rest ...string) string {
	return at(append([]string{"nodes", node, string(s.kind), strconv.Itoa(vmid)}, rest...)...)
}
