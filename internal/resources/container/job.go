package container

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

// job brings a container to what is planned.
type job struct {
	client              *proxmox.Client
	config, plan, state settings.Document
	applied             settings.Applied
	defaults            framework.Defaults
	diags               *diag.Diagnostics

	// first is set until the container has been finished once.
	first bool
	// rebuilt is set once it was reinstalled.
	rebuilt bool
	guest   proxmox.Guest
	// task made the container and may still run.
	task proxmox.UPID
	// own is a permission that was granted and not used yet.
	own *proxmox.Owned
	// latest is the container's configuration as it was read last.
	latest *proxmox.GuestConfig
	// running is whether the container runs, as far as the job knows; nil means
	// that it does not know.
	running *bool
	// configured is set once the configuration was written.
	configured bool
}

// work is what an update does.
func (j *job) work() func(context.Context) error {
	switch {
	case j.first:
		return j.resume
	case j.plan.Values["reinstallation"] != nil && !j.plan.Values["reinstallation"].Equal(j.state.Values["reinstallation"]),
		j.sourceChanges():
		return j.reinstall
	}
	return j.change
}

// sourceChanges reports whether the plan is about another template or trigger.
func (j *job) sourceChanges() bool {
	if settings.IsNull(j.plan.Values["reinstall"]) || j.state.Text("template") == "" {
		return false
	}
	had := settings.Fields(j.state.Values["reinstall"])["trigger"]
	want := settings.Fields(j.plan.Values["reinstall"])["trigger"]
	triggered := settings.IsKnown(had) && settings.IsKnown(want) && !had.Equal(want)
	return triggered || !j.plan.Values["template"].Equal(j.state.Values["template"])
}

// within does the work within a time and reports whether the container is
// finished.
//
// Terraform saves what Create returns only when it returns, and taints what it
// returns with an error. So a job that was cancelled ends with a warning: the
// container is in state, and the next apply finishes it.
func (j *job) within(ctx context.Context, timeout time.Duration, action string, work func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := work(bounded)
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil && j.first && j.guest.VMID != 0:
		j.diags.AddWarning(fmt.Sprintf("Container %d is not finished: the run was interrupted", j.guest.VMID),
			"It is in the state as it was planned, with provisioned = false. What Proxmox VE had begun goes on. The next apply finishes it.")
	default:
		framework.AddError(j.diags, action, err)
	}
	return false
}

// create makes the container and finishes it.
func (j *job) create(ctx context.Context) error {
	spec, err := j.containerSpec(ctx)
	if err != nil {
		return err
	}
	spec.UID, spec.VMID = proxmox.NewUID(), j.plan.Integer("vmid")
	created, err := j.client.CreateContainer(ctx, spec)
	j.take(created, err)
	if err != nil {
		return err
	}
	return j.finish(ctx, true)
}

// resume finishes a container that an earlier run did not finish: its creation, or
// its reinstallation.
func (j *job) resume(ctx context.Context) error {
	holders, err := j.client.Holders(ctx, j.guest)
	if err != nil {
		return err
	}
	if len(holders) > 0 || j.sourceChanges() {
		return j.reinstall(ctx)
	}
	created, err := j.client.ResumeClone(ctx, j.guest, j.task)
	j.take(created, err)
	if err != nil {
		return err
	}
	return j.finish(ctx, true)
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
	warn(j.diags, fmt.Sprintf("Container %d was made with warnings", j.guest.VMID), created.Warnings)
}

// containerSpec says what to make.
func (j *job) containerSpec(ctx context.Context) (proxmox.ContainerSpec, error) {
	node := j.plan.Text("node")
	if node == "" {
		return proxmox.ContainerSpec{}, errNoNode
	}
	values, err := j.firstSettings()
	if err != nil {
		return proxmox.ContainerSpec{}, err
	}
	delete(values, "hostname")
	delete(values, "description")
	return proxmox.ContainerSpec{
		Node: node, Template: j.plan.Text("template"), Settings: values, Pool: j.plan.Text("pool"),
		Name: j.plan.Text("hostname"), Description: j.plan.Text("description"), Source: sourceOf(j.plan),
		Password: settings.TextOf(j.config.Values["password_wo"]), SSHKeys: j.plan.List("ssh_keys"),
		Privileged: !settings.IsTrue(j.plan.Values["unprivileged"]), Progress: progress(ctx),
	}, nil
}

// finish configures and starts a container that was just made, and ends its
// creation.
func (j *job) finish(ctx context.Context, start bool) error {
	if err := j.configure(ctx); err != nil {
		return err
	}
	want := j.plan.Text("power")
	if want == "" && start {
		want = powerRunning
	}
	var completion *proxmox.Completion
	if want == powerRunning {
		var err error
		if completion, err = j.client.StartNew(ctx, j.guest, nil, proxmox.PowerOptions{Progress: progress(ctx)}); err != nil {
			return fmt.Errorf("start it: %w", err)
		}
	}
	if _, err := j.client.Complete(ctx, j.guest, completion); err != nil {
		return err
	}
	running := want == powerRunning
	j.running = &running
	return j.read(ctx)
}

// change updates a finished container.
func (j *job) change(ctx context.Context) error {
	if err := j.configure(ctx); err != nil {
		return err
	}
	power := j.plan.Values["power"]
	if settings.IsKnown(power) && !power.Equal(j.state.Values["power"]) {
		want := proxmox.PowerState(settings.TextOf(power))
		options := proxmox.PowerOptions{Progress: progress(ctx)}
		options.ShutdownTimeout, options.ForceStop = stopping(j.plan)
		if _, err := j.client.Power(ctx, j.guest, nil, want, options); err != nil {
			return fmt.Errorf("make it %s: %w", want, err)
		}
		running := want == proxmox.PowerRunning
		j.running = &running
	}
	if err := j.read(ctx); err != nil {
		return err
	}
	if len(j.latest.PendingKeys()) == 0 || !restarts(j.plan, j.state) {
		return nil
	}
	options := proxmox.PowerOptions{Progress: progress(ctx)}
	options.ShutdownTimeout, options.ForceStop = stopping(j.plan)
	if _, err := j.client.Reboot(ctx, j.guest, nil, options); err != nil {
		return err
	}
	return j.read(ctx)
}

// configure grows the volumes and writes the configuration: in this order, since
// a volume's size is part of what is written.
func (j *job) configure(ctx context.Context) error {
	if j.own == nil {
		own, err := j.client.Gate.Own(ctx, j.guest)
		if err != nil {
			return err
		}
		j.own = own
	}
	j.note(j.own.Config())
	growths, err := j.growths(j.own.Config())
	if err != nil {
		return err
	}
	for _, growth := range growths {
		if _, err := j.client.Grow(ctx, j.guest, j.spend(), growth.slot, growth.size, progress(ctx)); err != nil {
			return fmt.Errorf("grow %s: %w", growth.slot, err)
		}
	}
	before, err := j.client.Configure(ctx, j.guest, j.spend(), j.update)
	if before != nil {
		j.note(before)
	}
	if err != nil {
		return err
	}
	j.configured = true
	return j.destroyVolumes(ctx)
}

// spend hands out the permission that is left, once.
func (j *job) spend() *proxmox.Owned {
	own := j.own
	j.own = nil
	return own
}

// note remembers where the container is and what tells it apart.
func (j *job) note(config *proxmox.GuestConfig) {
	j.guest.Node, j.guest.MACs = config.Node, config.MACs()
}

// read reads the configuration once more, for the state.
func (j *job) read(ctx context.Context) error {
	config, err := j.client.Containers.Pending(ctx, j.guest.Node, j.guest.VMID)
	if err != nil {
		return err
	}
	j.latest = config
	j.note(config)
	return nil
}

func warn(diags *diag.Diagnostics, summary string, warnings []string) {
	if len(warnings) > 0 {
		diags.AddWarning(summary, strings.Join(warnings, "\n"))
	}
}
