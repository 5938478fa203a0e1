package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/pvelab"
)

// holderByHand makes a finished container that says it holds volumes of a guest.
func holderByHand(t *testing.T, c *Client, guest Guest, mounts map[string]string) Guest {
	t.Helper()
	settings := map[string]string{"rootfs": "local-lvm:1"}
	maps.Copy(settings, mounts)
	created, err := c.CreateContainer(t.Context(), ContainerSpec{
		Node: "pve1", Template: oldTemplate, Name: holderName(guest), UID: NewUID(), Settings: settings, Description: keepsLine(guest, false),
	})
	noError(t, err)
	_, err = c.Complete(t.Context(), created.Guest, nil)
	noError(t, err)
	return created.Guest
}

// mutations counts the requests that changed something.
func mutations(before, after pvelab.Count) (calls []string) {
	for call := range after.Sub(before).Requests {
		if !strings.HasPrefix(call, "GET ") {
			calls = append(calls, call)
		}
	}
	return calls
}

// TestReinstallRefused: what is refused is so before anything is changed.
func TestReinstallRefused(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		setup func(t *testing.T, c *Client, guest Guest)
		keep  []string
		is    func(error) bool
		says  string
	}{
		"protected": {
			setup: func(t *testing.T, c *Client, guest Guest) {
				t.Helper()
				_, err := c.Configure(t.Context(), guest, nil, fixed(ConfigUpdate{Set: map[string]string{"protection": "1"}}))
				noError(t, err)
			},
			is: func(err error) bool { return errors.Is(err, ErrProtected) },
		},
		"what is to be kept is not there": {keep: []string{"mp0", "mp7"}, says: "mp7 is to be kept, but neither"},
		"it is gone": {
			setup: func(t *testing.T, c *Client, guest Guest) {
				t.Helper()
				destroyed(t, c, guest)
			},
			is: func(err error) bool { return hasStanding(err, Gone) },
		},
		"two hold its volumes": {
			setup: func(t *testing.T, c *Client, guest Guest) {
				t.Helper()
				holderByHand(t, c, guest, map[string]string{"mp0": "local-lvm:1,mp=/a"})
				holderByHand(t, c, guest, map[string]string{"mp0": "local-lvm:1,mp=/a"})
			},
			says: "hold volumes of",
		},
		"gone, and its holder lacks what is to be kept": {
			setup: func(t *testing.T, c *Client, guest Guest) {
				t.Helper()
				holderByHand(t, c, guest, map[string]string{"mp1": "local-lvm:1,mp=/a"})
				destroyed(t, c, guest)
			},
			says: "mp0 is to be kept, but neither",
		},
		"an unfinished container has the holder's name": {
			setup: func(t *testing.T, c *Client, guest Guest) {
				t.Helper()
				_, err := c.CreateContainer(t.Context(), ContainerSpec{
					Node: "pve1", Template: oldTemplate, Name: holderName(guest), UID: NewUID(), Settings: map[string]string{"rootfs": "local-lvm:1"},
				})
				noError(t, err)
			},
			is: func(err error) bool { var begun *UnfinishedError; return errors.As(err, &begun) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := startLab(t, "9.2")
			c := labClient(t, lab)
			guest := database(t, c)
			if test.setup != nil {
				test.setup(t, c, guest)
			}
			spec := rebuilt(guest)
			if test.keep != nil {
				spec.Keep = test.keep
			}
			before := lab.Counters().Snapshot()
			_, err := labClient(t, lab).Reinstall(t.Context(), spec)
			if err == nil || test.is != nil && !test.is(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			if made := mutations(before, lab.Counters().Snapshot()); len(made) > 0 {
				t.Errorf("it made %q", made)
			}
		})
	}
}

// TestReinstallGoesOnWithTheHolder: of an earlier run's holders the empty one is
// destroyed, and the volume of the other comes back, whatever the container has
// become.
func TestReinstallGoesOnWithTheHolder(t *testing.T) {
	t.Parallel()

	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	if held, err := c.HeldFor(t.Context(), guest); err != nil || held {
		t.Errorf("nobody holds anything yet: %v, %v", held, err)
	}
	holderByHand(t, c, guest, nil)
	full := holderByHand(t, c, guest, map[string]string{"mp0": "local-lvm:1,mp=/a"})
	if held, err := labClient(t, lab).HeldFor(t.Context(), guest); err != nil || !held {
		t.Errorf("two are there, named or not: %v, %v", held, err)
	}
	named(t, c, holderName(guest), 2)
	kept := lab.Contents(full.VMID)["mp0"]
	c.View.Drop("pve1")
	if held, err := labClient(t, lab).HeldFor(t.Context(), guest); err != nil || !held {
		t.Errorf("two are there: %v, %v", held, err)
	}
	destroyed(t, c, guest)
	done, err := c.Reinstall(t.Context(), rebuilt(guest))
	noError(t, err)
	if got := lab.Contents(guest.VMID)["mp0"]; got != kept || kept == "" || done.Guest.VMID != guest.VMID {
		t.Errorf("mp0 holds %q, not %q", got, kept)
	}
	if guests := remaining(t, c); len(guests) != 1 {
		t.Errorf("there are other guests left: %+v", guests)
	}
}

// TestHolders_unclear: a container by whose name it holds volumes, and whose notes
// somebody has taken away, is no proof that there is none; a copy of one is.
func TestHolders_unclear(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	holder := holderByHand(t, c, guest, map[string]string{"mp0": "local-lvm:1,mp=/a"})
	describe := func(text string) {
		path := at("nodes", "pve1", "lxc", strconv.Itoa(holder.VMID), "config")
		noError(t, c.call(t.Context(), http.MethodPut, path, url.Values{"description": {text}}, nil))
	}
	for text, wanted := range map[string]bool{
		"":             true,
		"cleaned up\n": true,
		Marker{UID: uidB, VMID: 20999}.String() + "\n" + keepsLine(guest, false): false,
	} {
		describe(text)
		found, err := c.Holders(t.Context(), guest)
		var unclear *UnclearHolderError
		if got := errors.As(err, &unclear); got != wanted || len(found) != 0 || err != nil && !got {
			t.Errorf("with the notes %q: %v, %v", text, found, err)
		}
	}
}

// TestReinstallTellsTheNode: a container that could not be made anew is known by its
// node all the same, on which the next run makes it.
func TestReinstallTellsTheNode(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	before := lab.Contents(guest.VMID)
	// The first one makes the holder.
	_, err := lab.Faults().Add(pvelab.Fault{Method: http.MethodPost, Path: "/nodes/pve1/lxc", Skip: 1, Status: 500, Text: "the node has a bad day"})
	noError(t, err)
	done, err := c.Reinstall(t.Context(), rebuilt(guest))
	if err == nil || done.Guest.VMID != guest.VMID || done.Guest.UID != uidA || done.Guest.Node != "pve1" {
		t.Errorf("got %+v, %v", done.Guest, err)
	}
	spec := rebuilt(done.Guest)
	spec.Ran = true
	_, err = c.Reinstall(t.Context(), spec)
	noError(t, err)
	checkRebuilt(t, lab, c, guest, before, false)
}

// named waits until the cluster's list has n containers of a name: it is behind.
func named(t *testing.T, c *Client, name string, n int) {
	t.Helper()
	for range 1000 {
		resources, err := c.Cluster.Resources(t.Context(), "vm")
		noError(t, err)
		if of := slices.DeleteFunc(resources, func(r Resource) bool { return r.Name != name }); len(of) == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %d containers %s are listed", n, name)
}

// TestHolders_moved finds a holder that moves to another node between the list and
// the look at it.
func TestHolders_moved(t *testing.T) {
	t.Parallel()
	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	holder := holderByHand(t, c, guest, map[string]string{"mp0": "shared-nfs:1,mp=/a"})
	late := labClient(t, lab)
	late.http = &meanwhile{next: late.http, when: func(req *http.Request) bool {
		return strings.HasSuffix(req.URL.Path, fmt.Sprintf("/lxc/%d/pending", holder.VMID))
	}, do: func() {
		upid, err := c.startTask(t.Context(), http.MethodPost, at("nodes", "pve1", "lxc", strconv.Itoa(holder.VMID), "migrate"), url.Values{"target": {"pve2"}})
		noError(t, err)
		_, err = c.Tasks.Wait(t.Context(), upid, WaitOptions{})
		noError(t, err)
	}}
	found, err := late.Holders(t.Context(), guest)
	noError(t, err)
	if len(found) != 1 || found[0].Guest.VMID != holder.VMID || found[0].Guest.Node != "pve2" || !slices.Equal(found[0].Slots, []string{"mp0"}) {
		t.Errorf("found %+v", found)
	}
}

// TestReinstallStopsWhatWasStarted: somebody starts the container before its volume
// moves out, or the holder before it moves back.
func TestReinstallStopsWhatWasStarted(t *testing.T) {
	t.Parallel()
	for name, ofHolder := range map[string]bool{"the container": false, "the holder": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := startLab(t, "9.2")
			c := labClient(t, lab)
			guest := database(t, c)
			before := lab.Contents(guest.VMID)
			late := labClient(t, lab)
			started := 0
			late.http = &meanwhile{next: late.http, when: func(req *http.Request) bool {
				return isMove(req) && ofHolder == !strings.Contains(req.URL.Path, "/"+strconv.Itoa(guest.VMID)+"/")
			}, do: func() {
				started++
				source := guest
				if ofHolder {
					holders, err := c.Holders(t.Context(), guest)
					noError(t, err)
					source = holders[0].Guest
				}
				_, err := c.Power(t.Context(), source, nil, PowerRunning, PowerOptions{})
				noError(t, err)
			}}
			_, err := late.Reinstall(t.Context(), rebuilt(guest))
			noError(t, err)
			checkRebuilt(t, lab, c, guest, before, false)
			if moves := movesOf(lab); moves != 3 || started != 1 {
				t.Errorf("%d moves were asked for, of which one was refused; started %d times", moves, started)
			}
		})
	}
}

// TestReinstallKeepsWhatItDoesNotKnow: a holder that has more than what is kept
// now is not destroyed.
func TestReinstallKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()

	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	holder := holderByHand(t, c, guest, map[string]string{"mp3": "local-lvm:1,mp=/a"})
	before := lab.Contents(holder.VMID)["mp3"]
	_, err := c.Reinstall(t.Context(), rebuilt(guest))
	if !errors.Is(err, errHolding) || !strings.Contains(err.Error(), "mp3") {
		t.Errorf("got %v", err)
	}
	if after := lab.Contents(holder.VMID)["mp3"]; after != before || after == "" {
		t.Errorf("mp3 holds %q, not %q", after, before)
	}
}

// TestReinstallChecksLast: the caller's check sees what would be destroyed, and
// its refusal leaves what is kept in the holder, for the next run.
func TestReinstallChecksLast(t *testing.T) {
	t.Parallel()

	lab := startLab(t, "9.2")
	c := labClient(t, lab)
	guest := database(t, c)
	before := lab.Contents(guest.VMID)
	spec, refusal := rebuilt(guest), errors.New("mp1 has grown")
	spec.Check = func(config *GuestConfig) error {
		if left := slices.Sorted(maps.Keys(config.Mounts())); !slices.Equal(left, []string{"mp1", "rootfs"}) {
			t.Errorf("it is asked about %v", left)
		}
		return refusal
	}
	if _, err := c.Reinstall(t.Context(), spec); !errors.Is(err, refusal) {
		t.Errorf("got %v", err)
	}
	if after := lab.Contents(guest.VMID); after["mp1"] != before["mp1"] || after["rootfs"] != before["rootfs"] {
		t.Errorf("it was destroyed: %v", after)
	}
	spec.Check = nil
	_, err := c.Reinstall(t.Context(), spec)
	noError(t, err)
	checkRebuilt(t, lab, c, guest, before, false)
}

// meanwhile runs something before the first request that it is for.
type meanwhile struct {
	next http.RoundTripper
	when func(*http.Request) bool
	do   func()
	once sync.Once
}

func (b *meanwhile) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.when(req) {
		b.once.Do(b.do)
	}
	return b.next.RoundTrip(req)
}

// TestReinstallAdoptsAHolder: another run makes the holder after this one has
// looked for it. No second one is made.
func TestReinstallAdoptsAHolder(t *testing.T) {
	t.Parallel()

	lab := startLab(t, "9.2")
	other := labClient(t, lab)
	guest := database(t, other)
	before := lab.Contents(guest.VMID)
	c := labClient(t, lab)
	c.http = &meanwhile{
		next: c.http,
		when: func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/status/current") },
		do: func() {
			_, err := other.CreateContainer(t.Context(), ContainerSpec{
				Node: "pve1", Template: oldTemplate, Name: holderName(guest), UID: NewUID(),
				Settings: map[string]string{"rootfs": "local-lvm:1"}, Description: keepsLine(guest, true),
			})
			noError(t, err)
		},
	}
	_, err := c.Reinstall(t.Context(), rebuilt(guest))
	noError(t, err)
	checkRebuilt(t, lab, c, guest, before, false)
}

// TestReinstallOfAHalfMade: a stub that nobody works on is told as such.
func TestReinstallOfAHalfMade(t *testing.T) {
	t.Parallel()

	stub := on(ctConfigCall).data200(pendingOf(map[string]string{"lock": "create"}))
	c := script(t, steps(on(listGuests).data200(nil), stub, on(listTasks).data200(nil), stub, on(listTasks).data200(nil))...)
	_, err := c.Reinstall(t.Context(), ReinstallSpec{Guest: ctGuest(), Keep: []string{"mp0"}})
	var abandoned *AbandonedError
	if !errors.As(err, &abandoned) || !strings.Contains(err.Error(), "pct unlock 10000") {
		t.Errorf("got %v", err)
	}
	c = script(t, steps(on(listGuests).data200(nil), ctForeign)...)
	if _, err := c.Reinstall(t.Context(), ReinstallSpec{Guest: ctGuest(), Keep: []string{"mp0"}}); !hasStanding(err, Stranger) {
		t.Errorf("a stranger: %v", err)
	}
	bound := on(ctConfigCall).data200(pendingOf(map[string]string{
		"hostname": "db", "description": Marker{UID: uidA, VMID: 10000}.String(), "mp0": "/srv/data,mp=/data",
	}))
	c = script(t, steps(on(listGuests).data200(nil), bound)...)
	if _, err := c.Reinstall(t.Context(), ReinstallSpec{Guest: ctGuest(), Keep: []string{"mp0"}}); err == nil || !strings.Contains(err.Error(), "it is /srv/data, no volume") {
		t.Errorf("a bind mount: %v", err)
	}
}
