package framework

import (
	"sync"

	"terraform-provider-proxmox/internal/proxmox"
)

// FenceRun is what one run of the provider knows of its fences, by what they
// fence. The CLI hands a fence that replaces another one nothing of what that one
// has taken: one of the same target, since the earlier attempt failed when it had
// begun, finds stopped what it has to bring back one day.
type FenceRun struct {
	mu        sync.Mutex
	seen      map[string]proxmox.FenceBefore
	performed map[string]bool
}

// Saw notes what a fence in state has taken. Of several that share a target none
// makes forgotten what another one has taken.
func (r *FenceRun) Saw(target string, before proxmox.FenceBefore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]proxmox.FenceBefore{}
	}
	r.seen[target] = r.seen[target].With(before)
}

// Seen is what a fence in state has taken from the same target.
func (r *FenceRun) Seen(target string) proxmox.FenceBefore {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[target]
}

// Performed notes that a target was fenced in this run.
func (r *FenceRun) Performed(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.performed == nil {
		r.performed = map[string]bool{}
	}
	r.performed[target] = true
}

// WasPerformed reports whether a target was fenced in this run: what it replaces
// is not to lift that again.
func (r *FenceRun) WasPerformed(target string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.performed[target]
}
