package proxmox

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// scan is what a creation has to know of the cluster before it begins.
type scan struct {
	// cloning are the ids that running clones of other processes make, as far as
	// the token may see them: its own always. 0 stands for one whose log does not
	// say yet.
	cloning map[int]bool
	// unasked means that the running clones were not asked for.
	unasked bool
	census
}

// scan reads the clones that run on the template's node and then the guests of
// the cluster: in this order, so that a clone which ends in between shows as a
// guest. Parallel creations share it, but never one that was begun before they
// asked.
func (a *Allocator) scan(ctx context.Context, node string, kind Kind) (scan, error) {
	a.mu.Lock()
	key := string(kind) + " on " + node
	shared := a.scans[key]
	if shared == nil {
		shared = &flight[scan]{}
		a.scans[key] = shared
	}
	a.mu.Unlock()
	return shared.do(ctx, func(ctx context.Context) (scan, error) {
		cloning, err := a.underway(ctx, node, kind)
		if err != nil {
			return scan{}, err
		}
		found, err := a.c.census(ctx)
		return scan{cloning: cloning, census: found}, err
	})
}

// underway finds the ids that running tasks of other processes make.
func (a *Allocator) underway(ctx context.Context, node string, kind Kind) (map[int]bool, error) {
	running, err := a.running(ctx, node, makers[kind])
	if err != nil {
		return nil, err
	}
	targets := map[int]bool{}
	for _, upid := range running {
		if a.isOurTask(upid) {
			continue
		}
		vmid, err := a.target(ctx, upid)
		if err != nil {
			return nil, err
		}
		if vmid == 0 || a.c.options.VMIDRange.Contains(vmid) && !a.isOurs(vmid) {
			targets[vmid] = true
		}
	}
	return targets, nil
}

// isBusy reports whether a clone to the id or its destruction runs on the node,
// whoever began it. A clone whose log does not say yet may be it.
func (a *Allocator) isBusy(ctx context.Context, node string, vmid int) (bool, error) {
	running, err := a.running(ctx, node, "")
	if err != nil {
		return false, err
	}
	for _, upid := range running {
		switch upid.Type {
		case "qmdestroy", "vzdestroy", taskCreate:
			if upid.ID == strconv.Itoa(vmid) {
				return true, nil
			}
		case taskClone:
			target, err := a.target(ctx, upid)
			if err != nil {
				return false, err
			}
			if target == 0 || target == vmid {
				return true, nil
			}
		}
	}
	return false, nil
}

// The types of the tasks that make guests.
const (
	taskClone  = "qmclone"
	taskCreate = "vzcreate"
)

var makers = map[Kind]string{KindVM: taskClone, KindContainer: taskCreate}

// running lists the tasks that run on a node, of those that the token may see:
// its own always. PVE lists a worker when it lets it begin, some milliseconds later
// or earlier: who finds a stub and no task looks twice.
func (a *Allocator) running(ctx context.Context, node, kind string) ([]UPID, error) {
	tasks, err := a.c.Tasks.List(ctx, node, TaskFilter{TypeFilter: kind, Source: TasksActive})
	if err != nil {
		return nil, fmt.Errorf("look for tasks that run on %s: %w", node, err)
	}
	var running []UPID
	for _, task := range tasks {
		if task.Running {
			running = append(running, task.UPID)
		}
	}
	return running, nil
}

// target finds the id that a task makes, 0 while a clone's log does not say.
func (a *Allocator) target(ctx context.Context, upid UPID) (int, error) {
	if upid.Type == taskCreate {
		return strconv.Atoi(upid.ID)
	}
	a.mu.Lock()
	vmid := a.targets[upid.String()]
	a.mu.Unlock()
	if vmid != 0 {
		return vmid, nil
	}
	lines, _, err := a.c.Tasks.Log(ctx, upid, 0, 10)
	if err != nil {
		return 0, fmt.Errorf("read which guest the running clone %s makes: %w", upid, err)
	}
	if vmid = cloneTarget(lines); vmid != 0 {
		a.mu.Lock()
		a.targets[upid.String()] = vmid
		a.mu.Unlock()
	}
	return vmid, nil
}

// cloneTarget is the id that the first lines of a clone's log tell of, 0 for none.
func cloneTarget(lines []string) int {
	for _, line := range lines {
		for _, pattern := range []*regexp.Regexp{textCloneTarget, textCloneVolume} {
			if match := pattern.FindStringSubmatch(line); match != nil {
				vmid, _ := strconv.Atoi(match[1])
				return vmid
			}
		}
	}
	return 0
}

// flight shares one call among all who ask for it before it begins. Who asks
// while it runs waits for the next one.
type flight[T any] struct {
	running sync.Mutex

	mu   sync.Mutex
	next *flightCall[T]
}

type flightCall[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func (f *flight[T]) do(ctx context.Context, fetch func(context.Context) (T, error)) (T, error) {
	f.mu.Lock()
	call := f.next
	if call == nil {
		call = &flightCall[T]{done: make(chan struct{})}
		f.next = call
		// Whoever came first may leave first: the others still need the answer, and
		// those who come later wait for it to end.
		go f.run(context.WithoutCancel(ctx), call, fetch)
	}
	f.mu.Unlock()

	select {
	case <-call.done:
		return call.value, call.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

func (f *flight[T]) run(ctx context.Context, call *flightCall[T], fetch func(context.Context) (T, error)) {
	f.running.Lock()
	defer f.running.Unlock()
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	call.value, call.err = fetch(ctx)
	close(call.done)
}
