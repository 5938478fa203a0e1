package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ledger keeps guest ids from being used again, after the guests are gone too
// and whichever process makes the next one. Its entries are pools within a pool:
// "<pool>/id-<N>" stands for the id N, and to make one is atomic in PVE.
//
// The highest entry is the mark: what was ever given out is not above it. Lower
// entries are deleted, in ascending order, so that few are left. Hence an id
// that is booked may still be an old one, if it was booked, used and deleted by
// others after the entries were listed. The list is read again to know: while
// the entry that was the highest is there, none above it was deleted; and
// nothing was if the new entry is the highest. Otherwise the next id is taken.
type ledger struct {
	c *Client
	// pool holds the entries; without it there is no ledger.
	pool string
	// first is held while the first entry of all is made: there is nothing to
	// compare with.
	first chan struct{}
	// lists shares the second look among parallel creations.
	lists flight[[]int]
	// tidying is held by who deletes entries.
	tidying sync.Mutex

	mu sync.Mutex
	// off is set when PVE refuses entries for lack of a privilege.
	off bool
	// latest are the entries as last listed.
	latest []int
	// bases counts the bookings under way, by the entry that each compares with.
	bases map[int]int
}

const (
	ledgerPrefix  = "id-"
	ledgerComment = "Guest ids up to this one are not used again (Terraform)"
	// ledgerKeep is the number of lower entries that are let be.
	ledgerKeep = 8
	// maxPoolDepth is how deep PVE nests pools.
	maxPoolDepth = 3
)

func newLedger(c *Client) *ledger {
	return &ledger{c: c, pool: c.options.LedgerPool, first: make(chan struct{}, 1), bases: map[int]int{}}
}

func (l *ledger) on() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pool != "" && !l.off
}

func (l *ledger) entry(vmid int) string { return l.pool + "/" + ledgerPrefix + strconv.Itoa(vmid) }

// idOf is the id that a pool stands for.
func (l *ledger) idOf(pool string) (int, bool) {
	text, ours := strings.CutPrefix(pool, l.pool+"/"+ledgerPrefix)
	if l.pool == "" || !ours {
		return 0, false
	}
	vmid, err := strconv.Atoi(text)
	return vmid, err == nil && l.c.options.VMIDRange.Contains(vmid)
}

// begin waits for the turn of making the first entry, if there is none yet, and
// returns the entries to compare with. done ends the booking.
func (l *ledger) begin(ctx context.Context, known []int) (compare []int, done func(), _ error) {
	if len(known) == 0 && l.on() {
		select {
		case l.first <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		l.mu.Lock()
		known = l.latest
		l.mu.Unlock()
		if len(known) == 0 {
			return nil, func() { <-l.first }, nil
		}
		<-l.first
	}
	base := highest(known)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bases[base]++
	return known, func() { l.end(base) }, nil
}

func (l *ledger) end(base int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bases[base]--; l.bases[base] == 0 {
		delete(l.bases, base)
	}
}

// book reserves an id above all known entries. An id that is not to be had, or
// may be an old one, gives false, and the entries as they are now if they were
// read.
func (l *ledger) book(ctx context.Context, vmid int, known []int) (booked bool, now []int, _ error) {
	if !l.on() {
		return true, nil, nil
	}
	err := l.c.Pools.Create(ctx, l.entry(vmid), ledgerComment)
	switch {
	case err == nil:
	case IsExists(err), IsLostAnswer(err):
		return false, nil, nil
	case IsPermission(err):
		l.mu.Lock()
		defer l.mu.Unlock()
		l.off = true
		return true, nil, nil
	case IsNotFound(err):
		return false, nil, fmt.Errorf("%w: %w", &NoLedgerError{Pool: l.pool}, err)
	default:
		return false, nil, fmt.Errorf("reserve the guest id %d: %w", vmid, err)
	}
	now, err = l.lists.do(ctx, l.list)
	if err != nil {
		return false, nil, fmt.Errorf("verify the reservation of the guest id %d: %w", vmid, err)
	}
	if !slices.Contains(now, vmid) {
		return false, nil, &NoLedgerError{Pool: l.pool, Unseen: true}
	}
	base := highest(known)
	return vmid == highest(now) || base != 0 && slices.Contains(now, base), now, nil
}

// list reads the entries.
func (l *ledger) list(ctx context.Context) ([]int, error) {
	pools, err := l.c.Pools.List(ctx)
	if err != nil {
		return nil, err
	}
	var entries []int
	for _, pool := range pools {
		if vmid, ok := l.idOf(pool.ID); ok {
			entries = append(entries, vmid)
		}
	}
	slices.Sort(entries)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = entries
	return entries, nil
}

// note reserves an id that the configuration names, so that it is not given out
// later. One that was reserved before is the user's own choice.
func (l *ledger) note(ctx context.Context, vmid int, known []int) error {
	if !l.on() || vmid <= highest(known) {
		return nil
	}
	err := l.c.Pools.Create(ctx, l.entry(vmid), ledgerComment)
	if err == nil || IsExists(err) || IsPermission(err) {
		return nil
	}
	return fmt.Errorf("reserve the guest id %d: %w", vmid, err)
}

// tidy deletes lower entries once there are several, in ascending order, and
// none that a booking under way compares with. What fails is left for the next
// time.
func (l *ledger) tidy(ctx context.Context) {
	if !l.tidying.TryLock() {
		return
	}
	defer l.tidying.Unlock()
	for _, vmid := range l.dispensable() {
		if err := l.c.Pools.Delete(ctx, l.entry(vmid)); err != nil && !IsNotFound(err) {
			return
		}
		l.drop(vmid)
	}
}

func (l *ledger) dispensable() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pool == "" || l.off || len(l.latest) <= ledgerKeep {
		return nil
	}
	lower := slices.Clone(l.latest[:len(l.latest)-1])
	if len(l.bases) == 0 {
		return lower
	}
	used := slices.Min(slices.Collect(maps.Keys(l.bases)))
	return slices.DeleteFunc(lower, func(vmid int) bool { return vmid >= used })
}

func (l *ledger) drop(vmid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest = slices.DeleteFunc(slices.Clone(l.latest), func(other int) bool { return other == vmid })
}

func highest(entries []int) int {
	if len(entries) == 0 {
		return 0
	}
	return slices.Max(entries)
}

// NoLedgerError says that ids cannot be reserved in the pool that was named for
// it.
type NoLedgerError struct {
	Pool string
	// Unseen is set when entries can be made and are not listed.
	Unseen bool
}

func (e *NoLedgerError) Error() string {
	if e.Unseen {
		return fmt.Sprintf("ids are reserved as pools within the pool %q, and the token does not see them: Pool.Audit is missing on /pool/%s, or does not propagate", e.Pool, e.Pool)
	}
	return fmt.Sprintf("ids are reserved as pools within the pool %q, which does not exist", e.Pool)
}

var errPoolDepth = errors.New("lies too deep: PVE nests pools three levels deep, and ids are reserved as pools within this one")
