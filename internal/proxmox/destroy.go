package proxmox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DestroyOptions is how to destroy a guest.
type DestroyOptions struct {
	// ShutdownTimeout and ForceStop are as in [PowerOptions].
	ShutdownTimeout time.Duration
	ForceStop       bool
	// Purge and DestroyUnreferencedDisks are as in [DeleteOptions].
	Purge                    bool
	DestroyUnreferencedDisks bool
	// Task is the clone that was not waited for to its end, if there is one:
	// a half-made guest is destroyed when PVE is done with it.
	Task UPID
	// Check is asked right before each call that destroys, with what the gate
	// read, and refuses by its error. It may be nil.
	Check func(*GuestConfig) error
	// Progress receives the lines of the tasks' logs. It may be nil.
	Progress func(line string)
}

// Destroyed is how a destruction ended well.
type Destroyed struct {
	// Stranger is set when the guest was gone and another had its id, which was
	// left alone.
	Stranger *OwnershipError
	// Warnings are PVE's own, such as of a volume that could not be removed.
	Warnings []string
}

// ErrProtected says that a guest is protected against its destruction.
var ErrProtected = errors.New("the guest is protected: set protection to off first")

// protected reports whether PVE refuses to destroy a guest and to change its volumes.
func (c *GuestConfig) protected() bool { return c.Get("protection") == "1" }

// AbandonedError is a guest whose lock nobody will lift: the task that took it
// is no more, as when its node restarted in the middle of a clone.
type AbandonedError struct {
	Kind Kind
	VMID int
	Node string
	// Err says how the guest was found.
	Err error
}

func (e *AbandonedError) Error() string {
	return fmt.Sprintf("%v; no task works on %s any more, so that its lock stays until \"%s unlock %d\" there",
		e.Err, nameGuest(e.Kind, e.VMID, "", e.Node), e.Kind.tool(), e.VMID)
}

// Unwrap returns how the guest was found.
func (e *AbandonedError) Unwrap() error { return e.Err }

// Destroy destroys a guest of ours and its disks, stopping it if it runs. A
// guest that is gone, at whatever step, is a success, and so is a stranger under
// its id, which is left alone. It waits for locks as long as the context lives.
//
// The destruction is asked for before the stop: PVE refuses it while the guest
// runs, but first if the guest is protected or managed by HA. So nothing is
// stopped that will not be destroyed, and a stopped guest costs two calls.
func (c *Client) Destroy(ctx context.Context, guest Guest, o DestroyOptions) (Destroyed, error) {
	d := &destruction{c: c, guest: guest, o: o}
	if err := d.awaitTask(ctx); err != nil {
		return Destroyed{}, err
	}
	for attempt := 0; ; attempt++ {
		err := d.try(ctx)
		if err == nil {
			return d.result, nil
		}
		again, err := d.handle(ctx, err)
		if !again {
			return d.end(err)
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return Destroyed{}, fmt.Errorf("destroy %s: %w: %w", guest, stopped, err)
		}
	}
}

// destruction is one guest on its way out.
type destruction struct {
	c      *Client
	guest  Guest
	o      DestroyOptions
	result Destroyed
	// asked is set once PVE was asked to destroy it.
	asked bool
	// missed is set once PVE missed something: the guest, or what it consists of.
	missed bool
}

// awaitTask waits for the clone that made the guest. How that ended is no
// matter.
func (d *destruction) awaitTask(ctx context.Context) error {
	if d.o.Task.IsZero() {
		return nil
	}
	_, err := d.c.Tasks.Wait(ctx, d.o.Task, WaitOptions{Progress: d.o.Progress})
	if ctx.Err() != nil {
		return fmt.Errorf("destroy %s: %w", d.guest, err)
	}
	return nil
}

// try asks the gate and then PVE, once.
func (d *destruction) try(ctx context.Context) error {
	release, err := d.c.limits.hold(ctx, d.guest.Node)
	if err != nil {
		return err
	}
	defer release()
	own, err := d.c.Gate.Own(ctx, d.guest)
	if err != nil {
		return err
	}
	d.guest.Node = own.Node()
	if err := d.mayDestroy(own.Config()); err != nil {
		return err
	}
	upid, err := d.c.of(d.guest.kind()).Delete(ctx, own, DeleteOptions{Purge: d.o.Purge, DestroyUnreferencedDisks: d.o.DestroyUnreferencedDisks})
	d.asked = d.asked || err == nil || IsLostAnswer(err)
	if err != nil {
		return err
	}
	result, err := d.c.Tasks.Wait(ctx, upid, WaitOptions{Progress: d.o.Progress})
	d.result.Warnings = append(d.result.Warnings, result.warnings()...)
	return err
}

// mayDestroy refuses what PVE would refuse only in its task, or not at all.
// PVE destroys a suspended guest, whose lock stays until it is resumed.
func (d *destruction) mayDestroy(config *GuestConfig) error {
	if config.protected() {
		return ErrProtected
	}
	if lock := config.Lock(); lock != "" && lock != "suspended" {
		return &LockedError{Kind: config.Kind, VMID: config.VMID, Node: config.Node, Lock: lock}
	}
	if d.o.Check == nil {
		return nil
	}
	return d.o.Check(config)
}

// handle says whether to try again after an error, and does what is needed
// before.
func (d *destruction) handle(ctx context.Context, err error) (again bool, _ error) {
	var refused *OwnershipError
	var locked *LockedError
	switch {
	case errors.As(err, &refused) && refused.Standing == Unreadable:
		// The rights through a pool end before the guest does.
		return d.asked, err
	case errors.As(err, &refused) && refused.Standing == Stub:
		return d.settle(ctx, refused.Node, err)
	case errors.As(err, &refused):
		return false, err
	case errors.As(err, &locked) && (locked.Lock == "clone" || locked.Lock == "create"):
		return d.settle(ctx, locked.Node, err)
	case errors.As(err, &locked), mayPass(err):
		return true, err
	case IsNotFound(err):
		return d.miss(), err
	case IsRunning(err):
		return d.stop(ctx, err)
	default:
		return false, err
	}
}

// settle waits for the clone or the destruction that the guest is in. A lock
// whose worker was killed stays for ever.
func (d *destruction) settle(ctx context.Context, node string, cause error) (again bool, _ error) {
	s, err := d.c.settled(ctx, d.guest, node)
	if err != nil {
		return false, fmt.Errorf("%w: %w", err, cause)
	}
	if unsettled(s) {
		return false, &AbandonedError{Kind: d.guest.kind(), VMID: d.guest.VMID, Node: node, Err: cause}
	}
	return true, cause
}

// stop stops the guest, for the next try to find it stopped.
func (d *destruction) stop(ctx context.Context, running error) (again bool, _ error) {
	_, err := d.c.stop(ctx, d.guest, nil, PowerOptions{
		ShutdownTimeout: d.o.ShutdownTimeout, ForceStop: d.o.ForceStop, Progress: d.o.Progress,
	})
	var refused *OwnershipError
	if err == nil || errors.As(err, &refused) || IsNotFound(err) && d.miss() {
		return true, running
	}
	return false, fmt.Errorf("stop it: %w", err)
}

// miss reports whether "does not exist" is worth a look at the guest: the first
// time.
func (d *destruction) miss() bool {
	first := !d.missed
	d.missed = true
	return first
}

// end turns the error of the last try into the result.
func (d *destruction) end(err error) (Destroyed, error) {
	var refused *OwnershipError
	if errors.As(err, &refused) && refused.Standing == Gone {
		return d.result, nil
	}
	if errors.As(err, &refused) && refused.Standing == Stranger {
		d.result.Stranger = refused
		return d.result, nil
	}
	return Destroyed{}, fmt.Errorf("destroy %s: %w", d.guest, err)
}
