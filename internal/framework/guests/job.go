package guests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Working is a kind's part in a job.
type Working interface {
	// Load reads what it needs of private state.
	Load(ctx context.Context, private framework.PrivateReader)
	// Create makes the guest and finishes it.
	Create(ctx context.Context) error
	// Update does what is planned with a guest that there is.
	Update(ctx context.Context) error
	// Leave readies the guest for a move to another node.
	Leave(ctx context.Context) error
	// Write brings volumes and configuration to what is planned; config is what the
	// gate has just read.
	Write(ctx context.Context, config *proxmox.GuestConfig) error
	// Written does what a guest needs that goes on running with what was written.
	Written(ctx context.Context) error
	// Wait waits for what the configuration names in a guest that runs.
	Wait(ctx context.Context) error
	// Waited reports whether that was waited for, so that the guest can tell its
	// addresses: one that has just been started has none yet.
	Waited() bool
	// Updated cleans up after an update that came to its end.
	Updated(ctx context.Context)
	// Save fills the attributes of a state that only this kind has.
	Save(ctx context.Context, state settings.Document)
	// SavePrivate writes what the next run has to know beside the state.
	SavePrivate(ctx context.Context, private framework.PrivateWriter)
}

// Job brings a guest to what is planned.
type Job struct {
	Kind                *Kind
	Client              *proxmox.Client
	Config, Plan, State settings.Document
	Applied             settings.Applied
	// Known are the slots of the volumes that go with the guest.
	Known    []string
	Defaults framework.Defaults
	Diags    *diag.Diagnostics

	// First is set until the guest has been finished once: it is still to be
	// started.
	First bool
	Guest proxmox.Guest
	// Grown are the sizes that volumes were grown to, by slot.
	Grown map[string]proxmox.Size
	// Latest is the guest's configuration as it was read last.
	Latest *proxmox.GuestConfig

	// task made the guest and may still run.
	task proxmox.UPID
	// own is a permission that was granted and not used yet.
	own *proxmox.Owned
	// reached is the power that the job brought the guest to; "" where it did
	// not touch it.
	reached string
	// found are the addresses, where they were asked for before the end.
	found *Found
	// rests is set where a guest that is made anew is not started, since it did not
	// run before: its marker says so.
	rests bool
	// marked is set once the job wrote the marker into a guest without one,
	// configured once the configuration was written.
	marked, configured bool
}

// WaitError is a wait that ended before what was waited for: the guest itself
// is finished.
type WaitError struct {
	What string
	Err  error
}

func (e *WaitError) Error() string { return "waiting for " + e.What + ": " + e.Err.Error() }

// Unwrap returns what ended the wait.
func (e *WaitError) Unwrap() error { return e.Err }

// lastWriteError is the last write of a creation that was not made: the guest
// is finished, and still says that it is not.
type lastWriteError struct {
	kind proxmox.Kind
	err  error
}

func (e *lastWriteError) Error() string {
	return fmt.Sprintf("write that the %s is finished: %s", e.kind, e.err)
}

func (e *lastWriteError) Unwrap() error { return e.err }

// OnTimeoutFail is the value of on_wait_timeout that makes a wait in vain an
// error.
const OnTimeoutFail = "fail"

// Within does the work within a time and reports whether the guest is finished.
//
// Terraform saves what Create returns only when it returns, and taints what it
// returns with an error. So a job that was cancelled, and a wait that led to
// nothing, end with a warning: the guest is in state, and the next apply
// finishes it.
func (j *Job) Within(ctx context.Context, timeout time.Duration, action string, work func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := work(bounded)
	var waited *WaitError
	var unwritten *lastWriteError
	unfinished := fmt.Sprintf("%s %d is not finished: ", j.Kind.title(), j.Guest.VMID)
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil && j.First && j.Guest.VMID != 0:
		j.Diags.AddWarning(unfinished+"the run was interrupted",
			"It is in the state as it was planned, with provisioned = false. What Proxmox VE had begun goes on. The next apply finishes it.")
	case errors.As(err, &unwritten):
		j.Diags.AddWarning(unfinished+"its marker still says so",
			"It is in the state with provisioned = false; the next apply writes the marker.\n\n"+unwritten.err.Error())
	case errors.As(err, &waited) && j.Plan.Text("on_wait_timeout") != OnTimeoutFail:
		j.Diags.AddWarning(unfinished+"waiting for "+waited.What+" ended in vain",
			fmt.Sprintf("It runs and is in the state with provisioned = false; the next apply goes on waiting. "+
				"With on_wait_timeout = %q this would be an error, and the %s would be replaced.\n\n%s", OnTimeoutFail, j.Kind, waited.Err))
	default:
		framework.AddError(j.Diags, action, err)
	}
	return false
}

// Take takes over a guest that was made, or began to be.
func (j *Job) Take(created proxmox.Created, err error) {
	if created.Guest.VMID != 0 {
		j.Guest = created.Guest
	}
	j.own = created.Own
	var interrupted *proxmox.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		j.task = interrupted.UPID
	case err == nil:
		j.task = proxmox.UPID{}
	}
	warn(j.Diags, fmt.Sprintf("%s %d was made with warnings", j.Kind.title(), j.Guest.VMID), created.Warnings)
}

// Resume finishes a guest that an earlier run did not finish.
func (j *Job) Resume(ctx context.Context, own Working) error {
	created, err := j.Client.ResumeClone(ctx, j.Guest, j.task)
	j.Take(created, err)
	if err != nil {
		return err
	}
	return j.Finish(ctx, own)
}

// Finish configures and starts a new guest, waits as configured, and then says in
// its marker that it is finished. That is the last call of all: a run that is
// killed before it leaves a guest that the next one finds.
func (j *Job) Finish(ctx context.Context, own Working) error {
	if err := j.configure(ctx, own); err != nil {
		return err
	}
	if err := own.Written(ctx); err != nil {
		return err
	}
	completion, err := j.begin(ctx)
	if err != nil {
		return err
	}
	if err := own.Wait(ctx); err != nil {
		return err
	}
	if j.Latest != nil {
		found := j.findAddresses(ctx, own)
		j.found = &found
	}
	before, err := j.Client.Complete(ctx, j.Guest, completion)
	if err != nil {
		return &lastWriteError{j.Kind.Kind, err}
	}
	j.note(before)
	j.Latest = before
	return nil
}

// Change updates a finished guest.
func (j *Job) Change(ctx context.Context, own Working) error {
	if err := j.mark(ctx); err != nil {
		return err
	}
	if err := j.configure(ctx, own); err != nil {
		return err
	}
	if powers(j.Plan, j.State) {
		if err := j.power(ctx, proxmox.PowerState(j.Plan.Text("power"))); err != nil {
			return err
		}
	}
	if err := j.read(ctx); err != nil {
		return err
	}
	if len(j.Latest.PendingKeys()) == 0 || !j.Kind.Restarts(j.Plan, j.State) {
		return own.Written(ctx)
	}
	if _, err := j.Client.Reboot(ctx, j.Guest, nil, j.PowerOptions(ctx)); err != nil {
		return err
	}
	return j.read(ctx)
}

// mark writes the marker into a guest that has none.
func (j *Job) mark(ctx context.Context) error {
	if settings.IsTrue(j.State.Values["marked"]) || !settings.IsTrue(j.Plan.Values["marked"]) {
		return nil
	}
	if err := j.Client.Mark(ctx, j.Guest); err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	j.marked = true
	return nil
}

// configure brings the guest to its node and then has the kind write its volumes
// and its configuration.
func (j *Job) configure(ctx context.Context, own Working) error {
	if err := j.relocate(ctx, own); err != nil {
		return err
	}
	if j.own == nil {
		granted, err := j.Client.Gate.Own(ctx, j.Guest)
		if err != nil {
			return err
		}
		j.own = granted
	}
	config := j.own.Config()
	j.note(config)
	marker, _ := config.Marker()
	j.rests = marker.Rests
	if err := own.Write(ctx, config); err != nil {
		return err
	}
	j.configured = true
	return nil
}

// relocate moves the guest to the node that is planned.
func (j *Job) relocate(ctx context.Context, own Working) error {
	target := j.Plan.Text("node")
	if !j.State.Exists() || target == "" || target == j.State.Text("node") {
		return nil
	}
	if err := own.Leave(ctx); err != nil {
		return err
	}
	if _, err := j.Client.Migrate(ctx, j.Guest, j.Spend(), target, j.PowerOptions(ctx)); err != nil {
		return err
	}
	j.Guest.Node = target
	return nil
}

// Spend hands out the permission that is left, once.
func (j *Job) Spend() *proxmox.Owned {
	own := j.own
	j.own = nil
	return own
}

// note remembers where the guest is and what tells it apart.
func (j *Job) note(config *proxmox.GuestConfig) {
	j.Guest.Node = config.Node
	j.Guest.SMBIOSUUID, j.Guest.CTime, j.Guest.MACs = config.SMBIOSUUID(), config.CTime(), config.MACs()
}

// read reads the configuration once more, for the state.
func (j *Job) read(ctx context.Context) error {
	config, err := j.Client.Pending(ctx, j.Kind.Kind, j.Guest.Node, j.Guest.VMID)
	if err != nil {
		return err
	}
	j.note(config)
	j.Latest = config
	return nil
}

// Progress passes the lines of a task's log on to Terraform's log.
func (j *Job) Progress(ctx context.Context) func(string) { return progress(ctx) }
