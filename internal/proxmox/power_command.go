package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// PowerVerb is a command about a VM's power.
type PowerVerb string

// The commands.
const (
	VerbStart    PowerVerb = "start"
	VerbStop     PowerVerb = "stop"
	VerbShutdown PowerVerb = "shutdown"
	VerbReboot   PowerVerb = "reboot"
	VerbPause    PowerVerb = "pause"
	VerbResume   PowerVerb = "resume"
)

// PowerVerbs lists the commands.
func PowerVerbs() []string {
	var all []string
	for _, verb := range []PowerVerb{VerbStart, VerbStop, VerbShutdown, VerbReboot, VerbPause, VerbResume} {
		all = append(all, string(verb))
	}
	return all
}

// foreignVerbs are what the fence scope allows.
var foreignVerbs = []PowerVerb{VerbStart, VerbStop, VerbShutdown}

// PowerCommand is a command for a VM of ours, or for one in the fence scope.
type PowerCommand struct {
	Verb PowerVerb
	VMID int
	// UID is the marker's, "" for whatever marker the VM carries.
	UID string
	// Foreign allows a VM in the fence scope without our marker: to start it, to
	// stop it, to shut it down.
	Foreign bool
	PowerOptions
}

// UnfitError says that a command does not fit a guest. It was refused before
// any call that changes something.
type UnfitError struct {
	Command string
	// Never is true where it is in the nature of the guest or of the command.
	// Otherwise another state of the guest would make it fit, or another release of
	// PVE.
	Never  bool
	Reason string
}

func (e *UnfitError) Error() string {
	when := "not yet"
	if e.Never {
		when = "never"
	}
	return fmt.Sprintf("%s does not fit, %s: %s", e.Command, when, e.Reason)
}

// Command obeys a command about a VM's power and waits until it shows: HA takes
// a start or a stop as a request. A VM that has the power already is left alone.
func (c *Client) Command(ctx context.Context, p PowerCommand) error {
	if p.Foreign && !slices.Contains(foreignVerbs, p.Verb) {
		return &UnfitError{Command: string(p.Verb), Never: true, Reason: "VMs of others are started, stopped and shut down, and nothing else"}
	}
	f := Fence{VMID: p.VMID, UID: p.UID, Foreign: p.Foreign, Progress: p.Progress}
	permit, err := c.permitFence(ctx, f)
	if err != nil {
		return err
	}
	if permit.config.Template() {
		return &UnfitError{Command: string(p.Verb), Never: true, Reason: fmt.Sprintf("VM %d is a template, which never runs", p.VMID)}
	}
	status, err := c.VMs.Status(ctx, permit.config.Node, p.VMID)
	if err != nil {
		return err
	}
	if err := p.fits(status); err != nil {
		return err
	}
	f.tell("%s VM %d on %s", p.Verb, p.VMID, permit.config.Node)
	if err := c.obey(ctx, f, p, permit); err != nil {
		return err
	}
	guest := Guest{Kind: KindVM, VMID: p.VMID, Node: permit.config.Node}
	status, err = c.awaitPower(ctx, guest, p, fmt.Sprintf("VM %d", p.VMID))
	if err != nil {
		return err
	}
	f.tell("VM %d is %s", p.VMID, status.QMPStatus)
	return nil
}

// fits refuses what the VM's state does not allow.
func (p PowerCommand) fits(status GuestStatus) error {
	unfit := func(reason string) error {
		return &UnfitError{Command: string(p.Verb), Reason: fmt.Sprintf("VM %d %s", p.VMID, reason)}
	}
	needsRunning := p.Verb == VerbReboot || p.Verb == VerbPause
	switch {
	case needsRunning && !status.Running():
		return unfit("does not run")
	case p.Verb == VerbResume && !status.Paused():
		return unfit("is not paused")
	case status.Paused() && (p.Verb == VerbReboot || p.Verb == VerbShutdown && !p.ForceStop):
		return unfit("is paused: its system hears nothing")
	case p.Foreign && p.Verb == VerbStart && status.Paused():
		return unfit("is paused, and nobody else's VM is resumed")
	case p.Verb == VerbReboot && bool(status.HA.Managed) && status.HA.State == HAError:
		return unfit("is in HA's error state")
	}
	return nil
}

// obey makes the call.
func (c *Client) obey(ctx context.Context, f Fence, p PowerCommand, permit fencePermit) error {
	if p.Foreign {
		return c.performFence(ctx, f, permit, func(permit fencePermit) error { return c.obeyForeign(ctx, p, permit) })
	}
	marker, _ := permit.config.Marker()
	guest := Guest{Kind: KindVM, VMID: p.VMID, Node: permit.config.Node, UID: marker.UID}
	own, _ := permit.PowerPermission.(*Owned)
	return c.obeyOwn(ctx, guest, own, p)
}

// obeyOwn makes the call for a guest of ours.
func (c *Client) obeyOwn(ctx context.Context, guest Guest, own *Owned, p PowerCommand) error {
	o := p.PowerOptions
	var err error
	switch p.Verb {
	case VerbStart, VerbResume:
		_, err = c.Power(ctx, guest, own, PowerRunning, o)
	case VerbStop:
		o.ShutdownTimeout = 0
		_, err = c.Power(ctx, guest, own, PowerStopped, o)
	case VerbShutdown:
		_, err = c.Power(ctx, guest, own, PowerStopped, o)
	case VerbReboot:
		_, err = c.Reboot(ctx, guest, own, o)
	case VerbPause:
		_, err = c.Power(ctx, guest, own, PowerPaused, o)
	}
	return err
}

func (c *Client) obeyForeign(ctx context.Context, p PowerCommand, permit fencePermit) error {
	call := c.VMs.Start
	switch p.Verb {
	case VerbStop:
		call = c.VMs.Stop
	case VerbShutdown:
		call = func(ctx context.Context, permit PowerPermission) (UPID, error) {
			return c.VMs.Shutdown(ctx, permit, ShutdownOptions{Timeout: p.ShutdownTimeout, ForceStop: p.ForceStop})
		}
	case VerbStart, VerbReboot, VerbPause, VerbResume:
	}
	upid, err := call(ctx, permit)
	if err == nil {
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: p.Progress})
	}
	if IsRunning(err) || IsStopped(err) {
		return nil
	}
	return err
}

// awaitPower looks until the guest has the power that the command asked for. name is
// what an error calls it.
func (c *Client) awaitPower(ctx context.Context, guest Guest, p PowerCommand, name string) (GuestStatus, error) {
	for {
		status, err := c.of(guest.kind()).Status(ctx, guest.Node, guest.VMID)
		if err != nil || p.done(status) {
			return status, err
		}
		if stopped := c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return status, fmt.Errorf("%s is %s after %s: %w", name, cmp.Or(status.QMPStatus, status.Status), p.Verb, stopped)
		}
	}
}

func (p PowerCommand) done(status GuestStatus) bool {
	switch p.Verb {
	case VerbStop, VerbShutdown:
		return !status.Running()
	case VerbPause:
		return status.Paused()
	case VerbStart, VerbResume, VerbReboot:
		return status.Running() && !status.Paused()
	}
	return true
}

// DefaultShutdownTimeout is how long a guest may take to shut down where nobody
// says.
const DefaultShutdownTimeout = 3 * time.Minute
