package proxmox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	resourcesCall = "GET /cluster/resources"
	listCall      = "GET /nodes/pve1/qemu"
	resourcesData = `[{"type":"qemu","id":"qemu/110","vmid":110,"node":"pve1","status":"running"},{"type":"lxc","id":"lxc/210","vmid":210,"node":"pve2"}]`
	listData      = `[{"vmid":110,"status":"running","name":"a"}]`
)

func TestViewIsShared(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(resourcesCall, data(resourcesData)).on(listCall, data(listData)).
		on("GET /nodes/pve2/lxc", data(`[{"vmid":210,"status":"stopped"}]`))
	c := pve.client(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			guest, found, err := c.View.Guest(t.Context(), 110)
			if err != nil || !found || guest.Node != "pve1" {
				t.Errorf("guest %+v, %v (%v)", guest, found, err)
			}
			live, err := c.View.LiveGuests(t.Context(), "pve1", KindVM)
			if err != nil || !live[110].Running() {
				t.Errorf("live %+v (%v)", live, err)
			}
		})
	}
	wg.Wait()
	if live, err := c.View.LiveGuests(t.Context(), "pve2", KindContainer); err != nil || len(live) != 1 {
		t.Errorf("containers %+v (%v)", live, err)
	}
	if _, found, err := c.View.Guest(t.Context(), 999); found || err != nil {
		t.Errorf("an absent guest: %v (%v)", found, err)
	}
	if n := len(pve.calls()); n != 3 {
		t.Errorf("%d calls: %q", n, pve.calls())
	}
}

// TestOffers: what is not surely well in the cluster's list is left to the node.
func TestOffers(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(resourcesCall, data(`[
		{"type":"node","node":"pve1","status":"online"},{"type":"node","node":"pve2","status":"offline"},{"type":"node","node":"pve3","status":"unknown"},
		{"type":"storage","node":"pve1","storage":"nfs","status":"available","content":"images,rootdir","shared":1},
		{"type":"storage","node":"pve2","storage":"nfs","status":"available","content":"images,rootdir","shared":1},
		{"type":"storage","node":"pve3","storage":"nfs","status":"available","content":"images,rootdir","shared":1},
		{"type":"storage","node":"pve1","storage":"away","status":"unknown","content":"images"},
		{"type":"storage","node":"pve1","storage":"none","status":"available","content":""}]`))
	c := pve.client(t)
	for place, want := range map[[3]string]bool{
		{"pve1", "nfs", "images"}: true, {"pve1", "nfs", "rootdir"}: true, {"pve1", "nfs", "iso"}: false, {"pve1", "nfs", ""}: false,
		{"pve2", "nfs", "images"}: false, {"pve3", "nfs", "images"}: false, {"pve4", "nfs", "images"}: false,
		{"pve1", "away", "images"}: false, {"pve1", "none", "images"}: false, {"pve1", "lvm", "images"}: false,
	} {
		if got := c.View.Offers(t.Context(), place[0], place[1], place[2]); got != want {
			t.Errorf("%q: %t", place, got)
		}
	}
	if calls := pve.calls(); len(calls) != 1 {
		t.Errorf("calls %q", calls)
	}
	unreadable := newRecordedPVE(t).on(resourcesCall, failure(500, "no"))
	if unreadable.client(t).View.Offers(t.Context(), "pve1", "nfs", "images") {
		t.Error("without a list the storage is offered")
	}
}

func TestViewExpiresAndIsDropped(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	pve := newRecordedPVE(t).on(resourcesCall, data(resourcesData)).on(listCall, data(listData)).
		on("GET /nodes/pve2/qemu", data(`[]`)).on("GET /nodes/pve1/storage", data(`[]`)).
		on("POST /nodes/pve1/qemu/110/status/start", data(`"`+startUPID+`"`))
	c := pve.client(t, func(o *Options) { o.clock = clock })
	look := func() {
		t.Helper()
		for _, err := range []error{
			second(c.View.Guests(t.Context())), second(c.View.LiveGuests(t.Context(), "pve1", KindVM)),
			second(c.View.LiveGuests(t.Context(), "pve2", KindVM)), second(c.View.Storages(t.Context(), "pve1")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	steps := []struct {
		what   string
		do     func()
		counts [4]int
	}{
		{"first", func() {}, [4]int{1, 1, 1, 1}},
		{"29 seconds later", func() { clock.advance(29 * time.Second) }, [4]int{1, 1, 1, 1}},
		{"30 seconds later", func() { clock.advance(time.Second) }, [4]int{2, 2, 2, 2}},
		{"after a change", func() {
			if _, err := c.VMs.Start(t.Context(), owned(110)); err != nil {
				t.Error(err)
			}
		}, [4]int{3, 3, 2, 2}},
	}
	for _, step := range steps {
		step.do()
		look()
		got := [4]int{pve.count(resourcesCall), pve.count(listCall), pve.count("GET /nodes/pve2/qemu"), pve.count("GET /nodes/pve1/storage")}
		if got != step.counts {
			t.Errorf("%s: read %v times, want %v", step.what, got, step.counts)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestViewIsSwept holds that what is too old to be told is not kept, whether or not
// it is ever asked for again.
func TestViewIsSwept(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	pve := newRecordedPVE(t).on(resourcesCall, data(resourcesData)).on(listCall, data(listData)).
		on("GET /nodes/pve1/qemu/110/pending", data(`[]`)).on("GET /nodes/pve1/qemu/111/pending", data(`[]`))
	c := pve.client(t, func(o *Options) { o.clock = clock })
	read := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for _, vmid := range []int{110, 111} {
		read(second(c.View.drives(t.Context(), "pve1", vmid)))
	}
	clock.advance(drivesLife)
	read(second(c.View.LiveGuests(t.Context(), "pve1", KindVM)))
	clock.advance(viewLife - drivesLife)
	read(second(c.View.Guests(t.Context())))
	c.View.mu.Lock()
	defer c.View.mu.Unlock()
	for key := range c.View.entries {
		if key.what != "guests" && key.what != "live" {
			t.Errorf("%s of %s is kept", key.what, key.id)
		}
	}
	if len(c.View.entries) != 2 {
		t.Errorf("%d are kept, want the 2 that are fresh", len(c.View.entries))
	}
}

func TestViewForgetsErrors(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(listCall, failure(500, "something"), data(listData))
	c := pve.client(t)
	if _, err := c.View.LiveGuests(t.Context(), "pve1", KindVM); err == nil {
		t.Error("an error is hidden")
	}
	if live, err := c.View.LiveGuests(t.Context(), "pve1", KindVM); err != nil || len(live) != 1 {
		t.Errorf("then %v (%v)", live, err)
	}
}

// TestViewOutlivesItsFirstCaller has the caller that began a read give up: the
// others still get it, from that one call.
func TestViewOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	answer := data(resourcesData)
	answer.before = func() { close(asked); <-release }
	pve := newRecordedPVE(t).on(resourcesCall, answer)
	c := pve.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	var first error
	var wg sync.WaitGroup
	wg.Go(func() { _, first = c.View.Guests(ctx) })
	<-asked
	cancel()
	wg.Wait()
	if !errors.Is(first, context.Canceled) {
		t.Errorf("the first caller got %v", first)
	}
	wg.Go(func() {
		if guests, err := c.View.Guests(t.Context()); err != nil || len(guests) != 2 {
			t.Errorf("another got %v (%v)", guests, err)
		}
	})
	close(release)
	wg.Wait()
	if n := pve.count(resourcesCall); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestDropDuringARead: what was read before a change must not serve those who
// ask after it.
func TestDropDuringARead(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	old := data(`[]`)
	old.before = func() { close(asked); <-release }
	pve := newRecordedPVE(t).on(listCall, old, data(listData))
	c := pve.client(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		if live, err := c.View.LiveGuests(t.Context(), "pve1", KindVM); err != nil || len(live) != 0 {
			t.Errorf("the earlier caller got %v (%v)", live, err)
		}
	})
	<-asked
	c.View.Drop("pve1")
	live, err := c.View.LiveGuests(t.Context(), "pve1", KindVM)
	if err != nil || len(live) != 1 {
		t.Errorf("the later caller got %v (%v)", live, err)
	}
	close(release)
	wg.Wait()
	if live, _ := c.View.LiveGuests(t.Context(), "pve1", KindVM); len(live) != 1 || pve.count(listCall) != 2 {
		t.Errorf("then %v after %d calls", live, pve.count(listCall))
	}
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{TasksPerNode: 4, TasksPerStorage: 2})
	var now atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			// The storages in either order, and one twice: nobody may wait for
			// each other.
			storages := []string{"a", "b", "a"}
			if i%2 == 0 {
				storages = []string{"b", "a"}
			}
			release, err := l.hold(t.Context(), "pve1", storages...)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			if n := now.Add(1); n > 2 {
				t.Errorf("%d tasks at once on a storage that bears 2", n)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		})
	}
	wg.Wait()
}

func TestLimiterIsCancellable(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{TasksPerNode: 2, TasksPerStorage: 1})
	release, err := l.hold(t.Context(), "pve1", "local")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.hold(ctx, "pve1", "local"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// The slot of the node that it had taken by then is free again.
	other, err := l.hold(t.Context(), "pve1", "other")
	if err != nil {
		t.Fatal(err)
	}
	other()
	release()
	release()
	again, err := l.hold(t.Context(), "", "local", "")
	if err != nil {
		t.Fatal(err)
	}
	again()
}
