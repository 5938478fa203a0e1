package proxmox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cloning is the making of one clone, over as many ids as it takes.
type cloning struct {
	c        *Client
	spec     CloneSpec
	guests   []Resource
	warnings []string

	vmid int
	// lost is set when the answer to a call for this id was lost: that clone may
	// have been made, may be under way, and may even begin late.
	lost bool
	// begun is set while a clone for this id is known to have begun.
	begun bool
	// refusal is why the last id could not be had. It was in no list, so that the
	// token does not see all guests.
	refusal error
}

// outcome is what came of one id.
type outcome int

const (
	// made: the guest is there, and carries our marker.
	made outcome = iota + 1
	// taken: the id is somebody else's.
	taken
	// again: nothing is there; the same call may be made again.
	again
)

func (k *cloning) run(ctx context.Context) (Created, error) {
	for {
		if err := k.takeID(ctx); err != nil {
			return Created{}, err
		}
		result, err := k.make(ctx)
		if err != nil {
			return k.failed(ctx, err)
		}
		if result == made {
			return k.verify(ctx)
		}
		k.c.IDs.forget(k.vmid)
		if k.spec.VMID != 0 {
			return Created{}, &TakenError{VMID: k.vmid, Detail: k.refusal.Error()}
		}
	}
}

// takeID reserves the id to try. The lists of the cluster suffice at first:
// whether an id is free only PVE can tell, when it makes the guest. After it
// said no, ids that are in use unseen are skipped with a cheaper call.
func (k *cloning) takeID(ctx context.Context) error {
	k.lost, k.begun = false, false
	var err error
	switch {
	case k.spec.VMID != 0:
		k.vmid, err = k.spec.VMID, k.c.IDs.reserve(k.spec.VMID)
	case k.refusal != nil:
		k.vmid, err = k.c.IDs.nextFree(ctx, k.guests)
	default:
		k.vmid, err = k.c.IDs.next(k.guests)
	}
	return err
}

// make calls for the clone until it is known what came of the id.
func (k *cloning) make(ctx context.Context) (outcome, error) {
	for attempt := 0; ; attempt++ {
		err := k.clone(ctx)
		result, err := k.decide(ctx, err)
		if err != nil || result != again {
			return result, err
		}
		if err := k.c.backoff(ctx, attempt); err != nil {
			return 0, err
		}
	}
}

// clone makes the call and waits for its task.
func (k *cloning) clone(ctx context.Context) error {
	description, err := JoinDescription(k.spec.Description, Marker{UID: k.spec.UID, VMID: k.vmid, Creating: true})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	graced, cancel := withGrace(ctx)
	defer cancel()
	upid, err := k.c.VMs.Clone(graced, CloneRequest{
		TemplateNode: k.spec.TemplateNode, Template: k.spec.Template, NewID: k.vmid, Name: k.spec.Name,
		Description: description, Target: k.target(), Storage: k.spec.Storage, Pool: k.spec.Pool, Full: true,
	})
	if err != nil {
		k.lost = k.lost || IsLostAnswer(err) || IsNoWorker(err)
		return err
	}
	k.c.IDs.began(upid)
	k.begun = true
	result, err := k.c.Tasks.Wait(ctx, upid, WaitOptions{Progress: k.spec.Progress})
	k.warnings = append(k.warnings, result.warnings()...)
	return err
}

// warnings are the lines of the log that tell of a task's warnings, or all of
// its end if none looks so.
func (r TaskResult) warnings() []string {
	if r.Warnings == 0 {
		return nil
	}
	var lines []string
	for _, line := range r.LogTail {
		if strings.HasPrefix(line, "WARN") {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		return r.LogTail
	}
	return lines
}

// withGrace outlives its parent by callGrace.
func withGrace(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		select {
		case <-ctx.Done():
		case <-time.After(callGrace):
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// target is the node to name in the call: PVE wants none for its own.
func (k *cloning) target() string {
	if k.spec.node() == k.spec.TemplateNode {
		return ""
	}
	return k.spec.Node
}

// decide says what an attempt that ended with err means. Only what is known not
// to have begun is judged by its error; everything else is looked at.
func (k *cloning) decide(ctx context.Context, err error) (outcome, error) {
	var interrupted *InterruptedError
	switch {
	case err == nil:
		return made, nil
	case errors.As(err, &interrupted):
		return 0, err
	case k.lost, k.begun:
		return k.resolve(ctx, err)
	case IsExists(err):
		k.refusal = err
		return taken, nil
	case IsLocked(err), IsLockTimeout(err), IsNotBegun(err):
		return again, nil
	default:
		return 0, err
	}
}

// resolve looks at what there is after an attempt that began, or may have. PVE
// undoes a clone that fails. Where nothing is to be seen the same call is made
// again, unless its error would come again: should a lost one arrive after all,
// it is for the same id and has the same marker, and only one of them is made.
func (k *cloning) resolve(ctx context.Context, cause error) (outcome, error) {
	guest := k.guest()
	guest.Node = k.spec.TemplateNode
	s, err := k.c.settled(ctx, guest, k.spec.TemplateNode)
	if err != nil {
		return 0, errors.Join(cause, err)
	}
	passing := mayPass(cause) || IsExists(cause)
	var failed *TaskError
	switch {
	case s.standing.Owned() && s.config.Lock() != "":
		return 0, fmt.Errorf("%w; it is left behind with its lock (%s)", cause, s.config.Lock())
	case s.standing.Owned() && !passing && errors.As(cause, &failed):
		return 0, fmt.Errorf("%w; it is left behind", cause)
	case s.standing.Owned():
		return made, nil
	case s.standing == Unreachable:
		return 0, errors.Join(cause, k.c.Gate.refuse(guest, s))
	}
	k.begun = k.begun && !s.standing.Lost()
	switch {
	case !passing:
		return 0, cause
	case s.standing == Gone && !IsExists(cause):
		return again, nil
	default:
		k.refusal = cause
		return taken, nil
	}
}

// failed reports an error, and the guest if there is or may be one.
func (k *cloning) failed(ctx context.Context, err error) (Created, error) {
	k.c.IDs.release(k.vmid)
	if !k.lost && !k.begun {
		return Created{Warnings: k.warnings}, k.explain(k.c.nameLack(ctx, err, "vm.create", k.scope()))
	}
	var interrupted *InterruptedError
	if ctx.Err() != nil && !errors.As(err, &interrupted) {
		err = &InterruptedError{Err: ctx.Err()}
	}
	return Created{Guest: k.guest(), Warnings: k.warnings}, k.explain(err)
}

func (k *cloning) explain(err error) error {
	return fmt.Errorf("clone template %d to %s: %w", k.spec.Template, nameGuest(KindVM, k.vmid, k.spec.Name, k.spec.node()), err)
}

// scope are the objects that the clone is about.
func (k *cloning) scope() Scope {
	scope := Scope{"template": {strconv.Itoa(k.spec.Template)}, "vmid": {strconv.Itoa(k.vmid)}}
	if k.spec.Pool != "" {
		scope["pool"] = []string{k.spec.Pool}
	}
	if k.spec.Storage != "" {
		scope["images"] = []string{k.spec.Storage}
	}
	return scope
}

func (k *cloning) guest() Guest {
	return Guest{Kind: KindVM, VMID: k.vmid, Node: k.spec.node(), UID: k.spec.UID}
}

// verify reads the clone: it has to be where it was asked for, and ours.
func (k *cloning) verify(ctx context.Context) (Created, error) {
	k.begun = true
	own, err := k.c.Gate.Own(ctx, k.guest())
	if err != nil {
		return k.failed(ctx, err)
	}
	k.c.IDs.release(k.vmid)
	return created(k.guest(), own, k.warnings), nil
}

// created completes what is known of a guest from the read that granted own.
func created(guest Guest, own *Owned, warnings []string) Created {
	guest.Node = own.Node()
	guest.SMBIOSUUID = own.Config().SMBIOSUUID()
	guest.CTime = own.Config().CTime()
	return Created{Guest: guest, Own: own, Warnings: warnings}
}
