package guests

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Destroying is a kind's part in a destruction.
type Destroying interface {
	// Destroyed cleans up after a guest that is gone.
	Destroyed(ctx context.Context, private framework.PrivateReader)
}

// Destruction is what is known of a guest that is to be destroyed.
type Destruction struct {
	Kind   *Kind
	Client *proxmox.Client
	State  settings.Document
	Guest  proxmox.Guest
	Diags  *diag.Diagnostics
	// known are the slots of the volumes that may go.
	known []string
}

func (r *Resource) destruction(ctx context.Context, state settings.Document, private framework.PrivateReader, diags *diag.Diagnostics) *Destruction {
	return &Destruction{
		Kind: r.Kind, State: state, Diags: diags,
		Guest: r.Kind.guestOf(ctx, state, private, diags), known: loadKnown(ctx, private, diags),
	}
}

// plan refuses a destruction or a replacement that would be refused when it is
// applied, by name.
func (d *Destruction) plan(ctx context.Context) {
	values := map[string]string{}
	for slot, device := range settings.Entries(d.State.Values["devices"]) {
		values[slot] = settings.TextOf(device)
	}
	summary := d.Kind.Describe(d.State) + " would not be destroyed"
	if err := d.check(values); err != nil {
		d.Diags.AddError(summary, fmt.Sprintf("The %s cannot go as it is: %s.", d.Kind, err))
	}
	if d.Client == nil || d.is("purge") {
		return
	}
	if reason := managedBy(ctx, d.Client, d.Guest.VMID); reason != "" {
		d.Diags.AddError(summary, reason+" Nothing was stopped or destroyed. Take it out there first, or set on_destroy = { purge = true } and apply that first.")
	}
}

// run destroys the guest. One that is gone is a success.
func (d *Destruction) run(ctx context.Context, private framework.PrivateReader) {
	options := proxmox.DestroyOptions{
		Progress: progress(ctx), Task: loadTask(ctx, private, d.Diags), Purge: d.is("purge"), DestroyUnreferencedDisks: d.is("unreferenced_disks"),
		// The disks are looked at once more, right before it.
		Check: func(config *proxmox.GuestConfig) error { return d.check(Everything(config)) },
	}
	options.ShutdownTimeout, options.ForceStop = Stopping(d.State)
	destroyed, err := d.Client.Destroy(ctx, d.Guest, options)
	if err != nil {
		framework.AddError(d.Diags, "destroy "+d.Kind.Describe(d.State), err)
		return
	}
	if destroyed.Stranger != nil {
		d.Diags.AddWarning(d.Kind.Describe(d.State)+" was gone already", destroyed.Stranger.Error())
	}
	warn(d.Diags, d.Kind.Describe(d.State)+" was destroyed with warnings", destroyed.Warnings)
	d.Kind.Destructions(d).Destroyed(ctx, private)
}

func (d *Destruction) is(option string) bool {
	return settings.IsTrue(settings.Fields(d.State.Values["on_destroy"])[option])
}

// check refuses to destroy volumes that nobody here knows of. What a half-made
// guest has was put there by its own creation.
func (d *Destruction) check(values map[string]string) error {
	if !d.State.Provisioned() {
		return nil
	}
	return d.Kind.CheckUnknown(d.State, values, d.known)
}

// CheckUnknown refuses to destroy volumes of a guest, among its configuration's
// values, that are at none of the known slots, unless on_destroy lets them go.
func (k *Kind) CheckUnknown(d settings.Document, values map[string]string, known []string) error {
	if settings.TextOf(settings.Fields(d.Values["on_destroy"])["unknown_disks"]) == unknownDestroy {
		return nil
	}
	if disks := k.unknownDisks(values, known); len(disks) > 0 {
		return &UnknownDisksError{Kind: k.Kind, Disks: disks}
	}
	return nil
}

// unknownDisks are the volumes that neither the template nor the configuration
// put there, as PVE writes them. Detached ones are never known.
func (k *Kind) unknownDisks(values map[string]string, known []string) []string {
	var unknown []string
	for _, slot := range k.volumeSlots(values) {
		if isDetached(slot) || !slices.Contains(known, slot) {
			unknown = append(unknown, slot+"="+values[slot])
		}
	}
	return unknown
}

func isDetached(slot string) bool { return strings.HasPrefix(slot, "unused") }

// volumeSlots are the slots that hold a volume which goes with the guest, sorted.
func (k *Kind) volumeSlots(values map[string]string) []string {
	var slots []string
	for key, value := range values {
		if k.IsVolume(key, value) {
			slots = append(slots, key)
		}
	}
	slices.Sort(slots)
	return slots
}

// UnknownDisksError is a guest that is not destroyed for its volumes.
type UnknownDisksError struct {
	Kind proxmox.Kind
	// Disks are as PVE writes them, with their slots.
	Disks []string
}

func (e *UnknownDisksError) Error() string {
	return "it has disks that neither the template nor the configuration put there: " + strings.Join(e.Disks, "; ") +
		`. Nothing was stopped or destroyed. Detach them from the ` + e.Kind.String() + `, or let them go with it: set on_destroy = { unknown_disks = "destroy" } and apply that first`
}

// Everything is what a configuration names, in force or waiting for that.
func Everything(config *proxmox.GuestConfig) map[string]string {
	values := maps.Clone(config.Pending)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, config.Current)
	return values
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
		if err == nil && int(job.Guest) == vmid {
			reasons = append(reasons, fmt.Sprintf("It is replicated (job %s).", job.ID))
		}
	}
	return strings.Join(reasons, " ")
}
