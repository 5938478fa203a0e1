package proxmox

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAllocatorExhausted(t *testing.T) {
	t.Parallel()

	c := script(t, quiet(vmResource(10009, "pve1", "last"), vmResource(10002, "pve1", "x"), vmResource(500, "pve1", "y"))...)
	created, err := c.CreateClone(t.Context(), webSpec())
	var exhausted *ExhaustedError
	if !errors.As(err, &exhausted) || created.Guest != (Guest{}) {
		t.Fatalf("got %+v, %v; want an ExhaustedError", created, err)
	}
	if *exhausted != (ExhaustedError{Range: testRange, Used: 2, Highest: 10009}) {
		t.Errorf("got %+v", *exhausted)
	}
	if want := "2 of its 10 ids are in use"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q lacks %q", err, want)
	}
}

func TestAllocatorRoom(t *testing.T) {
	t.Parallel()

	full := script(t, on(listGuests).data200([]any{vmResource(10009, "pve1", "last")}))
	var exhausted *ExhaustedError
	if err := full.IDs.Room(t.Context()); !errors.As(err, &exhausted) {
		t.Errorf("full: %v", err)
	}
	roomy := script(t, on(listGuests).data200([]any{vmResource(10008, "pve1", "x"), vmResource(20000, "pve1", "y")}))
	if err := roomy.IDs.Room(t.Context()); err != nil {
		t.Errorf("one left: %v", err)
	}
}

// TestAllocatorNeverGoesBack: an id that was handed out is not handed out
// again, whether its guest was made, destroyed or refused.
func TestAllocatorNeverGoesBack(t *testing.T) {
	t.Parallel()

	a := script(t).IDs
	var got []int
	for _, end := range []func(int){a.release, a.forget, func(int) {}} {
		vmid, err := a.next(census{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, vmid)
		end(vmid)
	}
	if err := a.reserve(10007); err != nil {
		t.Fatal(err)
	}
	vmid, err := a.next(census{})
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, vmid)
	for i, want := range []int{10000, 10001, 10002, 10008} {
		if got[i] != want {
			t.Errorf("got %v", got)
			break
		}
	}
	var taken *TakenError
	if err := a.reserve(10007); !errors.As(err, &taken) {
		t.Errorf("an id that is being made: %v", err)
	}
	a.release(10007)
	if err := a.reserve(10007); err != nil {
		t.Errorf("an id whose guest may have been destroyed meanwhile: %v", err)
	}
}

// TestFlightSharesOnlyWhatBeginsLater: nobody is given an answer to a call that
// began before he asked.
func TestFlightSharesOnlyWhatBeginsLater(t *testing.T) {
	t.Parallel()

	var f flight[int]
	var calls atomic.Int32
	entered, proceed := make(chan struct{}), make(chan struct{})
	fetch := func(context.Context) (int, error) {
		n := calls.Add(1)
		entered <- struct{}{}
		<-proceed
		return int(n), nil
	}
	var all sync.WaitGroup
	results := make([]int, 50)
	ask := func(i int) {
		all.Go(func() { results[i], _ = f.do(t.Context(), fetch) })
	}
	ask(0)
	<-entered
	for i := 1; i < len(results); i++ {
		ask(i)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.do(impatient, fetch); !errors.Is(err, context.Canceled) {
		t.Errorf("an asker who leaves: %v", err)
	}
	go func() {
		for range entered {
		}
	}()
	close(proceed)
	all.Wait()
	if results[0] != 1 {
		t.Errorf("the first asker got call %d", results[0])
	}
	for i, got := range results[1:] {
		if got < 2 {
			t.Fatalf("asker %d got call %d, which began before he asked", i+1, got)
		}
	}
}

// cluster is a PVE that clones at once, and refuses an id that is taken.
type cluster struct {
	mu     sync.Mutex
	calls  map[string]int
	guests map[string]map[string]string
	// hidden are ids that the token does not see.
	hidden map[string]bool
}

func (p *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	call := callOf(r)
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api2/json/"), "/")
	switch {
	case call == listClones:
		p.answer(w, "scan", on(call).data200(nil))
	case call == listGuests:
		p.answer(w, "scan", on(call).data200(nil))
	case call == clone:
		p.answer(w, "clone", p.clone(r.FormValue("newid"), r.FormValue("name"), r.FormValue("description")))
	case strings.HasSuffix(r.URL.Path, "/status"):
		p.answer(w, "poll", on(call).data200(map[string]any{"status": "stopped", "exitstatus": "OK"}))
	case strings.HasSuffix(r.URL.Path, "/pending"):
		p.answer(w, "read", on(call).data200(pendingOf(p.guests[path[3]])))
	case strings.HasPrefix(call, "GET /cluster/nextid"):
		p.answer(w, "probe", p.probe(r.FormValue("vmid")))
	default:
		respond(w, on(call).fail(501, "not implemented"))
	}
}

func (p *cluster) answer(w http.ResponseWriter, kind string, s step) {
	p.calls[kind]++
	respond(w, s)
}

func (p *cluster) clone(vmid, name, description string) step {
	if p.guests[vmid] != nil || p.hidden[vmid] {
		return on(clone).fail(500, "unable to create VM "+vmid+": config file already exists")
	}
	p.guests[vmid] = map[string]string{"name": name, "description": description, "digest": "d", "smbios1": "uuid=" + NewUID()}
	return on(clone).data200(cloneUPID)
}

func (p *cluster) probe(vmid string) step {
	s := on("")
	if p.guests[vmid] != nil || p.hidden[vmid] {
		s = s.fail(400, "Parameter verification failed.")
		s.params = map[string]string{"vmid": "VM " + vmid + " already exists"}
	}
	return s
}

// TestParallelCreations: fifty at once share the reading of the cluster, and
// each gets an id of its own, past the ids that are taken unseen.
func TestParallelCreations(t *testing.T) {
	t.Parallel()

	const count = 50
	p := &cluster{calls: map[string]int{}, guests: map[string]map[string]string{}, hidden: map[string]bool{"20003": true, "20004": true}}
	c := fakeClient(t, p)
	c.options.VMIDRange = VMIDRange{First: 20000, Last: 20099}
	c.limits = newLimiter(Limits{TasksPerNode: count, TasksPerStorage: count})
	var all sync.WaitGroup
	made := make([]Created, count)
	errs := make([]error, count)
	for i := range count {
		all.Go(func() {
			spec := webSpec()
			spec.Name, spec.UID = "web-"+itoa(i), NewUID()
			made[i], errs[i] = c.CreateClone(t.Context(), spec)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for i, created := range made {
		if got := created.Own.Config().Get("name"); got != "web-"+itoa(i) {
			t.Errorf("creation %d got guest %d, named %q", i, created.Guest.VMID, got)
		}
		ids[created.Guest.VMID] = true
	}
	if len(ids) != count || len(p.guests) != count {
		t.Errorf("%d ids for %d guests, want %d", len(ids), len(p.guests), count)
	}
	if ids[20003] || ids[20004] {
		t.Error("an id of somebody else's was adopted")
	}
	if p.calls["scan"] >= count {
		t.Errorf("%d scans for %d creations: nothing was shared", p.calls["scan"], count)
	}
	if p.calls["read"] != count || p.calls["clone"] > count+2 || p.calls["probe"] > 4 {
		t.Errorf("calls %v for %d creations", p.calls, count)
	}
}

// TestFlightEnds holds that a call which nobody answers does not keep those who
// come later for ever: it outlives the deadline of whoever made it.
func TestFlightEnds(t *testing.T) {
	t.Parallel()
	var f flight[bool]
	bounded, err := f.do(t.Context(), func(ctx context.Context) (bool, error) {
		_, bounded := ctx.Deadline()
		return bounded, nil
	})
	if err != nil || !bounded {
		t.Errorf("the shared call has no deadline of its own (%v)", err)
	}
}

// TestCloneTarget: PVE 9 begins a clone's log with its id; in PVE 8 the first new
// volume tells, and where the storage says nothing of it, nothing does.
func TestCloneTarget(t *testing.T) {
	t.Parallel()

	const source = "create full clone of drive ide2 (local:9001/vm-9001-cloudinit.qcow2)"
	for name, test := range map[string]struct {
		lines []string
		want  int
	}{
		"nothing yet":           {nil, 0},
		"PVE 9":                 {[]string{"creating a clone of VM 9001 with ID 111", source}, 111},
		"PVE 8, files":          {[]string{source, "Formatting '/var/lib/vz/images/111/vm-111-cloudinit.raw', fmt=raw size=4194304 preallocation=off"}, 111},
		"PVE 8, LVM":            {[]string{source, `  Logical volume "vm-111-disk-0" created.`}, 111},
		"PVE 8, silent storage": {[]string{source, "transferred 0.0 B of 50.0 MiB (0.00%)"}, 0},
	} {
		if got := cloneTarget(test.lines); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
