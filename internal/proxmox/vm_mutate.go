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
func (s *VMService) Update(ctx context.Context, own *Owned, u ConfigUpdate) error {
	params, err := u.params()
	if err != nil {
		return err
	}
	granted, err := grantOf(own)
	if err != nil {
		return err
	}
	defer s.c.View.Drop(granted.node)
	path := vmPath(granted.node, granted.vmid, "config")
	return s.c.call(guarded(ctx), http.MethodPut, path, granted.params(params, digested), nil)
}

// UpdateAsync changes the configuration in a task, which may create and remove
// volumes.
func (s *VMService) UpdateAsync(ctx context.Context, own *Owned, u ConfigUpdate) (UPID, error) {
	params, err := u.params()
	if err != nil {
		return UPID{}, err
	}
	return s.task(ctx, own, http.MethodPost, []string{"config"}, params, digested)
}

// Resize grows a disk to a size. A disk that is larger already makes the task
// fail.
func (s *VMService) Resize(ctx context.Context, own *Owned, slot string, size Size) (UPID, error) {
	params := url.Values{"disk": {slot}, "size": {size.String()}}
	return s.task(ctx, own, http.MethodPut, []string{"resize"}, params, digested)
}

// Unlink detaches disks; with force their volumes are removed. It changes the
// configuration, for PVE's call of that name takes no digest.
func (s *VMService) Unlink(ctx context.Context, own *Owned, slots []string, force bool) error {
	return s.Update(ctx, own, ConfigUpdate{Delete: slots, Force: force})
}

// Delete destroys a stopped VM and its disks.
func (s *VMService) Delete(ctx context.Context, own *Owned, o DeleteOptions) (UPID, error) {
	params := url.Values{}
	if o.Purge {
		params.Set("purge", formatBool(true))
	}
	if o.DestroyUnreferencedDisks {
		params.Set("destroy-unreferenced-disks", formatBool(true))
	}
	return s.task(ctx, own, http.MethodDelete, nil, params, undigested)
}

// Start starts a VM. Starting a running one is a task that fails ([IsRunning]).
func (s *VMService) Start(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "start", nil)
}

// Stop stops a VM at once. Stopping a stopped one succeeds.
func (s *VMService) Stop(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "stop", nil)
}

// Shutdown asks a VM's system to shut down. Without ForceStop the task fails
// when the system has not done so in time.
func (s *VMService) Shutdown(ctx context.Context, p PowerPermission, o ShutdownOptions) (UPID, error) {
	params := url.Values{}
	if o.Timeout > 0 {
		params.Set("timeout", strconv.Itoa(int((o.Timeout+time.Second-1)/time.Second)))
	}
	if o.ForceStop {
		params.Set("forceStop", formatBool(true))
	}
	return s.power(ctx, p, "shutdown", params)
}

// Suspend pauses a running VM.
func (s *VMService) Suspend(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "suspend", nil)
}

// Resume lets a paused VM go on.
func (s *VMService) Resume(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "resume", nil)
}

// Reboot shuts a VM down and starts it, which applies pending changes.
func (s *VMService) Reboot(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "reboot", nil)
}

// Reset resets a running VM.
func (s *VMService) Reset(ctx context.Context, p PowerPermission) (UPID, error) {
	return s.power(ctx, p, "reset", nil)
}

func (s *VMService) power(ctx context.Context, p PowerPermission, verb string, params url.Values) (UPID, error) {
	return s.task(ctx, p, http.MethodPost, []string{"status", verb}, params, undigested)
}

// digestUse tells the calls that take a digest.
type digestUse bool

const (
	digested   digestUse = true
	undigested digestUse = false
)

func (s *VMService) task(ctx context.Context, p PowerPermission, method string, rest []string, params url.Values, use digestUse) (UPID, error) {
	granted, err := grantOf(p)
	if err != nil {
		return UPID{}, err
	}
	defer s.c.View.Drop(granted.node)
	return s.c.startTask(guarded(ctx), method, vmPath(granted.node, granted.vmid, rest...), granted.params(params, use))
}

// grantOf spends a permission, of which there may be none.
func grantOf(p PowerPermission) (grant, error) {
	if p == nil {
		return grant{}, ErrNoPermission
	}
	return p.spend()
}

func (g grant) params(params url.Values, use digestUse) url.Values {
	if use == digested {
		params.Set("digest", g.digest)
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
