package proxmox

import (
	"context"
	"fmt"
	"sync"
)

// Allocator hands out guest ids within the client's range, upward from a mark:
// the highest id that is in use or was ever handed out here. So no id is used
// twice while a higher one exists, and parallel creations never ask for the
// same one. What other clients take in the meantime shows when PVE refuses the
// clone: then the next id is tried.
type Allocator struct {
	c *Client

	mu sync.Mutex
	// mark is the highest id handed out.
	mark int
	// busy are the ids whose guests are being made now, ours those whose guests
	// were made by this process, or are being made.
	busy, ours map[int]bool
	// tasks are the clones that this process began, by UPID.
	tasks map[string]bool
	// targets caches what a clone's log told, by UPID.
	targets map[string]int
	ledger  *ledger
	// scans shares the reading of the cluster among parallel creations, by the kind
	// of guest and the node of the task.
	scans map[string]*flight[scan]
}

func newAllocator(c *Client) *Allocator {
	return &Allocator{
		c: c, busy: map[int]bool{}, ours: map[int]bool{}, tasks: map[string]bool{},
		targets: map[string]int{}, scans: map[string]*flight[scan]{}, ledger: newLedger(c),
	}
}

// ExhaustedError says that a range has no id left above the highest one in use.
type ExhaustedError struct {
	Range VMIDRange
	// Used is how many ids of the range are in use, Highest the highest one.
	Used, Highest int
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("the range of guest ids %s is exhausted: %d of its %d ids are in use, the highest is %d, "+
		"and ids below it are not used again while it exists; raise the range's end", e.Range, e.Used, e.Range.Size(), e.Highest)
}

// Room returns an [*ExhaustedError] if not even one more id can be had, as far
// as the shared view of the cluster knows.
func (a *Allocator) Room(ctx context.Context) error {
	found, err := a.c.View.census(ctx)
	if err != nil {
		return err
	}
	used, highest := a.use(found)
	if highest >= a.c.options.VMIDRange.Last {
		return &ExhaustedError{Range: a.c.options.VMIDRange, Used: used, Highest: highest}
	}
	return nil
}

// use counts the ids in use, and finds the mark.
func (a *Allocator) use(found census) (used, mark int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mark = max(a.mark, highest(found.reserved))
	taken := map[int]bool{}
	for _, guest := range found.guests {
		if a.c.options.VMIDRange.Contains(guest.VMID) {
			taken[guest.VMID] = true
			mark = max(mark, guest.VMID)
		}
	}
	for vmid := range a.busy {
		taken[vmid] = true
	}
	return len(taken), mark
}

// next reserves the next id above everything in use.
func (a *Allocator) next(found census) (int, error) {
	bounds := a.c.options.VMIDRange
	used, mark := a.use(found)
	a.mu.Lock()
	defer a.mu.Unlock()
	vmid := max(mark, a.mark, bounds.First-1) + 1
	if vmid > bounds.Last {
		return 0, &ExhaustedError{Range: bounds, Used: used, Highest: vmid - 1}
	}
	a.hold(vmid)
	return vmid, nil
}

// nextFree reserves the next id that no guest has, visible to the token or not.
func (a *Allocator) nextFree(ctx context.Context, found census) (int, error) {
	for {
		vmid, err := a.next(found)
		if err != nil {
			return 0, err
		}
		free, err := a.c.Cluster.VMIDFree(ctx, vmid)
		if err != nil {
			a.forget(vmid)
			return 0, err
		}
		if free {
			return vmid, nil
		}
		a.forget(vmid)
	}
}

// reserve reserves an id that the configuration names.
func (a *Allocator) reserve(vmid int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[vmid] {
		return &TakenError{VMID: vmid, Detail: "another guest of this run is being made with it"}
	}
	a.hold(vmid)
	return nil
}

func (a *Allocator) hold(vmid int) {
	a.busy[vmid], a.ours[vmid] = true, true
	a.mark = max(a.mark, vmid)
}

// release ends the reservation of an id whose guest was made, or may be there.
func (a *Allocator) release(vmid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.busy, vmid)
}

// forget ends the reservation of an id that is somebody else's.
func (a *Allocator) forget(vmid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.busy, vmid)
	delete(a.ours, vmid)
}

// isOurs reports whether this process made the guest, or is making it.
func (a *Allocator) isOurs(vmid int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ours[vmid]
}

// began remembers a clone of this process.
func (a *Allocator) began(upid UPID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tasks[upid.String()] = true
}

func (a *Allocator) isOurTask(upid UPID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tasks[upid.String()]
}
