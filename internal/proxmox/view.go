package proxmox

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"sync"
	"time"
)

// viewLife is how long what was read is good for.
const viewLife = 30 * time.Second

// viewTimeout bounds a shared read: it outlives the caller that began it.
const viewTimeout = 2 * time.Minute

// View is a picture of the cluster that all concurrent readers share: each list
// is fetched once and lives for 30 seconds. The gate never reads it.
type View struct {
	c *Client

	mu      sync.Mutex
	entries map[viewKey]*viewEntry
	// swept is when entries that nobody asks for any more were last forgotten.
	swept time.Time
}

// viewKey says what was read; node is empty for what is of no one node, life 0
// where it is [viewLife].
type viewKey struct {
	what, node, id string
	life           time.Duration
}

// viewEntry is one read, under way until done is closed.
type viewEntry struct {
	start time.Time
	done  chan struct{}
	value any
	err   error
}

func newView(c *Client) *View { return &View{c: c, entries: map[viewKey]*viewEntry{}} }

// Guests lists the guests that the token may see, VMs and containers.
func (v *View) Guests(ctx context.Context) ([]Resource, error) {
	found, err := v.census(ctx)
	return found.guests, err
}

func (v *View) census(ctx context.Context) (census, error) {
	return shared(ctx, v, viewKey{what: "guests"}, v.c.census)
}

// Guest finds a guest by its id. Not found proves nothing, see
// [ClusterService.VMIDFree].
func (v *View) Guest(ctx context.Context, vmid int) (Resource, bool, error) {
	found, err := v.census(ctx)
	if err != nil {
		return Resource{}, false, err
	}
	place, listed := found.places[vmid]
	if !listed {
		return Resource{}, false, nil
	}
	return found.guests[place], true, nil
}

// LiveGuests is the live state of the guests of one kind on a node, by vmid.
// The map is shared: it is not to be changed.
func (v *View) LiveGuests(ctx context.Context, node string, kind Kind) (map[int]GuestStatus, error) {
	key := viewKey{what: "live", node: node, id: string(kind)}
	return shared(ctx, v, key, func(ctx context.Context) (map[int]GuestStatus, error) {
		guests, err := v.c.guests(ctx, node, kind)
		if err != nil {
			return nil, err
		}
		byID := make(map[int]GuestStatus, len(guests))
		for _, guest := range guests {
			byID[guest.VMID] = guest
		}
		return byID, nil
	})
}

// Nodes lists the nodes.
func (v *View) Nodes(ctx context.Context) ([]Node, error) {
	return shared(ctx, v, viewKey{what: "nodes"}, v.c.Nodes.List)
}

// Storages lists the storages of a node.
func (v *View) Storages(ctx context.Context, node string) ([]NodeStorage, error) {
	return shared(ctx, v, viewKey{what: "storages", node: node}, func(ctx context.Context) ([]NodeStorage, error) {
		return v.c.Storage.List(ctx, node)
	})
}

// StorageConfigs lists the storages that the token may see, whatever node they
// are on.
func (v *View) StorageConfigs(ctx context.Context) ([]StorageConfig, error) {
	return shared(ctx, v, viewKey{what: "storage configs"}, v.c.Storage.Configs)
}

// Bridges lists what guests on a node may be attached to.
func (v *View) Bridges(ctx context.Context, node string) ([]Interface, error) {
	return shared(ctx, v, viewKey{what: "bridges", node: node}, func(ctx context.Context) ([]Interface, error) {
		return v.c.Nodes.Bridges(ctx, node)
	})
}

// Permissions are the token's own privileges on all paths. They are shared: not
// to be changed.
func (v *View) Permissions(ctx context.Context) (Permissions, error) {
	return shared(ctx, v, viewKey{what: "permissions"}, func(ctx context.Context) (Permissions, error) {
		return v.c.Access.Permissions(ctx, "")
	})
}

// VMConfig is [View.GuestConfig] of a VM, for templates.
func (v *View) VMConfig(ctx context.Context, node string, vmid int) (*GuestConfig, error) {
	return v.GuestConfig(ctx, KindVM, node, vmid)
}

// GuestConfig is a guest's configuration, which may be 30 seconds old. It is
// shared: not to be changed.
func (v *View) GuestConfig(ctx context.Context, kind Kind, node string, vmid int) (*GuestConfig, error) {
	key := viewKey{what: "config", node: node, id: string(kind) + "/" + strconv.Itoa(vmid)}
	return shared(ctx, v, key, func(ctx context.Context) (*GuestConfig, error) {
		return v.c.of(kind).Config(ctx, node, vmid)
	})
}

// Drop forgets the guests of a node, live states and configurations, and what the
// cluster and HA say of all guests, after a change. A read that is under way serves
// those who wait for it and nobody who comes later.
func (v *View) Drop(node string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.entries {
		ofNode := key.node == node && (key.what == "live" || key.what == "config")
		if ofNode || key.what == "guests" || key.what == "ha" {
			delete(v.entries, key)
		}
	}
}

// dropGuest is [View.Drop] after a change of one guest, of which nothing is good
// any more.
func (v *View) dropGuest(node string, vmid int) {
	v.Drop(node)
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.entries, drivesKey(node, vmid))
}

// dropTask is [View.Drop] after a task, whose id is most often that of its guest:
// what was read while it ran may be of before.
func (v *View) dropTask(upid UPID) {
	vmid, _ := strconv.Atoi(upid.ID)
	v.dropGuest(upid.Node, vmid)
}

// shared reads once for all who ask at the same time or within the view's life.
// An error is told to those who wait and then forgotten.
func shared[T any](ctx context.Context, v *View, key viewKey, load func(context.Context) (T, error)) (T, error) {
	var none T
	entry, first := v.entry(key)
	if first {
		// The first caller may be cancelled while others still wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), viewTimeout)
		go func() {
			defer cancel()
			value, err := load(ctx)
			v.finish(key, entry, value, err)
		}()
	}
	select {
	case <-ctx.Done():
		return none, ctx.Err()
	case <-entry.done:
	}
	value, ok := entry.value.(T)
	if !ok || entry.err != nil {
		return none, entry.err
	}
	return value, nil
}

// entry finds a read that is under way or fresh, or begins one.
func (v *View) entry(key viewKey) (entry *viewEntry, first bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.c.clock.Now()
	if entry, ok := v.entries[key]; ok && entry.fresh(key, now) {
		return entry, false
	}
	v.sweep(now)
	entry = &viewEntry{start: now, done: make(chan struct{})}
	v.entries[key] = entry
	return entry, true
}

// sweep forgets what is too old to be told, once in a view's life: a provider that
// runs on and on does not keep the configuration of every guest that it ever read.
func (v *View) sweep(now time.Time) {
	if now.Sub(v.swept) < viewLife {
		return
	}
	v.swept = now
	maps.DeleteFunc(v.entries, func(key viewKey, entry *viewEntry) bool { return !entry.fresh(key, now) })
}

// fresh reports whether what was read may be told still.
func (e *viewEntry) fresh(key viewKey, now time.Time) bool {
	return now.Sub(e.start) < cmp.Or(key.life, viewLife)
}

func (v *View) finish(key viewKey, entry *viewEntry, value any, err error) {
	entry.value, entry.err = value, err
	close(entry.done)
	if err == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.entries[key] == entry {
		delete(v.entries, key)
	}
}
