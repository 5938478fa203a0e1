package proxmox

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"terraform-provider-proxmox/internal/pvelab"
)

// process is a client of its own, as another run of Terraform has.
func (b *bench) process(t *testing.T, change func(*Options)) *Client {
	t.Helper()

	id, secret := b.Token("least")
	o := Options{
		Endpoint: b.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.CAPEM(), LedgerPool: "terraform",
		VMIDRange: VMIDRange{First: 20000, Last: 20999},
	}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	noError(t, err)
	return c
}

func create(t *testing.T, c *Client, name string) Guest {
	t.Helper()

	created, err := c.CreateClone(t.Context(), CloneSpec{
		TemplateNode: "pve1", Template: benchTemplate, Name: name, UID: NewUID(), Storage: "shared-nfs", Pool: "terraform",
	})
	noError(t, err)
	return created.Guest
}

func destroyed(t *testing.T, c *Client, guest Guest) {
	t.Helper()

	_, err := c.Destroy(t.Context(), guest, DestroyOptions{})
	noError(t, err)
}

func entries(t *testing.T, c *Client) []int {
	t.Helper()

	list, err := c.IDs.ledger.list(t.Context())
	noError(t, err)
	return list
}

// TestLedgerAcrossProcesses: an id does not come back when its guest is gone,
// even if it was the highest and another process makes the next one.
func TestLedgerAcrossProcesses(t *testing.T) {
	t.Parallel()

	for _, version := range []string{"9.2", "8.4"} {
		b := newBench(t, version)
		var got []int
		for range 3 {
			c := b.process(t, nil)
			guest := create(t, c, "web")
			destroyed(t, c, guest)
			got = append(got, guest.VMID)
		}
		if !slices.Equal(got, []int{20000, 20001, 20002}) {
			t.Errorf("%s: ids %v", version, got)
		}
	}
}

// TestNoLedger is what the documentation warns of.
func TestNoLedger(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	for range 2 {
		c := b.process(t, func(o *Options) { o.LedgerPool = "" })
		guest := create(t, c, "web")
		destroyed(t, c, guest)
		if guest.VMID != 20000 {
			t.Errorf("id %d", guest.VMID)
		}
	}
}

// TestLedgerUnderPressure has two processes make and destroy guests at once.
func TestLedgerUnderPressure(t *testing.T) {
	t.Parallel()

	const processes, workers, rounds = 2, 6, 4
	b := newBench(t, "9.2")
	var all sync.WaitGroup
	var mu sync.Mutex
	given := map[int]int{}
	for p := range processes {
		c := b.process(t, nil)
		for w := range workers {
			all.Go(func() {
				for r := range rounds {
					name := strings.Join([]string{"web", strconv.Itoa(p), strconv.Itoa(w), strconv.Itoa(r)}, "-")
					created, err := c.CreateClone(t.Context(), CloneSpec{
						TemplateNode: "pve1", Template: benchTemplate, Name: name, UID: NewUID(), Storage: "shared-nfs", Pool: "terraform",
					})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					given[created.Guest.VMID]++
					mu.Unlock()
					if _, err := c.Destroy(t.Context(), created.Guest, DestroyOptions{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if len(given) != processes*workers*rounds {
		t.Errorf("%d different ids for %d guests: %v", len(given), processes*workers*rounds, given)
	}
	last := slices.Max(slices.Collect(maps.Keys(given)))
	left := entries(t, b.process(t, nil))
	t.Logf("the highest id is %d, entries left: %v", last, left)
	if highest(left) < last {
		t.Errorf("the mark %d is below %d", highest(left), last)
	}
	if len(left) > 2*(ledgerKeep+processes*workers) {
		t.Errorf("%d entries were left", len(left))
	}
}

// TestLedgerCalls: to book an id takes two calls.
func TestLedgerCalls(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	calls := func(c *Client) pvelab.Count {
		before := b.Counters().Snapshot()
		create(t, c, "web-"+NewUID())
		return b.Counters().Snapshot().Sub(before)
	}
	create(t, b.process(t, nil), "first")
	without := calls(b.process(t, func(o *Options) { o.LedgerPool = "" }))
	with := calls(b.process(t, nil))
	polls := "GET /nodes/{node}/tasks/{upid}/status"
	if extra := with.Total - with.Requests[polls] - without.Total + without.Requests[polls]; extra != 2 {
		t.Errorf("%d more calls: %v instead of %v", extra, with.Requests, without.Requests)
	}
}

// TestLedgerTidies: few entries are left, and never without the mark.
func TestLedgerTidies(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	c := b.process(t, nil)
	var last Guest
	for range 2*ledgerKeep + 3 {
		last = create(t, c, "web-"+NewUID())
	}
	if left := entries(t, c); len(left) > ledgerKeep+2 || highest(left) != last.VMID {
		t.Errorf("entries %v, the last id is %d", left, last.VMID)
	}
}

// TestLedgerNamesIDs: an id that the configuration names raises the mark, and
// may be one that was given out before.
func TestLedgerNamedID(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	named := func(vmid int) {
		t.Helper()
		c := b.process(t, nil)
		created, err := c.CreateClone(t.Context(), CloneSpec{
			TemplateNode: "pve1", Template: benchTemplate, Name: "named", UID: NewUID(), VMID: vmid, Storage: "shared-nfs", Pool: "terraform",
		})
		noError(t, err)
		destroyed(t, c, created.Guest)
	}
	named(20005)
	if guest := create(t, b.process(t, nil), "web"); guest.VMID != 20006 {
		t.Errorf("after 20005 came %d", guest.VMID)
	}
	named(20005)
	named(20003)
	if left := entries(t, b.process(t, nil)); !slices.Equal(left, []int{20005, 20006}) {
		t.Errorf("entries %v", left)
	}
}

// TestLedgerLostAnswers: an entry whose answer was lost may be ours or not, so
// that the next id is taken; and so it is after a run that was killed between
// the entry and the guest.
func TestLedgerLostAnswers(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	for _, drop := range []pvelab.Drop{pvelab.DropAfter, pvelab.DropBefore} {
		_, err := b.Faults().Add(pvelab.Fault{Method: "POST", Path: "^/pools$", Drop: drop})
		noError(t, err)
	}
	if guest := create(t, b.process(t, nil), "lost"); guest.VMID != 20002 {
		t.Errorf("after two lost answers came %d", guest.VMID)
	}
	killed := b.process(t, nil)
	noError(t, killed.Pools.Create(t.Context(), killed.IDs.ledger.entry(20003), ""))
	if guest := create(t, b.process(t, nil), "next"); guest.VMID != 20004 {
		t.Errorf("after a killed run came %d", guest.VMID)
	}
}

// TestLedgerTrouble is what stands in the way of a ledger.
func TestLedgerTrouble(t *testing.T) {
	t.Parallel()

	b := newBench(t, "9.2")
	spec := func(pool string) CloneSpec {
		return CloneSpec{TemplateNode: "pve1", Template: benchTemplate, Name: "web-" + NewUID(), UID: NewUID(), Storage: "shared-nfs", Pool: pool}
	}
	full, secret := b.Token("full")
	absent := b.process(t, func(o *Options) { o.LedgerPool, o.TokenID, o.TokenSecret = "absent", full, secret })
	var trouble *NoLedgerError
	if _, err := absent.CreateClone(t.Context(), spec("")); !errors.As(err, &trouble) || trouble.Unseen {
		t.Errorf("a pool that does not exist: %v", err)
	}

	granted := func(pool ...string) map[string][]string {
		all, _ := CapabilityOf("vm.create")
		rights := map[string][]string{"/pool/terraform": pool}
		scope := Scope{"template": {strconv.Itoa(benchTemplate)}, "images": {"shared-nfs"}, "bridge": {"vmbr0"}}
		for _, need := range all.Needs {
			path := need.paths(scope)[0]
			if need.Path == guestPath {
				path = "/pool/terraform"
			}
			rights[path] = append(rights[path], need.Privilege)
		}
		return rights
	}
	id, key := b.user(t, 901, granted("Pool.Allocate"))
	blind := b.process(t, func(o *Options) { o.TokenID, o.TokenSecret = id, key })
	if _, err := blind.CreateClone(t.Context(), spec("terraform")); !errors.As(err, &trouble) || !trouble.Unseen || !strings.Contains(err.Error(), "Pool.Audit") {
		t.Errorf("entries that are not seen: %v", err)
	}
	id, key = b.user(t, 902, granted())
	powerless := b.process(t, func(o *Options) { o.TokenID, o.TokenSecret = id, key })
	if _, err := powerless.CreateClone(t.Context(), spec("terraform")); err != nil {
		t.Errorf("a token that may not make entries makes guests without them: %v", err)
	}
	if powerless.IDs.ledger.on() {
		t.Error("it would try again")
	}
}

func TestLedgerPoolDepth(t *testing.T) {
	t.Parallel()

	o := newRecordedPVE(t).options()
	o.LedgerPool = "a/b"
	if _, err := New(o); err != nil {
		t.Error(err)
	}
	o.LedgerPool = "a/b/c"
	var problem *OptionError
	if _, err := New(o); !errors.As(err, &problem) || problem.Field != "LedgerPool" {
		t.Errorf("error %v", err)
	}
}
