package pvelab

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	labSecret   = "5e5e5e5e-1111-4222-8333-444444444444"
	labPassword = "conformance"
	// afterwards is the place of steps after a topic's last exchange.
	afterwards = 1 << 30
	// replaySpeed is how much faster than PVE the lab works while replaying.
	replaySpeed = 25
)

// recordersNode starts a lab that is as the recorder's node was when a topic
// began.
func recordersNode(t *testing.T, version string) *Lab {
	t.Helper()
	l, err := New(Options{Version: version, Nodes: []string{"pve1"}, Standalone: true, Speed: replaySpeed, Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	l.locked(func() {
		err = furnish(l)
		l.broadcastAll()
		l.statdHangs, l.ha.hangs = true, true
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// furnish gives the lab the users, storages and templates that the recordings
// show.
func furnish(l *Lab) error {
	l.access.roles["LabAuditor"] = &role{privs: privSet(words("Datastore.Audit VM.Audit"))}
	root := l.access.users["root@pam"]
	root.password = labPassword
	root.tokens["lab"] = &token{secret: labSecret}
	l.access.users["labuser@pve"] = &user{id: "labuser@pve", enabled: true, tokens: map[string]*token{
		"restricted": {secret: labSecret, privsep: true},
	}}
	l.access.acl = append(l.access.acl,
		aclEntry{path: "/vms", kind: "user", id: "labuser@pve", role: "LabAuditor", propagate: true},
		aclEntry{path: "/vms", kind: "token", id: "labuser@pve!restricted", role: "LabAuditor", propagate: true},
	)
	local := l.addStorage("local", "dir", 270553174016, map[string]string{
		"path": "/var/lib/vz", "content": "images,rootdir,vztmpl,iso,backup,snippets,import", "prune-backups": "keep-all=1",
	})
	l.addStorage("seed", "dir", 270553174016, map[string]string{"path": "/var/lib/seed", "content": "iso"})
	archive := int64(1072395)
	if l.is8() {
		archive = 1072340
	}
	for name, size := range map[string]int64{
		"iso/lab-guest.iso": 16979968, "import/lab-guest.qcow2": 16808448, "vztmpl/lab-busybox_1.0_amd64.tar.gz": archive,
		"9000/base-9000-disk-0.qcow2": 1 << 30, "9001/base-9001-disk-0.qcow2": 50 << 20, "9001/vm-9001-cloudinit.qcow2": 4 << 20,
	} {
		v, err := local.addFile("pve1", name, size)
		if err != nil {
			return err
		}
		if v.content == "import" {
			v.virtual = 50 << 20
		}
	}
	recordersTemplate(l, 9000, guestConfig{
		"name": "tmpl-empty", "memory": "128", "boot": "order=scsi0;net0", "scsihw": "virtio-scsi-single",
		"scsi0": "local:9000/base-9000-disk-0.qcow2,size=1G", "net0": "virtio=BC:24:11:00:90:00,bridge=vmbr0",
	})
	recordersTemplate(l, 9001, guestConfig{
		"name": "tmpl-guest", "memory": "192", "boot": "order=scsi0", "scsihw": "virtio-scsi-single", "agent": "1",
		"ostype": "l26", "ide2": "local:9001/vm-9001-cloudinit.qcow2,media=cdrom,size=4M",
		"scsi0": "local:9001/base-9001-disk-0.qcow2,size=50M", "net0": "virtio=BC:24:11:00:90:01,bridge=vmbr0",
	})
	return nil
}

func recordersTemplate(l *Lab, vmid int, conf guestConfig) {
	g := newGuest("qemu", vmid, "pve1")
	g.conf = conf
	conf["template"], conf["meta"] = "1", "creation-qemu=10.0.13,ctime=1795996709"
	conf["smbios1"], conf["vmgenid"] = "uuid="+newUUID(), newUUID()
	l.guests[vmid] = g
}

// step is something the recorder did without recording it.
type step func(*replay)

// asRoot makes a request as root@pam!lab and expects it to succeed; a task that
// it begins is waited for.
func asRoot(method, path, query string) step {
	return func(r *replay) {
		got := request(r, method, path, query)
		m, _ := got.decoded().(map[string]any)
		if upid, ok := m["data"].(string); ok && upidIn(upid) != "" {
			r.wait(upid)
		}
	}
}

// earlierGuest lets the cluster remember the figures of a VM 110 that is gone, as
// it did when 9.2 was recorded.
func earlierGuest(r *replay) {
	if r.lab.is8() {
		return
	}
	createGuest("vmid=110&name=c110&memory=64&scsi0=local:1")(r)
	broadcastNow(r)
	freeGuest(110)(r)
}

// begin is asRoot without the waiting.
func begin(method, path, query string) step {
	return func(r *replay) { request(r, method, path, query) }
}

func request(r *replay, method, path, query string) labAnswer {
	r.t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		r.t.Fatal(err)
	}
	got := r.do(method, path, values)
	if got.status != http.StatusOK {
		r.t.Errorf("topic %s: unrecorded %s %s: %d %s", r.topic.id, method, path, got.status, got.reason)
	}
	return got
}

// pause lets PVE's time pass.
func pause(d time.Duration) step {
	return func(r *replay) {
		r.lab.clock.thaw()
		time.Sleep(r.lab.clock.scale(d))
	}
}

// unrecorded are the recorder's steps by topic and the exchange they precede.
var unrecorded = map[string]map[int][]step{
	"05": {
		51: {
			earlierGuest,
			stop, begin("POST", "/nodes/pve1/qemu", "vmid=110&name=c110&memory=64&scsi0=local:1&tags=a%3Bb"),
		},
		52: {pause(12 * time.Second), broadcastNow},
	},
	"12": {
		26: {asRoot("POST", "/nodes/pve1/qemu", "vmid=122&memory=64")},
		34: {asRoot("DELETE", "/pools", "poolid=tfpool/sub")},
		35: {
			asRoot("POST", "/access/roles", "roleid=TFPool&privs=VM.Clone,VM.Allocate,VM.Audit,VM.Config.Disk,VM.PowerMgmt,Datastore.AllocateSpace,Pool.Audit"),
			asRoot("POST", "/access/roles", "roleid=TFBridge&privs=SDN.Use"),
			asRoot("POST", "/access/users", "userid=tfpooluser@pve"),
			asRoot("POST", "/access/users/tfpooluser@pve/token/tok1", "privsep=1"),
		},
		39: {poolRight("/pool/tfpool", "TFPool")},
		41: {poolRight("/vms/9000", "PVETemplateUser")},
		42: {poolRight("/storage/local", "PVEDatastoreUser")},
		43: {poolRight("/sdn/zones/localnetwork", "TFBridge")},
		59: {
			asRoot("DELETE", "/nodes/pve1/qemu/120", ""),
			asRoot("DELETE", "/nodes/pve1/qemu/121", ""),
			asRoot("DELETE", "/nodes/pve1/qemu/123", ""),
		},
	},
	"13": {
		37: {
			createGuest("vmid=222&name=x-222&memory=64&scsi0=local:0.1&scsi1=local:0.1"),
			createGuest("vmid=223&name=x-223&memory=64"),
		},
	},
	"17": {
		1: {
			createGuest("vmid=160&name=x-160&memory=64&scsi0=local:1"),
			asRoot("POST", "/nodes/pve1/qemu/9001/clone", "newid=161&full=1"),
			asRoot("DELETE", "/nodes/pve1/qemu/161", ""),
		},
		8:  {cloneStarted(161)},
		12: {tasksOver},
		17: {cloneStarted(161)},
		19: {tasksOver},
		20: {interruptClone},
	},
}

// broadcastNow does what pvestatd does every ten seconds. While replaying it does
// so only when told to.
func broadcastNow(r *replay) { r.lab.locked(r.lab.broadcastAll) }

// stop freezes the lab's time.
func stop(r *replay) { r.lab.clock.freeze() }

// cloneStarted lets a clone go on until its first disk is done, from when its
// configuration is complete but for the other disks.
func cloneStarted(vmid int) step {
	return func(r *replay) {
		r.stepUntil(func() (done bool) {
			r.lab.locked(func() { done = r.lab.guests[vmid] != nil && r.lab.guests[vmid].conf["memory"] != "" })
			return done
		})
	}
}

// interruptClone finds the moment in which the recorder's abort reached the
// clone: while the first disk was made, and after the end with 8.4.
func interruptClone(r *replay) {
	if r.lab.is8() {
		tasksOver(r)
		return
	}
	r.stepUntil(func() bool {
		return slices.ContainsFunc(r.lab.tasks.busy(), func(t *task) bool { return t.wrote("Formatting ") })
	})
}

// stepUntil lets whoever sleeps pass one sleep at a time, and leaves the lab's
// time frozen once something is the case.
func (r *replay) stepUntil(done func() bool) {
	r.lab.clock.freeze()
	for range 2000 {
		if done() {
			return
		}
		r.lab.clock.thaw()
		r.lab.clock.freeze()
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Errorf("topic %s: what was waited for does not happen", r.topic.id)
}

// tasksOver waits until no task is at work.
func tasksOver(r *replay) {
	r.lab.clock.thaw()
	for _, t := range r.lab.tasks.busy() {
		<-t.done
	}
}

// busy are the tasks at work.
func (s *taskStore) busy() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.started)
}

// wrote reports whether the task's log has a line that begins so, or has ended.
func (t *task) wrote(prefix string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit != "" || slices.ContainsFunc(t.log, func(l string) bool { return strings.HasPrefix(l, prefix) })
}

// freeGuest destroys a guest where there is one: an id that PVE accepted for a
// new guest was free.
func freeGuest(vmid int) step {
	return func(r *replay) {
		kind, running := "", false
		r.lab.locked(func() {
			if g := r.lab.guests[vmid]; g != nil {
				kind, running = g.kind, g.run != nil
			}
		})
		if kind == "" {
			return
		}
		path := fmt.Sprintf("/nodes/pve1/%s/%d", kind, vmid)
		if running {
			asRoot("POST", path+"/status/stop", "")(r)
		}
		asRoot("DELETE", path, "purge=1")(r)
	}
}

// uploadNames are the file names that the recorder sent in topic 04; the
// recordings tell only which file it was.
var uploadNames = map[int]string{
	35: "tiny.iso", 39: "tiny.iso", 40: "tiny.iso", 41: "tiny2.iso", 44: "tiny3.iso", 47: "tiny.iso", 48: "tiny.tar.gz",
	49: "tiny.txt", 50: "tiny.iso", 51: "tiny.iso", 52: "tiny.iso", 53: "tiny.iso", 54: "tiny.iso", 56: "tiny übung 1.iso", 57: "tiny.iso",
}

// poolRight grants a role to the user of topic 12 and to its token.
func poolRight(path, role string) step {
	return asRoot("PUT", "/access/acl", url.Values{
		"path": {path}, "roles": {role}, "users": {"tfpooluser@pve"}, "tokens": {"tfpooluser@pve!tok1"},
	}.Encode())
}

// overlapping are the calls after whose answer the recorder went on at once,
// while the task was at work.
var overlapping = map[string]map[int]bool{
	"08": {19: true},
	"17": {4: true, 14: true, 19: true},
}
