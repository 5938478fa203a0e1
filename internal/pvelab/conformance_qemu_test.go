package pvelab

import "time"

// The recorder's unrecorded steps and the lab's deviations in the topics about
// virtual machines.
func init() {
	unrecorded["06"] = map[int][]step{
		107: {justBooted(110)}, 108: {justBooted(110)}, 125: {justBooted(110)},
		128: {justBooted(110), silence(110, true)},
		131: {silence(110, false)},
		144: {guestExists(111)},
		181: {lockVM(112, "backup")},
		196: {lockVM(112, "")},
	}
	unrecorded["07"] = qemuErrorSteps()
	unrecorded["08"] = map[int][]step{
		// There is no system on its disk.
		5:  {func(r *replay) { r.lab.Faults().IgnoreShutdown(110, true) }},
		13: {pause(5 * time.Second)},
		38: {loseVolume("local:110/vm-110-disk-0.raw")},
	}
	unrecorded["10"] = map[int][]step{
		21: {justBooted(110)}, 22: {justBooted(110)}, 23: {justBooted(110)}, 24: {pause(bootTime)},
		53: {pause(bootTime)}, 61: {pause(bootTime)},
	}
	unrecorded["14"] = map[int][]step{1: {createGuest("vmid=130&name=x-130&memory=64")}}
	unrecorded["15"] = propertySteps()
	unrecorded["16"] = map[int][]step{
		1: {createGuest("vmid=150&name=x-150&memory=64&ide2=local:cloudinit" +
			"&net0=virtio,bridge%3Dvmbr0&net1=virtio,bridge%3Dvmbr0")},
	}
	overlapping["06"] = map[int]bool{143: true}
	deviations = append(deviations, qemuDeviations...)
	tolerances = append([]tolerance{
		tolerate(sameType, `agent/get-fsinfo$`, `data\.result\[sr0\]\.(total|used)-bytes.*`),
	}, tolerances...)
}

func createGuest(query string) step { return asRoot("POST", "/nodes/pve1/qemu", query) }

// justBooted puts a guest back to the begin of its boot: the recorder was quicker
// than a busy machine that replays.
func justBooted(vmid int) step {
	return func(r *replay) { r.lab.locked(func() { r.lab.guests[vmid].run.booted = r.lab.clock.Now() }) }
}

// silence keeps a guest from hearing of a shutdown, and its agent from answering,
// as while it boots.
func silence(vmid int, on bool) step {
	return func(r *replay) {
		r.lab.Faults().IgnoreShutdown(vmid, on)
		r.lab.Faults().MuteAgent(vmid, on)
	}
}

// guestExists waits until a worker has made its guest.
func guestExists(vmid int) step {
	return func(r *replay) {
		for range 2000 {
			exists := false
			r.lab.locked(func() { exists = r.lab.guests[vmid] != nil })
			if exists {
				return
			}
			time.Sleep(time.Millisecond)
		}
		r.t.Errorf("topic %s: guest %d does not come", r.topic.id, vmid)
	}
}

// lockVM sets or clears a lock, as "qm set --lock" on the node does.
func lockVM(vmid int, lock string) step {
	return func(r *replay) {
		r.lab.locked(func() {
			delete(r.lab.guests[vmid].conf, "lock")
			if lock != "" {
				r.lab.guests[vmid].conf["lock"] = lock
			}
		})
	}
}

// loseVolume removes a volume under its VM.
func loseVolume(volid string) step {
	return func(r *replay) {
		r.lab.locked(func() {
			if err := r.lab.freeVolume("pve1", volid); err != nil {
				r.t.Error(err)
			}
		})
	}
}

// forget takes an option out of a VM's configuration and nothing else.
func forget(vmid int, key string) step {
	return func(r *replay) { r.lab.locked(func() { delete(r.lab.guests[vmid].conf, key) }) }
}

// qemuErrorSteps removes VM 120 after each creation that succeeded.
func qemuErrorSteps() map[int][]step {
	remove := asRoot("DELETE", "/nodes/pve1/qemu/120", "")
	steps := map[int][]step{
		90:  {pause(2 * time.Second), asRoot("POST", "/nodes/pve1/qemu/120/status/stop", ""), remove},
		107: {createGuest("vmid=120&memory=64&scsi0=local:1&net0=virtio,bridge%3Dvmbr0")},
	}
	for _, n := range []int{16, 19, 38, 46, 49, 54, 60, 66, 70, 73, 86, 93, 96, 99} {
		steps[n] = []step{remove}
	}
	return steps
}

// propertySteps clears the slot of the disk between its settings; the first
// name for a disk was taken.
func propertySteps() map[int][]step {
	steps := map[int][]step{
		1: {
			createGuest("vmid=140&name=x-140&memory=64&scsihw=virtio-scsi-single"),
			asRoot("POST", "/nodes/pve1/storage/local/content", "vmid=140&filename=vm-140-disk-0.raw&size=4M"),
		},
	}
	// The recorder's host could not enrol keys: the image stayed behind.
	steps[185] = []step{asRoot("PUT", "/nodes/pve1/qemu/140/config", "delete=efidisk0"), forget(140, "unused0")}
	const firstDisk, lastDisk = 31, 83
	for n := firstDisk; n <= lastDisk; n += 2 {
		steps[n] = []step{asRoot("PUT", "/nodes/pve1/qemu/140/config", "delete=scsi1&force=1")}
	}
	return steps
}

var qemuDeviations = []deviation{
	{version: "8.4", topic: "06", numbers: []int{87}, why: "the recorder's host lacked a Perl package"},
	{version: "8.4", topic: "10", numbers: []int{20}, why: "the recorder's host lacked a Perl package"},
	{version: "8.4", topic: "10", numbers: []int{23}, why: "the recorder's guest booted faster this time"},
	{version: "8.4", topic: "10", numbers: []int{37}, why: "the id of the guest's process is chance"},
	{version: "9.2", topic: "10", numbers: []int{62, 63}, why: "something else of the recorder's held the lock file"},
	{topic: "15", numbers: []int{183, 184}, why: "the recorder's host lacked virt-fw-vars"},
}
