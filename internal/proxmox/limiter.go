package proxmox

import (
	"context"
	"slices"
	"sync"
)

// limiter bounds the heavy tasks that run at once, per node and per storage.
type limiter struct {
	perNode, perStorage int

	mu    sync.Mutex
	slots map[string]chan struct{}
}

func newLimiter(l Limits) *limiter {
	return &limiter{perNode: l.TasksPerNode, perStorage: l.TasksPerStorage, slots: map[string]chan struct{}{}}
}

// hold waits for a slot on the node and on each of the storages, and keeps them
// until release is called. They are to be held from before the gate's read
// until the task has ended, so that waiting for a slot does not make the
// gate's word stale. A node or storage of no name is not limited.
//
// The node's slot is taken first and the storages' in order of their names:
// everybody in the same order, so that nobody waits for each other.
func (l *limiter) hold(ctx context.Context, node string, storages ...string) (release func(), err error) {
	var held []chan struct{}
	release = sync.OnceFunc(func() {
		for _, slot := range held {
			<-slot
		}
	})
	take := func(slot chan struct{}) error {
		select {
		case slot <- struct{}{}:
			held = append(held, slot)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, slot := range l.wanted(node, storages) {
		if err := take(slot); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

func (l *limiter) wanted(node string, storages []string) []chan struct{} {
	storages = slices.Clone(storages)
	slices.Sort(storages)
	var slots []chan struct{}
	if node != "" {
		slots = append(slots, l.slot("node/"+node, l.perNode))
	}
	for _, storage := range slices.Compact(storages) {
		if storage != "" {
			slots = append(slots, l.slot("storage/"+storage, l.perStorage))
		}
	}
	return slots
}

func (l *limiter) slot(key string, size int) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	slot, ok := l.slots[key]
	if !ok {
		slot = make(chan struct{}, size)
		l.slots[key] = slot
	}
	return slot
}
