// Package guests is what the resources of VMs and of containers have in common:
// plan, apply, refresh, import and destruction of a guest whose settings are in a
// table. A kind adds its table, its words and the steps that are its own.
package guests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Kind is what tells the resource of one kind of guests from that of the other.
type Kind struct {
	proxmox.Kind
	// NameAttribute holds the guest's name.
	NameAttribute string
	// Birthmark is what a guest without a marker is known by, for a human.
	Birthmark string
	// Table are the settings.
	Table *settings.Group
	// Network is the group of the network devices, whose address MAC finds.
	Network *settings.Group
	MAC     func(value string) (mac string, ok bool)
	// Content is what a storage has to allow for the guest's volumes.
	Content string
	// IsDevice reports whether a configuration key shows among the devices, and
	// DeviceGroups are the attributes that it comes from.
	IsDevice     func(key string) bool
	DeviceGroups []string
	// IsVolume reports whether a configuration key holds a volume that goes with
	// the guest.
	IsVolume func(key, value string) bool
	// VolumeGroups are the maps whose slots hold such volumes.
	VolumeGroups []string
	// Addresses finds the addresses of a guest's network devices, asking for them
	// once, without waiting, where asks is set.
	Addresses func(ctx context.Context, client *proxmox.Client, config *proxmox.GuestConfig, asks bool) Found

	// Plans, Jobs, Refreshes and Destructions are the kind's own steps.
	Plans        func(*Draft) Planning
	Jobs         func(*Job) Working
	Refreshes    func(*Refresh) Refreshing
	Destructions func(*Destruction) Destroying
}

// title is the kind at the beginning of a sentence.
func (k *Kind) title() string {
	if k.Kind == proxmox.KindContainer {
		return "Container"
	}
	return k.String()
}

// capability names one of the kind's capabilities.
func (k *Kind) capability(action string) string { return strings.ToLower(k.String()) + "." + action }

// Describe names the guest of a state for a human.
func (k *Kind) Describe(state settings.Document) string {
	return fmt.Sprintf("%s %d %q", k, state.Integer("vmid"), state.Text(k.NameAttribute))
}

// waiting names the attributes of the table that differ between plan and state
// in what may wait for the guest's next start, sorted.
func (k *Kind) waiting(plan, state settings.Document) []string {
	var names []string
	for i := range k.Table.Settings {
		s := &k.Table.Settings[i]
		if s.Waits(plan.Values[s.Name], state.Values[s.Name]) {
			names = append(names, s.Name)
		}
	}
	for _, g := range k.Table.Groups {
		if g.Waits(plan.Values[g.Name], state.Values[g.Name]) {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Restarts reports whether an update may restart the guest, which is only the
// case where the plan says so.
func (k *Kind) Restarts(plan, state settings.Document) bool {
	if plan.Text("reboot") != rebootAuto || state.Text("status") != PowerRunning || !state.Provisioned() || plan.Text("power") == PowerStopped {
		return false
	}
	return len(state.List("reboot_required")) > 0 || len(k.waiting(plan, state)) > 0
}

// progress passes the lines of a task's log on to Terraform's log.
func progress(ctx context.Context) func(string) {
	return func(line string) { framework.Log(ctx, line, nil) }
}
