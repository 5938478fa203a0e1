package vm

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// volumeSlot is a key that holds a volume of the guest's.
var volumeSlot = regexp.MustCompile(`^(?:scsi|virtio|sata|ide|efidisk|tpmstate|unused)\d+$`)

// volumeSlots are the slots that hold a volume, CD-ROM drives left out: what is
// in those is not the guest's own, or made anew by PVE.
func volumeSlots(values map[string]string) []string {
	var slots []string
	for key, value := range values {
		disk, err := proxmox.ParseDisk(value)
		if volumeSlot.MatchString(key) && (err != nil || !disk.IsCDROM()) {
			slots = append(slots, key)
		}
	}
	slices.Sort(slots)
	return slots
}

// unknownDisks are the volumes that neither the template nor the configuration
// put there, as PVE writes them. Detached ones are never known.
func unknownDisks(values map[string]string, known []string) []string {
	var unknown []string
	for _, slot := range volumeSlots(values) {
		if strings.HasPrefix(slot, "unused") || !slices.Contains(known, slot) {
			unknown = append(unknown, slot+"="+values[slot])
		}
	}
	return unknown
}

// unknownDisksError is a guest that is not destroyed for its disks.
type unknownDisksError struct{ disks []string }

func (e *unknownDisksError) Error() string {
	return "it has disks that neither the template nor the configuration put there: " + strings.Join(e.disks, "; ") +
		`. Nothing was stopped or destroyed. Detach them from the VM, or let them go with it: set on_destroy = { unknown_disks = "destroy" } and apply that first`
}

// destroyRules are what is known of a guest that is to be destroyed.
type destroyRules struct {
	state settings.Document
	// known are the slots of the disks that may go.
	known []string
}

func (r destroyRules) purges() bool {
	return isTrue(settings.Fields(r.state.Values["on_destroy"])["purge"])
}

// check refuses to destroy disks that nobody here knows of. What a half-made
// guest has was put there by its own creation.
func (r destroyRules) check(values map[string]string) error {
	if !r.state.Provisioned() || settings.TextOf(settings.Fields(r.state.Values["on_destroy"])["unknown_disks"]) == unknownDestroy {
		return nil
	}
	if disks := unknownDisks(values, r.known); len(disks) > 0 {
		return &unknownDisksError{disks}
	}
	return nil
}

// options are those of the destruction. The disks are looked at once more, right
// before it.
func (r destroyRules) options(ctx context.Context) proxmox.DestroyOptions {
	options := proxmox.DestroyOptions{
		Progress: progress(ctx), Purge: r.purges(),
		DestroyUnreferencedDisks: isTrue(settings.Fields(r.state.Values["on_destroy"])["unreferenced_disks"]),
		Check:                    func(config *proxmox.GuestConfig) error { return r.check(everything(config)) },
	}
	options.ShutdownTimeout, options.ForceStop = stopping(r.state)
	return options
}

// everything is what a configuration names, in force or waiting for that.
func everything(config *proxmox.GuestConfig) map[string]string {
	values := maps.Clone(config.Pending)
	maps.Copy(values, config.Current)
	return values
}

// plan refuses a destruction or a replacement that would be refused when it is
// applied, by name.
func (r destroyRules) plan(ctx context.Context, client *proxmox.Client, diags *diag.Diagnostics) {
	values := map[string]string{}
	for slot, device := range settings.Entries(r.state.Values["devices"]) {
		values[slot] = settings.TextOf(device)
	}
	summary := describe(r.state) + " would not be destroyed"
	if err := r.check(values); err != nil {
		diags.AddError(summary, "The VM cannot go as it is: "+err.Error()+".")
	}
	if client == nil || r.purges() {
		return
	}
	if reason := managedBy(ctx, client, r.state.Integer("vmid")); reason != "" {
		diags.AddError(summary, reason+" Nothing was stopped or destroyed. Take it out there first, or set on_destroy = { purge = true } and apply that first.")
	}
}

// managedBy says what in the cluster stands on a guest; what cannot be asked is
// left to PVE, which refuses as well.
func managedBy(ctx context.Context, client *proxmox.Client, vmid int) string {
	var reasons []string
	if listed, ok, err := client.View.Guest(ctx, vmid); err == nil && ok && listed.HAState != "" {
		reasons = append(reasons, fmt.Sprintf("The HA manager manages it (%s).", listed.HAState))
	}
	jobs, err := client.View.ReplicationJobs(ctx)
	for _, job := range jobs {
		if err == nil && job.Guest == vmid {
			reasons = append(reasons, fmt.Sprintf("It is replicated (job %s).", job.ID))
		}
	}
	return strings.Join(reasons, " ")
}
