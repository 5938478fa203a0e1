package proxmox

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Every method of this file spends a permission of the gate: it makes one call,
// and is not repeated once that may have reached PVE. When [IsNotBegun] or
// [IsNoWorker] holds for its error, the caller asks the gate anew and calls
// again.

// Update changes the configuration and returns when that is done. PVE refuses
// when the configuration is no longer the one that the gate read
// ([IsDigestMismatch]). A change that fails on a running VM, for it cannot be
// made in flight, is pending all the same.
func (s *guestService) Update(ctx context.Context, own *Owned, u ConfigUpdate) error {
	params, err := u.params()
	if err != nil {
		return err
	}
	granted, err := s.grantOf(own)
	if err != nil {
		return err
	}
	defer s.c.View.dropGuest(granted.node, granted.vmid)
	path := s.path(granted.node, granted.vmid, "config")
	params = granted.params(params, digested)
	return s.c.call(granted.guard(ctx, params), http.MethodPut, path, params, nil)
}

// Resize grows a volume to a size. A larger one already makes a VM's task fail, and
// a container's call.
func (s *guestService) Resize(ctx context.Context, own *Owned, slot string, size Size) (UPID, error) {
	params := url.Values{"disk": {slot}, "size": {size.String()}}
	return s.task(ctx, own, http.MethodPut, []string{"resize"}, params, digested)
}

// Delete destroys a stopped guest and its volumes.
func (s *guestService) Delete(ctx context.Context, own *Owned, o DeleteOptions) (UPID, error) {
	params := url.Values{}
	if o.Purge {
		params.Set("purge", formatBool(true))
	}
	if o.DestroyUnreferencedDisks {
		params.Set("destroy-unreferenced-disks", formatBool(true))
	}
	return s.task(ctx, own, http.MethodDelete, nil, params, undigested)
}

// Start starts a guest. Starting a running one fails ([IsRunning]): a VM's in the
// task, a container's in the call.
func (s *guestService) Start(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "start", nil)
}

// Stop stops a guest at once. Stopping a stopped VM succeeds, a stopped container
// fails ([IsStopped]).
func (s *guestService) Stop(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "stop", nil)
}

// Shutdown asks a guest's system to shut down. Without ForceStop the task fails
// when the system has not done so in time.
func (s *guestService) Shutdown(ctx context.Context, p PowerPermission, o ShutdownOptions) (UPID, error) {
	params := url.Values{}
	if o.Timeout > 0 {
		params.Set("timeout", strconv.Itoa(int((o.Timeout+time.Second-1)/time.Second)))
	}
	if o.ForceStop {
		params.Set("forceStop", formatBool(true))
	}
	return s.power(ctx, p, "shutdown", params)
}

// Suspend pauses a running VM. PVE would checkpoint a container, which fails.
func (s *guestService) Suspend(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "suspend", nil)
}

// Resume lets a paused guest go on.
func (s *guestService) Resume(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "resume", nil)
}

// Reboot shuts a guest down and starts it, which applies pending changes.
func (s *guestService) Reboot(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "reboot", nil)
}

func (s *guestService) power(ctx context.Context, p PowerPermission, verb string, params url.Values) (UPID, error) {
	return s.task(ctx, p, http.MethodPost, []string{"status", verb}, params, undigested)
}

// digestParam makes PVE refuse a change of what is no longer as it was read.
const digestParam = "digest"

// digestUse tells the calls that take a digest.
type digestUse bool

const (
	digested   digestUse = true
	undigested digestUse = false
)

func (s *guestService) task(ctx context.Context, p PowerPermission, method string, rest []string, params url.Values, use digestUse) (UPID, error) {
	granted, err := s.grantOf(p)
	if err != nil {
		return UPID{}, err
	}
	if granted.fence && !fences(method, rest) {
		return UPID{}, ErrNoPermission
	}
	defer s.c.View.dropGuest(granted.node, granted.vmid)
	params = granted.params(params, use)
	return s.c.startTask(granted.guard(ctx, params), method, s.path(granted.node, granted.vmid, rest...), params)
}

// grantOf spends a permission, of which there may be none, or one for a guest of
// the other kind.
func (s *guestService) grantOf(p PowerPermission) (grant, error) {
	if p == nil {
		return grant{}, ErrNoPermission
	}
	granted, err := p.spend()
	if err == nil && granted.kind != s.kind {
		return grant{}, ErrWrongKind
	}
	return granted, err
}

// guard marks the call that the grant is spent on, see [guarded] and [timely].
func (g grant) guard(ctx context.Context, params url.Values) context.Context {
	if params.Has(digestParam) || g.read.IsZero() {
		return guarded(ctx)
	}
	return timely(ctx, g.read.Add(permitLife))
}

func (g grant) params(params url.Values, use digestUse) url.Values {
	if use == digested {
		params.Set(digestParam, g.digest)
	}
	return params
}

// params are the parameters of a change. PVE refuses one that changes nothing.
func (u ConfigUpdate) params() (url.Values, error) {
	params := url.Values{}
	for key, value := range u.Set {
		params.Set(key, value)
	}
	for name, keys := range map[string][]string{"delete": u.Delete, "revert": u.Revert} {
		if len(keys) > 0 {
			params.Set(name, strings.Join(slices.Sorted(slices.Values(keys)), ","))
		}
	}
	if len(params) == 0 {
		return nil, errors.New("a change of a VM's configuration that changes nothing")
	}
	if u.Force {
		params.Set("force", formatBool(true))
	}
	return params, nil
}
