package proxmox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// fencePoll is how often a fence looks whether it holds yet.
	fencePoll = time.Second
	// haPatience is how long the HA manager is given before it is asked again: its
	// round takes ten seconds.
	haPatience = 45 * time.Second
	// haSettled is when what the manager was asked for before has taken effect: it
	// looks every ten seconds.
	haSettled = 25 * time.Second
)

// Fence performs a fence and proves it. What is refused is refused before
// anything is stopped (see [IsFenceRefused]); what fails later is a
// [*FenceBegunError] that tells what is stopped by now, around a
// [*FenceUnprovenError] where it could not be proven in time. It goes on as long
// as the context lives. What it returns to bring back is complete even beside an
// error, and empty beside a refusal.
func (c *Client) Fence(ctx context.Context, f Fence) (FenceProof, FenceBefore, error) {
	proof, before, err := c.fence(ctx, f.inTurn())
	if err == nil {
		err = f.satisfied(proof)
	}
	if err != nil && !before.IsEmpty() {
		err = c.begun(ctx, f, before, err)
	}
	return proof, before, err
}

// satisfied is nil for a proof that the fence asked for. A node that was shut down
// can only be unknown.
func (f Fence) satisfied(proof FenceProof) error {
	unproven := proof.State == FenceLapsed ||
		proof.State == FenceUnknown && f.Action != FenceShutdown ||
		proof.State == FenceTransient && f.RequireDurable
	if !unproven {
		return nil
	}
	return &FenceUnprovenError{Left: proof.Reasons}
}

func (c *Client) fence(ctx context.Context, f Fence) (FenceProof, FenceBefore, error) {
	switch f.Action {
	case FenceStop:
		return c.fenceStop(ctx, f)
	case FenceLinkDown:
		return c.fenceLinks(ctx, f)
	case FenceStopGuests, FenceShutdown:
		return c.fenceNode(ctx, f)
	}
	return FenceProof{}, FenceBefore{}, fmt.Errorf("no such fence: %q", f.Action)
}

// ProveFence proves a fence again, and changes nothing.
func (c *Client) ProveFence(ctx context.Context, f Fence) (FenceProof, error) {
	switch f.Action {
	case FenceStop:
		return c.proveStopped(ctx, f)
	case FenceLinkDown:
		return c.proveLinks(ctx, f)
	case FenceStopGuests, FenceShutdown:
		return c.proveNode(ctx, f)
	}
	return FenceProof{}, fmt.Errorf("no such fence: %q", f.Action)
}

// fencePermit is a permission with the configuration that it was granted on.
type fencePermit struct {
	PowerPermission
	config *GuestConfig
}

// permitFence asks the gate: for a guest of ours, or for one in the fence scope.
func (c *Client) permitFence(ctx context.Context, f Fence) (fencePermit, error) {
	guest := f.guest()
	if f.Foreign {
		target, err := c.Gate.FenceTarget(ctx, guest)
		if err != nil {
			return fencePermit{}, err
		}
		return fencePermit{target, target.Config()}, nil
	}
	own, err := c.Gate.ownMarked(ctx, guest)
	if err != nil {
		return fencePermit{}, err
	}
	return fencePermit{own, own.Config()}, nil
}

// ownMarked is [Gate.Own] for a guest whose uid need not be known: any marker of
// ours will do.
func (g *Gate) ownMarked(ctx context.Context, guest Guest) (*Owned, error) {
	if err := g.checkRange(guest); err != nil {
		return nil, err
	}
	s, err := g.look(ctx, guest)
	if err != nil {
		return nil, err
	}
	if marker, marked := markOf(s.config); marked && guest.UID == "" {
		guest.UID = marker.UID
		s = judge(guest, s.config)
	}
	return g.granted(guest, s)
}

func markOf(config *GuestConfig) (Marker, bool) {
	if config == nil {
		return Marker{}, false
	}
	return config.Marker()
}

// performFence makes one call with a permission, and again with another one while
// the refusal is one that passes.
func (c *Client) performFence(ctx context.Context, f Fence, first fencePermit, call func(fencePermit) error) error {
	permit := first
	for attempt := 0; ; attempt++ {
		err := call(permit)
		if err == nil || !mayPass(err) && !IsDigestMismatch(err) {
			return err
		}
		if stopped := c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
		if permit, err = c.permitFence(ctx, f); err != nil {
			return err
		}
	}
}

// admit makes the checks that every fence of a VM has in common.
func (c *Client) admit(ctx context.Context, f Fence) (fencePermit, error) {
	permit, err := c.permitFence(ctx, f)
	if err != nil {
		return permit, err
	}
	config := permit.config
	switch {
	case config.Template():
		return permit, refuse(CheckKind, "%s is a template, which never runs", f.guest())
	case config.Node != f.Node:
		return permit, refuse(CheckNode, "VM %d is on node %s, not on %s", f.VMID, config.Node, f.Node)
	case config.Lock() != "":
		return permit, refusedBy(CheckLock, &LockedError{Kind: KindVM, VMID: f.VMID, Node: f.Node, Lock: config.Lock()},
			"another operation holds VM %d", f.VMID)
	}
	return permit, c.checkPrecondition(ctx, f.Precondition)
}

// checkPrecondition refuses where a condition does not hold or cannot be told.
func (c *Client) checkPrecondition(ctx context.Context, p FencePrecondition) error {
	if p.Quorum {
		status, err := c.Cluster.Status(ctx)
		if err != nil {
			return refusedBy(CheckQuorum, err, "whether the cluster is quorate cannot be told")
		}
		if !status.Quorate {
			return refuse(CheckQuorum, "the cluster is not quorate")
		}
	}
	if p.Job == "" {
		return nil
	}
	job, found, err := c.Replication.Job(ctx, p.Job)
	switch {
	case err != nil:
		return refusedBy(CheckReplication, err, "how recent the replica of job %s is cannot be told", p.Job)
	case !found:
		return refuse(CheckReplication, "there is no replication job %s, or the token may not see it (VM.Audit on its guest)", p.Job)
	}
	now, err := c.Replication.Now(ctx, job.Source)
	if err != nil {
		return refusedBy(CheckReplication, err, "how recent the replica of job %s is cannot be told", p.Job)
	}
	if problems := job.Problems(now, p.MaxLag); len(problems) > 0 {
		return refuse(CheckReplication, "the replica is not ready: %s", problems[0])
	}
	return nil
}

// fenceStop stops a VM. Where HA manages it, PVE's stop is only a request: the
// manager stops the VM and sets its own requested state to stopped, so that both
// are waited for.
func (c *Client) fenceStop(ctx context.Context, f Fence) (FenceProof, FenceBefore, error) {
	permit, err := c.admit(ctx, f)
	if err != nil {
		return FenceProof{}, FenceBefore{}, err
	}
	before, err := c.beforeStop(ctx, f, permit.config)
	if err != nil {
		return FenceProof{}, FenceBefore{}, err
	}
	proof, err := c.stopUntilProven(ctx, f, permit)
	return proof, before, err
}

// beforeStop notes what runs, and makes the checks that only a stop needs.
func (c *Client) beforeStop(ctx context.Context, f Fence, config *GuestConfig) (FenceBefore, error) {
	status, err := c.VMs.Status(ctx, f.Node, f.VMID)
	if err != nil {
		return FenceBefore{}, err
	}
	ha, err := c.haOf(ctx, status, KindVM)
	if err != nil && f.RequireDurable {
		return FenceBefore{}, refusedBy(CheckHA, err, "HA manages VM %d, and what it wants cannot be read", f.VMID)
	}
	switch {
	case ha.State == HAError || status.HA.State == HAError:
		return FenceBefore{}, refuse(CheckHA, "VM %d is in HA's error state, in which PVE refuses every request; disable it in HA and correct it first", f.VMID)
	case f.RequireDurable && startsOnBoot(config):
		return FenceBefore{}, refuse(CheckOnBoot, "VM %d has onboot set and would start again with its node, but the fence is to be durable", f.VMID)
	}
	var before FenceBefore
	if ha.ran(status.Running()) {
		before.Guests = []FencedGuest{{Kind: KindVM, VMID: f.VMID, HA: ha.Requested}}
	}
	f.tellWanted(before)
	return before, nil
}

// haOf is what the manager is asked for about a guest whose status was read, the
// zero value where it does not manage it.
func (c *Client) haOf(ctx context.Context, status GuestStatus, kind Kind) (HAResource, error) {
	if !status.HA.Managed {
		return HAResource{}, nil
	}
	all, err := c.HA.Status(ctx)
	return all.Services[HASID(kind, status.VMID)], err
}

// startsOnBoot reports whether a node that boots starts the guest.
func startsOnBoot(config *GuestConfig) bool {
	return config.Get("onboot") == "1" || config.Wanted("onboot") == "1"
}

// stopUntilProven stops a VM and looks until that is proven. HA is asked again
// when it has let too much time go by: a request is lost when its manager changes.
func (c *Client) stopUntilProven(ctx context.Context, f Fence, permit fencePermit) (FenceProof, error) {
	var asked time.Time
	for {
		if c.clock.Now().Sub(asked) > haPatience {
			if err := c.askStop(ctx, f, permit, asked); err != nil {
				return FenceProof{}, err
			}
			asked = c.clock.Now()
		}
		proof, settled, err := c.stopped(ctx, f)
		if err != nil || settled {
			f.tell("VM %d: %s", f.VMID, proof.State)
			return *proof, err
		}
		if err := c.clock.Sleep(ctx, fencePoll); err != nil {
			return *proof, &FenceUnprovenError{Left: proof.Reasons, Err: err}
		}
	}
}

// askStop asks for a stop; a permission that was used before is asked for anew.
func (c *Client) askStop(ctx context.Context, f Fence, permit fencePermit, asked time.Time) error {
	if !asked.IsZero() {
		var err error
		if permit, err = c.permitFence(ctx, f); err != nil {
			return err
		}
	}
	f.tell("stopping VM %d on %s", f.VMID, permit.config.Node)
	return c.performFence(ctx, f, permit, func(p fencePermit) error { return c.stopOnce(ctx, f, p) })
}

func (c *Client) stopOnce(ctx context.Context, f Fence, permit fencePermit) error {
	upid, err := c.VMs.Stop(ctx, permit)
	if err == nil {
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: f.Progress})
	}
	if IsStopped(err) {
		return nil
	}
	return err
}

func (c *Client) proveStopped(ctx context.Context, f Fence) (FenceProof, error) {
	proof, _, err := c.stopped(ctx, f)
	return *proof, err
}

// stopped looks whether a VM is stopped, and stays so. settled is false while HA
// is at work on it.
func (c *Client) stopped(ctx context.Context, f Fence) (proof *FenceProof, settled bool, err error) {
	proof = c.newProof()
	config, err := c.lookFor(ctx, f, proof)
	if config == nil {
		return proof, true, err
	}
	status, err := c.VMs.Status(ctx, config.Node, f.VMID)
	if err != nil {
		return proof, true, c.noStatus(f, err, proof)
	}
	proof.check(CheckStopped, !status.Running(), FenceLapsed, "VM %d runs on %s", f.VMID, config.Node)
	proof.check(CheckOnBoot, !startsOnBoot(config), FenceTransient, "VM %d has onboot set: it starts again with its node", f.VMID)
	settled = c.proveHA(ctx, status, KindVM, proof)
	return proof, settled && !status.Running(), nil
}

// noStatus is a status that nobody answers for: nothing is known then.
func (c *Client) noStatus(f Fence, err error, proof *FenceProof) error {
	if !IsUnavailable(err) {
		return err
	}
	proof.check(CheckStopped, false, FenceUnknown, "VM %d cannot be asked for: %v", f.VMID, err)
	return nil
}

// lookFor finds the VM wherever it is now. Without a configuration there is
// nothing left to look at, and the proof says why.
func (c *Client) lookFor(ctx context.Context, f Fence, proof *FenceProof) (*GuestConfig, error) {
	s, err := c.Gate.look(ctx, f.guest())
	if err != nil {
		return nil, err
	}
	if s.config != nil {
		proof.Checks[CheckNode] = s.config.Node == f.Node
		if s.config.Node != f.Node {
			proof.Reasons = append(proof.Reasons, fmt.Sprintf("VM %d is on node %s now", f.VMID, s.config.Node))
		}
		return s.config, nil
	}
	switch s.standing {
	case Gone:
		proof.Reasons = append(proof.Reasons, fmt.Sprintf("VM %d does not exist any more", f.VMID))
		proof.Checks[CheckStopped] = true
	case Unreachable, Unreadable:
		proof.check(CheckStopped, false, FenceUnknown, "VM %d cannot be read, and only another path can prove it stopped: %s", f.VMID, s.detail)
	case Ours, Unfinished, Damaged, Stub, Stranger, OutOfRange:
		proof.check(CheckKind, false, FenceUnknown, "%d is no VM any more: %s", f.VMID, s.detail)
	}
	return nil, nil //nolint:nilnil // There is no configuration, and the proof says why.
}

// proveHA judges whether HA leaves a guest stopped, and reports whether it has
// settled.
func (c *Client) proveHA(ctx context.Context, status GuestStatus, kind Kind, proof *FenceProof) (settled bool) {
	if !status.HA.Managed {
		proof.Checks[CheckHA] = true
		return true
	}
	ha, err := c.haOf(ctx, status, kind)
	if err != nil {
		proof.check(CheckHA, false, FenceTransient, "HA manages %s %d, and what it wants cannot be read: %v", kind, status.VMID, err)
		return status.HA.State == HAStopped
	}
	return proof.judgeHA(kind, status.VMID, ha)
}

// judgeHA notes what HA would do, and reports whether it has settled.
func (p *FenceProof) judgeHA(kind Kind, vmid int, ha HAResource) (settled bool) {
	switch {
	case ha.wantsUp():
		p.check(CheckHA, false, FenceTransient, "HA wants %s %d started", kind, vmid)
	case !ha.isDown():
		p.check(CheckHA, false, FenceTransient, "HA has not settled on %s %d: it is %q, and asked for is %q", kind, vmid, ha.State, ha.Requested)
	default:
		p.check(CheckHA, true, Fenced, "")
		return true
	}
	return false
}

// fenceLinks takes network devices down.
func (c *Client) fenceLinks(ctx context.Context, f Fence) (FenceProof, FenceBefore, error) {
	permit, err := c.admit(ctx, f)
	if err != nil {
		return FenceProof{}, FenceBefore{}, err
	}
	var before FenceBefore
	nics := permit.config.NICs()
	for _, slot := range f.NICs {
		nic, there := nics[slot]
		if !there {
			return FenceProof{}, FenceBefore{}, refuse(CheckLinks, "VM %d has no network device %s, but %v", f.VMID, slot, slices.Sorted(maps.Keys(nics)))
		}
		if nic.LinkDown != nil && *nic.LinkDown {
			continue
		}
		if slices.Contains(permit.config.PendingKeys(), slot) {
			return FenceProof{}, FenceBefore{}, refuse(CheckLinks, "a change of %s waits for the next start of VM %d, and its link would wait with it", slot, f.VMID)
		}
		before.LinksUp = append(before.LinksUp, slot)
	}
	if len(before.LinksUp) > 0 {
		f.tell("taking %v of VM %d down", before.LinksUp, f.VMID)
		if err := c.setLinks(ctx, f, permit, before.LinksUp, true); err != nil {
			return FenceProof{}, before, err
		}
	}
	proof, err := c.proveLinks(ctx, f)
	return proof, before, err
}

func (c *Client) setLinks(ctx context.Context, f Fence, permit fencePermit, slots []string, down bool) error {
	return c.performFence(ctx, f, permit, func(p fencePermit) error {
		return c.VMs.SetLinks(ctx, p, p.config, slots, down)
	})
}

// proveLinks reads the devices as they are in force: PVE writes a link's state
// into the configuration of a running VM only when QEMU has it.
func (c *Client) proveLinks(ctx context.Context, f Fence) (FenceProof, error) {
	proof := c.newProof()
	config, err := c.lookFor(ctx, f, proof)
	if config == nil {
		return *proof, err
	}
	nics, waiting := config.NICs(), config.PendingKeys()
	for _, slot := range f.NICs {
		nic, there := nics[slot]
		down := there && nic.LinkDown != nil && *nic.LinkDown
		switch {
		case !there:
			proof.Reasons = append(proof.Reasons, fmt.Sprintf("VM %d has no %s any more", f.VMID, slot))
		case !down:
			proof.check(CheckLinks, false, FenceLapsed, "%s of VM %d is up", slot, f.VMID)
		case slices.Contains(waiting, slot):
			proof.check(CheckLinks, false, FenceTransient, "a change of %s waits for the next start of VM %d", slot, f.VMID)
		default:
			proof.check(CheckLinks, true, Fenced, "")
		}
	}
	return *proof, nil
}
