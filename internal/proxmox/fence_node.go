package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// nodeGuest is a guest in its node's list.
type nodeGuest struct {
	GuestStatus
	kind Kind
}

func (g nodeGuest) String() string { return nameGuest(g.kind, g.VMID, g.Name, "") }

// nodeGuests lists the guests of a node, live, without templates.
func (c *Client) nodeGuests(ctx context.Context, node string) ([]nodeGuest, error) {
	var all []nodeGuest
	for _, kind := range []Kind{KindVM, KindContainer} {
		guests, err := c.guests(ctx, node, kind)
		if err != nil {
			return nil, err
		}
		for _, guest := range guests {
			if !guest.Template {
				all = append(all, nodeGuest{guest, kind})
			}
		}
	}
	return all, nil
}

func running(guests []nodeGuest) []nodeGuest {
	return slices.DeleteFunc(slices.Clone(guests), func(g nodeGuest) bool { return !g.Running() })
}

func names(guests []nodeGuest) string {
	list := make([]string, len(guests))
	for i, g := range guests {
		list[i] = g.String()
	}
	return strings.Join(list, ", ")
}

// nodeFence is the fencing of a node.
type nodeFence struct {
	c      *Client
	f      Fence
	permit *FenceNode

	mu sync.Mutex
	// asked tells when each guest was asked to stop, failed how that failed.
	asked  map[int]time.Time
	failed map[int]error
}

// fenceNode stops all guests of a node, and shuts it down where that is asked
// for.
func (c *Client) fenceNode(ctx context.Context, f Fence) (FenceProof, FenceBefore, error) {
	n := &nodeFence{c: c, f: f, asked: map[int]time.Time{}, failed: map[int]error{}}
	before, err := n.admit(ctx)
	if err != nil {
		return FenceProof{}, FenceBefore{}, err
	}
	f.tellWanted(before)
	if err := n.stopAll(ctx); err != nil {
		return FenceProof{}, before, err
	}
	if f.Action == FenceShutdown {
		if err := n.shutDown(ctx); err != nil {
			return FenceProof{}, before, err
		}
	}
	proof, err := c.proveNode(ctx, f)
	return proof, before, err
}

// admit makes all checks before the first stop.
func (n *nodeFence) admit(ctx context.Context) (FenceBefore, error) {
	c, f := n.c, n.f
	if !f.Foreign {
		return FenceBefore{}, refuse(CheckScope, "fencing node %s stops guests of others: it takes foreign = true", f.Node)
	}
	var err error
	if n.permit, _, err = c.Gate.FenceNode(ctx, f.Node); err != nil {
		return FenceBefore{}, err
	}
	guests, err := c.nodeGuests(ctx, f.Node)
	if err != nil {
		return FenceBefore{}, refusedBy(CheckVisible, err, "the guests of node %s cannot be listed", f.Node)
	}
	if err := c.checkSight(ctx, f, running(guests)); err != nil {
		return FenceBefore{}, err
	}
	ha, err := c.HA.Status(ctx)
	if err != nil {
		return FenceBefore{}, refusedBy(CheckHA, err, "what HA wants cannot be read")
	}
	if err := n.checkGuests(ctx, guests, ha); err != nil {
		return FenceBefore{}, err
	}
	if err := c.checkPrecondition(ctx, f.Precondition); err != nil {
		return FenceBefore{}, err
	}
	return beforeNode(guests, ha), nil
}

func beforeNode(guests []nodeGuest, ha HAStatus) FenceBefore {
	var before FenceBefore
	for _, g := range guests {
		service := ha.Services[HASID(g.kind, g.VMID)]
		if service.ran(g.Running()) {
			before.Guests = append(before.Guests, FencedGuest{Kind: g.kind, VMID: g.VMID, HA: service.Requested})
		}
	}
	return before
}

const unseen = "the token may not see every guest of node %s, so that nobody could tell whether one still runs: it takes VM.Audit on /vms"

// seesGuests reports whether no list of guests leaves one out.
func (p Permissions) seesGuests() bool {
	// Its privilege has the same name in PVE 8.
	proof, _ := p.CheckNeeds([]Need{needSight}, nil, Version{})
	return proof == Proven
}

// checkSight refuses a token that may not see all guests of the node, or may not
// stop those that run: PVE leaves out of its lists what a token may not read, so
// that nothing could be proven.
func (c *Client) checkSight(ctx context.Context, f Fence, running []nodeGuest) error {
	version, err := c.Cluster.Version(ctx)
	if err != nil {
		return err
	}
	held, err := c.Access.Permissions(ctx, "")
	if err != nil {
		return err
	}
	if !held.seesGuests() {
		return refuse(CheckVisible, unseen, f.Node)
	}
	needs, scope := []Need{needPower}, Scope{"node": {f.Node}}
	if f.Action == FenceShutdown {
		needs = append(needs, needShutdown)
	}
	for _, g := range running {
		scope["vmid"] = append(scope["vmid"], strconv.Itoa(g.VMID))
	}
	_, lacks := held.CheckNeeds(needs, scope, version)
	if i := slices.IndexFunc(lacks, func(l Lack) bool { return l.Proof == Missing }); i >= 0 {
		return refuse(CheckVisible, "the token lacks %s", lacks[i])
	}
	return nil
}

// checkGuests refuses what could not be stopped, and what would not stay so where
// that is asked for.
func (n *nodeFence) checkGuests(ctx context.Context, guests []nodeGuest, ha HAStatus) error {
	for _, g := range guests {
		service := ha.Services[HASID(g.kind, g.VMID)]
		switch {
		case g.Running() && g.Lock != "":
			return refuse(CheckLock, "%s is locked (%s), and PVE would not stop it", g, g.Lock)
		case service.State == HAError && service.Requested != HAIgnored:
			return refuse(CheckHA, "%s is in HA's error state, in which PVE refuses every request; disable it in HA and correct it first", g)
		}
	}
	if !n.f.RequireDurable {
		return nil
	}
	onBoot, err := n.c.onBoot(ctx, n.f.Node, guests)
	if err != nil {
		return refusedBy(CheckOnBoot, err, "which guests start with node %s cannot be read", n.f.Node)
	}
	if len(onBoot) > 0 {
		return refuse(CheckOnBoot, "these would start again with node %s, but the fence is to be durable: %s", n.f.Node, names(onBoot))
	}
	return nil
}

// onBoot are the guests that start with their node, read one by one.
func (c *Client) onBoot(ctx context.Context, node string, guests []nodeGuest) ([]nodeGuest, error) {
	found := make([]bool, len(guests))
	err := each(ctx, guests, c.options.Limits.Requests, func(ctx context.Context, i int, g nodeGuest) error {
		config, err := c.of(g.kind).Pending(ctx, node, g.VMID)
		if IsNotFound(err) {
			return nil // It has left the node.
		}
		if err == nil {
			found[i] = startsOnBoot(config)
		}
		return err
	})
	var all []nodeGuest
	for i, g := range guests {
		if found[i] {
			all = append(all, g)
		}
	}
	return all, err
}

// each works on guests, a few at a time, and returns all errors.
func each(ctx context.Context, guests []nodeGuest, atOnce int, work func(context.Context, int, nodeGuest) error) error {
	slots := make(chan struct{}, max(1, atOnce))
	errs := make([]error, len(guests))
	var wg sync.WaitGroup
	for i, g := range guests {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = work(ctx, i, g)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stopAll stops what runs until nothing does and HA agrees; what starts
// meanwhile is stopped too.
func (n *nodeFence) stopAll(ctx context.Context) error {
	for {
		left, err := n.round(ctx)
		if err != nil || len(left) == 0 {
			return err
		}
		if stopped := n.c.clock.Sleep(ctx, fencePoll); stopped != nil {
			return &FenceUnprovenError{Left: left, Err: errors.Join(stopped, n.failures())}
		}
	}
}

func (n *nodeFence) failures() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []error
	for vmid, err := range n.failed {
		all = append(all, fmt.Errorf("stopping guest %d: %w", vmid, err))
	}
	return errors.Join(all...)
}

// round stops what was not asked lately and returns what is not down yet.
func (n *nodeFence) round(ctx context.Context) (left []string, err error) {
	guests, err := n.c.nodeGuests(ctx, n.f.Node)
	if err != nil {
		return []string{fmt.Sprintf("the guests of node %s cannot be listed: %v", n.f.Node, err)}, passing(err)
	}
	ha, err := n.c.HA.Status(ctx)
	if err != nil {
		return []string{fmt.Sprintf("what HA wants cannot be read: %v", err)}, passing(err)
	}
	var due []nodeGuest
	for _, g := range guests {
		service, managed := ha.Services[HASID(g.kind, g.VMID)]
		managed = managed && service.Requested != HAIgnored
		switch {
		case g.Running():
			left = append(left, g.String()+" runs")
		case managed && !service.isDown():
			left = append(left, g.String()+" is not stopped for HA")
		default:
			continue
		}
		if (g.Running() || service.wantsUp()) && n.isDue(g.VMID) {
			due = append(due, g)
		}
	}
	n.stop(ctx, due)
	return left, nil
}

// passing is an error unless a node that is busy may have caused it.
func passing(err error) error {
	if passes(err) {
		return nil
	}
	return err
}

func (n *nodeFence) isDue(vmid int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c.clock.Now().Sub(n.asked[vmid]) > haPatience
}

// stop stops guests in parallel, within the client's limit of tasks on a node.
func (n *nodeFence) stop(ctx context.Context, guests []nodeGuest) {
	var done int
	_ = each(ctx, guests, len(guests), func(ctx context.Context, _ int, g nodeGuest) error {
		release, err := n.c.limits.hold(ctx, n.f.Node)
		if err == nil {
			defer release()
			err = n.shutDownGuest(ctx, g)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.failed, g.VMID)
		if err != nil {
			n.failed[g.VMID] = err
		} else {
			n.asked[g.VMID] = n.c.clock.Now()
		}
		done++
		n.f.tell("%s: asked to stop (%d of %d)", g, done, len(guests))
		return nil
	})
}

// shutDownGuest asks a guest to shut down; the plug is pulled where it does not
// in time.
func (n *nodeFence) shutDownGuest(ctx context.Context, g nodeGuest) error {
	service := n.c.of(g.kind)
	target, err := n.c.Gate.nodeTarget(n.f.Node, g.kind, g.VMID)
	if err != nil {
		return err
	}
	upid, err := service.Shutdown(ctx, target, ShutdownOptions{Timeout: n.f.GuestTimeout, ForceStop: true})
	if err == nil {
		_, err = n.c.Tasks.Wait(ctx, upid, WaitOptions{})
	}
	if IsStopped(err) || IsNotFound(err) {
		return nil
	}
	return err
}

// shutDown shuts the node down and waits until it has left the cluster. One that
// stays is told by the proof.
func (n *nodeFence) shutDown(ctx context.Context) error {
	n.f.tell("shutting node %s down", n.f.Node)
	if err := n.c.Nodes.Shutdown(ctx, n.permit); err != nil && !IsLostAnswer(err) {
		return err
	}
	for {
		status, err := n.c.Cluster.Status(ctx)
		if err == nil && !status.online(n.f.Node) {
			return nil
		}
		if stopped := n.c.clock.Sleep(ctx, fencePoll); stopped != nil {
			left := fmt.Sprintf("its guests are stopped, but node %s is still online", n.f.Node)
			if err != nil {
				left = fmt.Sprintf("its guests are stopped, and whether node %s is still online cannot be told", n.f.Node)
			}
			return &FenceUnprovenError{Left: []string{left}, Err: errors.Join(stopped, err)}
		}
	}
}

// proveNode looks whether a guest of the node runs, or would. Of a node that is
// offline nothing is known.
func (c *Client) proveNode(ctx context.Context, f Fence) (FenceProof, error) {
	proof := c.newProof()
	status, err := c.Cluster.Status(ctx)
	if IsPermission(err) {
		proof.check(CheckNode, false, FenceUnknown, "whether node %s is online cannot be told: %v", f.Node, err)
		return *proof, nil
	}
	if err != nil {
		return *proof, err
	}
	if !status.online(f.Node) {
		proof.check(CheckNode, false, FenceUnknown, "node %s is offline: nothing can be asked of it, "+
			"and only another path, such as its BMC, can prove it off", f.Node)
		return *proof, nil
	}
	guests, err := c.nodeGuests(ctx, f.Node)
	if err != nil && IsUnavailable(err) {
		proof.check(CheckNode, false, FenceUnknown, "node %s does not answer, and only another path, such as its BMC, can prove it off: %v", f.Node, err)
		return *proof, nil
	}
	if err != nil {
		return *proof, err
	}
	held, err := c.View.Permissions(ctx)
	if err != nil {
		return *proof, err
	}
	proof.check(CheckVisible, held.seesGuests(), FenceUnknown, unseen, f.Node)
	up := running(guests)
	proof.check(CheckStopped, len(up) == 0, FenceLapsed, "these run on node %s: %s", f.Node, names(up))
	proof.check(CheckNode, f.Action != FenceShutdown, FenceTransient, "node %s is online", f.Node)
	return *proof, c.proveLasting(ctx, f.Node, guests, proof)
}

// proveLasting judges whether the guests of a node stay stopped. PVE tells what
// starts with its node in each guest's configuration alone, one call a guest:
// that is not asked of a fence that does not hold anyway.
func (c *Client) proveLasting(ctx context.Context, node string, guests []nodeGuest, proof *FenceProof) error {
	ha, err := c.HA.Status(ctx)
	if err != nil {
		return err
	}
	proof.Checks[CheckHA] = true
	for _, g := range guests {
		service, managed := ha.Services[HASID(g.kind, g.VMID)]
		if managed && service.Requested != HAIgnored {
			proof.judgeHA(g.kind, g.VMID, service)
		}
	}
	if severity[proof.State] > severity[FenceTransient] {
		return nil
	}
	onBoot, err := c.onBoot(ctx, node, guests)
	if err != nil {
		return err
	}
	proof.check(CheckOnBoot, len(onBoot) == 0, FenceTransient, "these start again with node %s: %s", node, names(onBoot))
	return nil
}

// unfenceNode starts the guests again that the fence stopped and that are still
// on the node. What HA wanted up is asked for although it runs: a stop that the
// manager was asked for shows nowhere before it has looked.
func (c *Client) unfenceNode(ctx context.Context, f Fence, before FenceBefore) (left []string, err error) {
	if len(before.Guests) == 0 {
		return nil, nil
	}
	if err := c.awaitNode(ctx, f, f.Node); err != nil {
		return nil, err
	}
	guests, err := c.nodeGuests(ctx, f.Node)
	if err != nil {
		return nil, err
	}
	var down []nodeGuest
	for _, b := range before.Guests {
		i := slices.IndexFunc(guests, func(g nodeGuest) bool { return g.VMID == b.VMID && g.kind == b.Kind })
		if i < 0 {
			left = append(left, fmt.Sprintf("%s %d is not on node %s any more, and is not started", b.Kind, b.VMID, f.Node))
		} else if !guests[i].Running() || b.wantedByHA() {
			down = append(down, guests[i])
		}
	}
	return left, each(ctx, down, c.options.Limits.TasksPerNode, func(ctx context.Context, _ int, g nodeGuest) error {
		f.tell("starting %s", g)
		return c.startAgain(ctx, g.kind, func(context.Context) (PowerPermission, string, error) {
			target, err := c.Gate.nodeTarget(f.Node, g.kind, g.VMID)
			return target, f.Node, err
		}, g.VMID)
	})
}
