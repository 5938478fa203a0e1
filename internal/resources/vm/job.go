package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// job brings a guest to what is planned.
type job struct {
	client              *proxmox.Client
	config, plan, state settings.Document
	applied             settings.Applied
	// known are the slots of the disks that go with the guest.
	known    []string
	defaults framework.Defaults
	diags    *diag.Diagnostics

	// first is set until the guest has been finished once: it is still to be
	// started.
	first bool
	guest proxmox.Guest
	// task made the guest and may still run.
	task proxmox.UPID
	// own is a permission that was granted and not used yet.
	own *proxmox.Owned
	// latest is the guest's configuration as it was read last.
	latest *proxmox.GuestConfig
	// reached is the power that the job brought the guest to; "" where it did
	// not touch it.
	reached string
	// found are the addresses, where they were asked for before the end.
	found *found
	seed  seedWork
	// withoutUpgrade is set once the node turned out not to know ciupgrade.
	withoutUpgrade bool
	// writesDrive is whether the last write sets a CD-ROM drive.
	writesDrive bool
	// grown are the sizes that disks were grown to.
	grown map[string]proxmox.Size
	// outdatesImage is set once something of what is in the cloud-init drive's
	// image was written.
	outdatesImage bool
	// marked is set once the job wrote the marker into a guest without one.
	marked bool
	// configured is set once the configuration was written.
	configured bool
}

// waitError is a wait that ended before what was waited for: the guest itself
// is finished.
type waitError struct {
	what string
	err  error
}

func (e *waitError) Error() string { return "waiting for " + e.what + ": " + e.err.Error() }

func (e *waitError) Unwrap() error { return e.err }

// lastWriteError is the last write of a creation that was not made: the guest
// is finished, and still says that it is not.
type lastWriteError struct{ err error }

func (e *lastWriteError) Error() string { return "write that the VM is finished: " + e.err.Error() }

func (e *lastWriteError) Unwrap() error { return e.err }

// within does the work within a time and reports whether the guest is finished.
//
// Terraform saves what Create returns only when it returns, and taints what it
// returns with an error. So a job that was cancelled, and a wait that led to
// nothing, end with a warning: the guest is in state, and the next apply
// finishes it.
func (j *job) within(ctx context.Context, timeout time.Duration, action string, work func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := work(bounded)
	var waited *waitError
	var unwritten *lastWriteError
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil && j.first && j.guest.VMID != 0:
		j.diags.AddWarning(fmt.Sprintf("VM %d is not finished: the run was interrupted", j.guest.VMID),
			"It is in the state as it was planned, with provisioned = false. What Proxmox VE had begun goes on. The next apply finishes it.")
	case errors.As(err, &unwritten):
		j.diags.AddWarning(fmt.Sprintf("VM %d is not finished: its marker still says so", j.guest.VMID),
			"It is in the state with provisioned = false; the next apply writes the marker.\n\n"+unwritten.err.Error())
	case errors.As(err, &waited) && j.plan.Text("on_wait_timeout") != onTimeoutFail:
		j.diags.AddWarning(fmt.Sprintf("VM %d is not finished: waiting for %s ended in vain", j.guest.VMID, waited.what),
			"It runs and is in the state with provisioned = false; the next apply goes on waiting. "+
				"With on_wait_timeout = \"fail\" this would be an error, and the VM would be replaced.\n\n"+waited.err.Error())
	default:
		framework.AddError(j.diags, action, err)
	}
	return false
}

// create clones the guest and finishes it.
func (j *job) create(ctx context.Context) error {
	template, err := readTemplate(ctx, j.client, j.plan.Integer("template"))
	if err != nil {
		return err
	}
	created, err := j.client.CreateClone(ctx, j.cloneSpec(ctx, template))
	j.take(created, err)
	if err != nil {
		return err
	}
	return j.finish(ctx)
}

// resume finishes a guest that a create did not finish.
func (j *job) resume(ctx context.Context) error {
	created, err := j.client.ResumeClone(ctx, j.guest, j.task)
	j.take(created, err)
	if err != nil {
		return err
	}
	return j.finish(ctx)
}

func (j *job) take(created proxmox.Created, err error) {
	if created.Guest.VMID != 0 {
		j.guest = created.Guest
	}
	j.own = created.Own
	var interrupted *proxmox.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		j.task = interrupted.UPID
	case err == nil:
		j.task = proxmox.UPID{}
	}
	warn(j.diags, fmt.Sprintf("VM %d was cloned with warnings", j.guest.VMID), created.Warnings)
}

// cloneSpec says what to clone. A description that is not configured is the
// template's, which the marker would replace.
func (j *job) cloneSpec(ctx context.Context, template *proxmox.GuestConfig) proxmox.CloneSpec {
	description := j.plan.Text("description")
	if settings.IsNull(j.config.Values["description"]) {
		description = proxmox.SplitDescription(template.Description())
	}
	return proxmox.CloneSpec{
		TemplateNode: template.Node, Template: template.VMID,
		Node: j.plan.Text("node"), Storage: j.plan.Text("storage"), Pool: j.plan.Text("pool"),
		Name: j.plan.Text("name"), Description: description,
		UID: proxmox.NewUID(), VMID: j.plan.Integer("vmid"),
		Progress: progress(ctx),
	}
}

// finish grows, configures and starts a new guest, waits as configured, and
// then says in its marker that it is finished. That is the last call of all: a
// run that is killed before it leaves a guest that the next one finds.
func (j *job) finish(ctx context.Context) error {
	if err := j.configure(ctx); err != nil {
		return err
	}
	if err := j.regenerateImage(ctx); err != nil {
		return err
	}
	completion, err := j.begin(ctx)
	if err != nil {
		return err
	}
	if err := j.wait(ctx); err != nil {
		return err
	}
	if j.latest != nil {
		found := j.findAddresses(ctx)
		j.found = &found
	}
	before, err := j.client.Complete(ctx, j.guest, completion)
	if err != nil {
		return &lastWriteError{err}
	}
	j.latest = before
	return nil
}

// begin brings a new guest to its first power. A clone is stopped; what an
// earlier run left may be anything.
func (j *job) begin(ctx context.Context) (*proxmox.Completion, error) {
	want := proxmox.PowerState(j.plan.Text("power"))
	if want == "" {
		want = proxmox.PowerRunning
	}
	switch {
	case want == proxmox.PowerRunning:
		completion, err := j.client.StartNew(ctx, j.guest, nil, j.powerOptions(ctx))
		if err != nil {
			return nil, fmt.Errorf("start it: %w", err)
		}
		j.latest, j.reached = completion.Config(), powerRunning
		return completion, nil
	case want == proxmox.PowerStopped && !j.state.Exists():
		j.reached = powerStopped
		return nil, nil
	}
	return nil, j.power(ctx, want)
}

// mark writes the marker into a guest that has none.
func (j *job) mark(ctx context.Context) error {
	if isTrue(j.state.Values["marked"]) || !isTrue(j.plan.Values["marked"]) {
		return nil
	}
	if err := j.client.Mark(ctx, j.guest); err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	j.marked = true
	return nil
}

// relocate moves the guest to the node that is planned.
func (j *job) relocate(ctx context.Context) error {
	target := j.plan.Text("node")
	if !j.state.Exists() || target == "" || target == j.state.Text("node") {
		return nil
	}
	if _, err := j.client.Migrate(ctx, j.guest, j.spend(), target, progress(ctx)); err != nil {
		return err
	}
	j.guest.Node = target
	return nil
}

// change updates a finished guest.
func (j *job) change(ctx context.Context) error {
	if err := j.mark(ctx); err != nil {
		return err
	}
	if err := j.configure(ctx); err != nil {
		return err
	}
	if j.powers() {
		if err := j.power(ctx, proxmox.PowerState(j.plan.Text("power"))); err != nil {
			return err
		}
	}
	if err := j.read(ctx); err != nil {
		return err
	}
	if len(j.latest.PendingKeys()) == 0 || !restarts(j.plan, j.state) {
		return j.regenerateImage(ctx)
	}
	if _, err := j.client.Reboot(ctx, j.guest, nil, j.powerOptions(ctx)); err != nil {
		return err
	}
	return j.read(ctx)
}

// configure grows the disks and writes the configuration: in this order, since
// a disk's size is part of what is written.
func (j *job) configure(ctx context.Context) error {
	if err := j.relocate(ctx); err != nil {
		return err
	}
	if j.own == nil {
		own, err := j.client.Gate.Own(ctx, j.guest)
		if err != nil {
			return err
		}
		j.own = own
	}
	config := j.own.Config()
	j.note(config)
	if err := j.placeSeed(ctx, config); err != nil {
		return err
	}
	growths, err := j.growths(config)
	if err != nil {
		return err
	}
	j.grown = map[string]proxmox.Size{}
	for _, growth := range growths {
		if _, err := j.client.Grow(ctx, j.guest, j.spend(), growth.slot, growth.size, progress(ctx)); err != nil {
			return fmt.Errorf("grow %s: %w", growth.slot, err)
		}
		j.grown[growth.slot] = growth.size
	}
	if err := j.moveVolumes(ctx, config); err != nil {
		return err
	}
	if err := j.destroyVolumes(ctx); err != nil {
		return err
	}
	before, err := j.write(ctx)
	if before != nil {
		j.note(before)
	}
	if err != nil {
		return err
	}
	j.configured = true
	return nil
}

// spend hands out the permission that is left, once.
func (j *job) spend() *proxmox.Owned {
	own := j.own
	j.own = nil
	return own
}

// note remembers where the guest is and what tells it apart.
func (j *job) note(config *proxmox.GuestConfig) {
	j.guest.Node = config.Node
	j.guest.SMBIOSUUID, j.guest.CTime = config.SMBIOSUUID(), config.CTime()
}

// read reads the configuration once more, for the state.
func (j *job) read(ctx context.Context) error {
	config, err := j.client.VMs.Pending(ctx, j.guest.Node, j.guest.VMID)
	if err != nil {
		return err
	}
	j.latest = config
	return nil
}

func (j *job) power(ctx context.Context, want proxmox.PowerState) error {
	before, err := j.client.Power(ctx, j.guest, nil, want, j.powerOptions(ctx))
	if err != nil {
		return fmt.Errorf("make it %s: %w", want, err)
	}
	j.latest, j.reached = before, string(want)
	return nil
}

// powers reports whether an update changes the guest's power: when the
// configured one changes, and with enforce_power when the real one is another.
func (j *job) powers() bool {
	power := j.plan.Values["power"]
	return settings.IsKnown(power) && (!power.Equal(j.state.Values["power"]) || isTrue(j.plan.Values["enforce_power"]) && !power.Equal(j.state.Values["status"]))
}

func (j *job) powerOptions(ctx context.Context) proxmox.PowerOptions {
	options := proxmox.PowerOptions{Progress: progress(ctx)}
	options.ShutdownTimeout, options.ForceStop = stopping(j.plan)
	return options
}

func warn(diags *diag.Diagnostics, summary string, warnings []string) {
	if len(warnings) > 0 {
		diags.AddWarning(summary, strings.Join(warnings, "\n"))
	}
}
