package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

// making is an order being carried out, over as many ids as it takes.
type making struct {
	order

	c        *Client
	found    census
	warnings []string

	// tried is the id that is tried.
	tried int
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

func (k *making) run(ctx context.Context) (Created, error) {
	var tidying sync.WaitGroup
	defer tidying.Wait()
	for {
		if err := k.takeID(ctx); err != nil {
			return Created{}, err
		}
		tidying.Go(func() { k.c.IDs.ledger.tidy(ctx) })
		result, err := k.make(ctx)
		if err != nil {
			return k.failed(ctx, err)
		}
		if result == made {
			return k.verify(ctx)
		}
		k.c.IDs.forget(k.tried)
		if k.vmid != 0 {
			return Created{}, &TakenError{VMID: k.tried, Detail: k.refusal.Error()}
		}
	}
}

// takeID reserves the id to try, in the ledger too.
func (k *making) takeID(ctx context.Context) error {
	k.lost, k.begun = false, false
	ids := k.c.IDs
	if k.tried = k.vmid; k.tried != 0 {
		if err := ids.reserve(k.tried); err != nil {
			return err
		}
		return ids.ledger.note(ctx, k.tried, k.found.reserved)
	}
	for {
		booked, err := k.bookID(ctx)
		if booked {
			return nil
		}
		ids.forget(k.tried)
		if err != nil {
			return err
		}
	}
}

// bookID picks an id and books it. The lists of the cluster suffice at first:
// whether an id is free only PVE can tell, when it makes the guest. After it
// said no, ids that are in use unseen are skipped with a cheaper call.
func (k *making) bookID(ctx context.Context) (bool, error) {
	ids := k.c.IDs
	known, done, err := ids.ledger.begin(ctx, k.found.reserved)
	if err != nil {
		return false, err
	}
	defer done()
	k.found.reserved = known
	if k.refusal != nil {
		k.tried, err = ids.nextFree(ctx, k.found)
	} else {
		k.tried, err = ids.next(k.found)
	}
	if err != nil {
		return false, err
	}
	booked, now, err := ids.ledger.book(ctx, k.tried, known)
	if now != nil {
		k.found.reserved = now
	}
	return booked, err
}

// make calls for the guest until it is known what came of the id.
func (k *making) make(ctx context.Context) (outcome, error) {
	for attempt := 0; ; attempt++ {
		err := k.ask(ctx)
		result, err := k.decide(ctx, err)
		if err != nil || result != again {
			return result, err
		}
		if err := k.c.backoff(ctx, attempt); err != nil {
			return 0, err
		}
	}
}

// ask makes the call and waits for its task.
func (k *making) ask(ctx context.Context) error {
	description, err := JoinDescription(k.description, k.marker(k.tried))
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	graced, cancel := withGrace(ctx)
	defer cancel()
	upid, err := k.call(graced, k.tried, description)
	if err != nil {
		k.lost = k.lost || IsLostAnswer(err) || IsNoWorker(err)
		return err
	}
	k.c.IDs.began(upid)
	k.begun = true
	result, err := k.c.Tasks.Wait(ctx, upid, WaitOptions{Progress: k.progress})
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

// decide says what an attempt that ended with err means. Only what is known not
// to have begun is judged by its error; everything else is looked at.
func (k *making) decide(ctx context.Context, err error) (outcome, error) {
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
func (k *making) resolve(ctx context.Context, cause error) (outcome, error) {
	guest := k.guest()
	guest.Node = k.taskNode
	s, err := k.c.settled(ctx, guest, k.taskNode)
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
func (k *making) failed(ctx context.Context, err error) (Created, error) {
	k.c.IDs.release(k.tried)
	if !k.lost && !k.begun {
		return Created{Warnings: k.warnings}, k.explain(k.c.nameLack(ctx, err, k.capability, k.scopeNow()))
	}
	var interrupted *InterruptedError
	if ctx.Err() != nil && !errors.As(err, &interrupted) {
		err = &InterruptedError{Err: ctx.Err()}
	}
	return Created{Guest: k.guest(), Warnings: k.warnings}, k.explain(err)
}

func (k *making) explain(err error) error {
	return fmt.Errorf("%s to %s: %w", k.what, nameGuest(k.kind, k.tried, k.name, k.node), err)
}

// scopeNow are the objects that the order is about, with the id that was tried.
func (k *making) scopeNow() Scope {
	scope := maps.Clone(k.scope)
	scope["vmid"] = []string{strconv.Itoa(k.tried)}
	return scope
}

func (k *making) guest() Guest {
	return Guest{Kind: k.kind, VMID: k.tried, Node: k.node, UID: k.uid}
}

// verify reads the clone: it has to be where it was asked for, and ours.
func (k *making) verify(ctx context.Context) (Created, error) {
	k.begun = true
	own, err := k.c.Gate.Own(ctx, k.guest())
	if err != nil {
		return k.failed(ctx, err)
	}
	k.c.IDs.release(k.tried)
	return created(k.guest(), own, k.warnings), nil
}

// created completes what is known of a guest from the read that granted own.
func created(guest Guest, own *Owned, warnings []string) Created {
	guest.Node = own.Node()
	guest.SMBIOSUUID = own.Config().SMBIOSUUID()
	guest.CTime = own.Config().CTime()
	guest.MACs = own.Config().MACs()
	return Created{Guest: guest, Own: own, Warnings: warnings}
}
