package proxmox

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestVolumeUsers(t *testing.T) {
	t.Parallel()
	const volid = "seeds:iso/a.iso"
	pve := newRecordedPVE(t).
		on("GET /cluster/resources", data(`[
			{"type":"qemu","vmid":101,"node":"pve1","name":"a","status":"running"},
			{"type":"qemu","vmid":102,"node":"pve1","name":"b","status":"stopped"},
			{"type":"qemu","vmid":103,"node":"pve2","name":"c","status":"stopped"},
			{"type":"qemu","vmid":104,"node":"pve1","name":"d","status":"stopped"},
			{"type":"qemu","vmid":106,"node":"pve1","name":"hidden","status":"stopped"},
			{"type":"lxc","vmid":105,"node":"pve1","name":"e","status":"running"}]`)).
		on("GET /nodes/pve1/qemu/101/pending", data(`[{"key":"ide2","value":"`+volid+`,media=cdrom","pending":"none,media=cdrom"}]`)).
		on("GET /nodes/pve1/qemu/102/pending", data(`[{"key":"sata0","pending":"`+volid+`,media=cdrom"}]`)).
		on("GET /nodes/pve2/qemu/103/pending", data(`[{"key":"ide2","value":"file=`+volid+`,media=cdrom"}]`)).
		on("GET /nodes/pve1/qemu/104/pending", data(`[{"key":"ide2","value":"`+volid+`x,media=cdrom"},{"key":"description","value":"`+volid+`"}]`)).
		on("GET /nodes/pve1/qemu/106/pending", failure(http.StatusForbidden, "Permission check failed (/vms/106, VM.Audit)"))
	client := pve.client(t)
	for shared, want := range map[bool]string{
		true:  `[VM 101 "a" on pve1 (at ide2) VM 102 "b" on pve1 (at sata0) VM 103 "c" on pve2 (at ide2)]`,
		false: `[VM 101 "a" on pve1 (at ide2) VM 102 "b" on pve1 (at sata0)]`,
	} {
		users, err := client.Storage.VolumeUsers(t.Context(), "pve1", shared, volid)
		if err != nil || fmt.Sprint(users) != want {
			t.Errorf("shared %t: %v, %v", shared, users, err)
		}
	}
	for call, want := range map[string]int{
		"GET /cluster/resources":           2, // Always anew.
		"GET /nodes/pve1/qemu/101/pending": 3, // It names the volume: each time anew.
		"GET /nodes/pve1/qemu/104/pending": 1, // It does not.
		"GET /nodes/pve1/qemu/106/pending": 1,
	} {
		if n := pve.count(call); n != want {
			t.Errorf("%s is asked %d times, want %d", call, n, want)
		}
	}
}

// TestVolumeUsersOfNodeAway holds that a volume may be in use as long as a VM
// cannot be asked.
func TestVolumeUsersOfNodeAway(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /cluster/resources", data(`[{"type":"qemu","vmid":103,"node":"pve2","status":"unknown"}]`)).
		on("GET /nodes/pve2/qemu/103/pending", failure(595, "No route to host"))
	client := pve.client(t)
	users, err := client.Storage.VolumeUsers(t.Context(), "pve1", true, "seeds:iso/a.iso")
	if !IsUnasked(err) || !IsUnavailable(err) || !strings.Contains(err.Error(), "VM 103 on pve2 may use seeds:iso/a.iso") {
		t.Errorf("on a shared storage: %v, %v", users, err)
	}
	users, err = client.Storage.VolumeUsers(t.Context(), "pve1", false, "seeds:iso/a.iso")
	if err != nil || len(users) > 0 {
		t.Errorf("on a storage of another node's: %v, %v", users, err)
	}
}

// TestVolumeUsersAreSharedAndFresh deletes 100 images of a cluster of 100 VMs: no
// VM is read for each of them, and no VM's word is taken that may have changed.
func TestVolumeUsersAreSharedAndFresh(t *testing.T) {
	t.Parallel()
	const vms, images, changing = 100, 100, 120
	pending := func(vmid int) string { return fmt.Sprintf("GET /nodes/pve1/qemu/%d/pending", vmid) }
	image := func(n int) string { return fmt.Sprintf("seeds:iso/%d.iso", n) }
	list := func(more ...int) reply {
		var guests []string
		for vmid := range vms {
			more = append(more, 100+vmid)
		}
		for _, vmid := range more {
			guests = append(guests, fmt.Sprintf(`{"type":"qemu","vmid":%d,"node":"pve1","status":"stopped"}`, vmid))
		}
		return data("[" + strings.Join(guests, ",") + "]")
	}
	clock := newFakeClock()
	pve := newRecordedPVE(t).on(resourcesCall, list()).on("PUT /nodes/pve1/qemu/120/config", data("null"))
	for vmid := 100; vmid < 100+vms; vmid++ {
		pve.on(pending(vmid), data(`[{"key":"ide2","value":"none,media=cdrom"}]`))
	}
	client := pve.client(t, func(o *Options) { o.clock = clock })
	now := func(call string, answer reply) {
		pve.mu.Lock()
		defer pve.mu.Unlock()
		pve.answers[call] = []reply{answer}
	}
	reads := func() (n int) {
		for _, call := range pve.calls() {
			if strings.HasSuffix(call, "/pending") {
				n++
			}
		}
		return n
	}
	users := func(n int) int {
		t.Helper()
		found, err := client.Storage.VolumeUsers(t.Context(), "pve1", true, image(n))
		noError(t, err)
		return len(found)
	}
	wantReads := func(what string, want int) {
		t.Helper()
		if n := reads(); n != want {
			t.Errorf("%s: %d VMs were read, want %d", what, n, want)
		}
	}

	var all sync.WaitGroup
	for n := range images {
		all.Go(func() {
			if found := users(n); found != 0 {
				t.Errorf("%d VMs use %s", found, image(n))
			}
		})
	}
	all.Wait()
	wantReads("100 images at once", vms)

	clock.advance(drivesLife - time.Millisecond)
	users(0)
	wantReads("just within the time", vms)

	// Our own change of a VM is seen at once, and of no other.
	noError(t, client.VMs.Update(t.Context(), owned(changing), ConfigUpdate{Set: map[string]string{"ide2": image(1)}}))
	now(pending(changing), data(`[{"key":"ide2","value":"`+image(1)+`,media=cdrom"}]`))
	if found := users(1); found != 1 {
		t.Errorf("%d VMs use the image that was just put into one", found)
	}
	wantReads("after an own change", vms+2)

	// A VM that is new, and one that is still being cloned.
	const fresh, clone = 300, 301
	now(resourcesCall, list(fresh, clone))
	now(pending(fresh), data(`[{"key":"ide2","value":"`+image(2)+`,media=cdrom"}]`))
	now(pending(clone), data(`[{"key":"lock","value":"clone"}]`))
	if found := users(2); found != 1 {
		t.Errorf("%d VMs use the image that a new VM has", found)
	}
	now(pending(clone), data(`[{"key":"ide2","value":"`+image(3)+`,media=cdrom"}]`))
	if found := users(3); found != 1 {
		t.Errorf("%d VMs use the image that a clone came with", found)
	}

	// One that is gone when it is asked, and another one that gets its id.
	const gone = 302
	now(resourcesCall, list(fresh, clone, gone))
	now(pending(gone), failure(http.StatusInternalServerError, "Configuration file 'nodes/pve1/qemu-server/302.conf' does not exist"))
	now("GET /cluster/nextid", data(`"302"`))
	if found := users(4); found != 0 {
		t.Errorf("%d VMs use an image that nobody has", found)
	}
	now(pending(gone), data(`[{"key":"ide2","value":"`+image(4)+`,media=cdrom"}]`))
	if found := users(4); found != 1 {
		t.Errorf("%d VMs use the image that one with a used id has", found)
	}
	now(resourcesCall, list(fresh, clone))

	// The VM that was changed was read late; the clone, of which nothing but its
	// lock is known, is asked again.
	before := reads()
	clock.advance(time.Millisecond)
	users(0)
	wantReads("after the time", before+vms-1+1)
}

// TestVolumeUsersThatMove: a VM that is no longer where the list had it is looked
// for, and is no user only where it is gone.
func TestVolumeUsersThatMove(t *testing.T) {
	t.Parallel()
	const volid = "seeds:iso/a.iso"
	away := failure(http.StatusInternalServerError, "Configuration file 'nodes/pve1/qemu-server/101.conf' does not exist")
	list := func(node string) reply {
		return data(`[{"type":"qemu","vmid":101,"node":"` + node + `","name":"a","status":"running"}]`)
	}
	for name, test := range map[string]struct {
		there   reply
		want    string
		unasked bool
	}{
		"and holds it":           {there: data(`[{"key":"ide2","value":"` + volid + `,media=cdrom"}]`), want: `[VM 101 "a" on pve2 (at ide2)]`},
		"and does not hold it":   {there: data(`[]`), want: "[]"},
		"to a node that is away": {there: failure(595, "No route to host"), want: "[]", unasked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on(resourcesCall, list("pve1"), list("pve2")).on("GET /nodes/pve1/qemu/101/pending", away).
				on("GET /nodes/pve2/qemu/101/pending", test.there).on("GET /cluster/nextid", failure(http.StatusBadRequest, "VM 101 already exists"))
			users, err := pve.client(t).Storage.VolumeUsers(t.Context(), "pve1", true, volid)
			if IsUnasked(err) != test.unasked || !test.unasked && err != nil || fmt.Sprint(users) != test.want {
				t.Errorf("%v, %v", users, err)
			}
		})
	}
}

// TestVolumeUsersAfterATask: what a VM said while a task of it ran is not believed
// when that has ended.
func TestVolumeUsersAfterATask(t *testing.T) {
	t.Parallel()
	const pending, image = "GET /nodes/pve1/qemu/110/pending", "seeds:iso/a.iso"
	pve := newRecordedPVE(t).
		on(resourcesCall, data(`[{"type":"qemu","vmid":110,"node":"pve1","status":"stopped"}]`)).
		on(pending, data(`[{"key":"ide2","value":"none,media=cdrom"}]`), data(`[{"key":"ide2","value":"`+image+`,media=cdrom"}]`)).
		on(startStatus, taskAnswer("OK"))
	client := pve.client(t, func(o *Options) { o.clock = newFakeClock() })
	for what, want := range []int{0, 1} {
		users, err := client.Storage.VolumeUsers(t.Context(), "pve1", true, image)
		if err != nil || len(users) != want {
			t.Errorf("%d: %v, %v, want %d", what, users, err, want)
		}
		_, err = client.Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{})
		noError(t, err)
	}
}
