package pvelab

import (
	"context"
	"fmt"
	"time"
)

// fileLock is a lock file of /var/lock/qemu-server: one writer or many readers.
type fileLock struct {
	readers int
	writer  bool
}

// guestLocks are the lock files of all guests. Its methods are called with the
// lab's lock held.
type guestLocks struct {
	held map[int]*fileLock
	// freed is closed, and made anew, whenever a lock is released.
	freed chan struct{}
}

func newGuestLocks() *guestLocks {
	return &guestLocks{held: map[int]*fileLock{}, freed: make(chan struct{})}
}

func (s *guestLocks) try(vmid int, shared bool) bool {
	f := s.held[vmid]
	if f == nil {
		f = &fileLock{}
		s.held[vmid] = f
	}
	if f.writer || (f.readers > 0 && !shared) {
		return false
	}
	if shared {
		f.readers++
	} else {
		f.writer = true
	}
	return true
}

func (s *guestLocks) release(vmid int, shared bool) {
	f := s.held[vmid]
	if shared {
		f.readers--
	} else {
		f.writer = false
	}
	close(s.freed)
	s.freed = make(chan struct{})
}

// lockFile is the path of a guest's lock file on its node.
func (l *Lab) lockFile(vmid int) string {
	if g := l.guests[vmid]; g != nil && g.kind == kindLXC {
		return fmt.Sprintf("/run/lock/lxc/pve-config-%d.lock", vmid)
	}
	return fmt.Sprintf("/var/lock/qemu-server/lock-%d.conf", vmid)
}

// lockTimeout is how long most operations wait for a guest's lock file.
const lockTimeout = 10 * time.Second

// awaitLock takes a guest's lock file or fails after a duration of PVE's. It is
// called with the lab's lock held and lets go of it while it waits.
func (l *Lab) awaitLock(ctx context.Context, vmid int, shared bool, timeout time.Duration) error {
	gotTimeout := fail("can't lock file '%s' - got timeout", l.lockFile(vmid))
	late := time.NewTimer(l.clock.scale(timeout))
	defer late.Stop()
	for !l.locks.try(vmid, shared) {
		freed := l.locks.freed
		if err := l.waitUnlocked(ctx, freed, late.C); err != nil {
			return err
		}
		select {
		case <-freed:
		default:
			return gotTimeout
		}
	}
	return nil
}

func (l *Lab) waitUnlocked(ctx context.Context, freed <-chan struct{}, late <-chan time.Time) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-freed:
	case <-late:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// withLock runs a handler's step under the guest's lock file.
func (c *call) withLock(vmid int, step func() error) error {
	if err := c.lab.awaitLock(c.ctx, vmid, false, lockTimeout); err != nil {
		return err
	}
	defer c.lab.locks.release(vmid, false)
	return step()
}

// withLock runs a worker's step, which takes the lab's lock itself, under the
// guest's lock file.
func (t *task) withLock(vmid int, step func() error) error {
	return t.withLockFor(vmid, false, lockTimeout, step)
}

func (t *task) withLockFor(vmid int, shared bool, timeout time.Duration, step func() error) error {
	var err error
	waited := false
	t.lab.locked(func() {
		if t.lab.locks.try(vmid, shared) {
			return
		}
		waited = true
		err = t.lab.awaitLock(t.ctx, vmid, shared, timeout)
	})
	switch {
	case err != nil:
		t.logf("trying to acquire lock...")
		return err
	case waited:
		t.logf("trying to acquire lock... OK")
	}
	defer t.lab.locked(func() { t.lab.locks.release(vmid, shared) })
	return step()
}

// sleepUnlocked waits for a duration of PVE's inside a handler without keeping
// the rest of the lab waiting.
func (c *call) sleepUnlocked(d time.Duration) error {
	c.lab.mu.Unlock()
	defer c.lab.mu.Lock()
	return c.lab.clock.Sleep(c.ctx, d)
}
