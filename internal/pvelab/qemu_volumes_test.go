package pvelab

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestDisksOfNewVM(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	l.locked(func() {
		v, err := l.storages["local"].addFile("pve1", "import/cloud.qcow2", 300<<20)
		if err != nil {
			t.Fatal(err)
		}
		v.virtual = 2 << 30
		if _, err := l.storages["local"].addFile("pve1", "iso/x.iso", 16979968); err != nil {
			t.Fatal(err)
		}
	})
	c.create("vmid=100", "scsi0=local:0,import-from=local:import/cloud.qcow2", "scsi1=local:0.5,format=qcow2",
		"ide0=local:iso/x.iso,media=cdrom", "ide2=local:cloudinit", "efidisk0=local:1,efitype=4m", "tpmstate0=local:1,version=v2.0",
		"net0=virtio,bridge=vmbr0")
	conf := c.config("100")
	for key, want := range map[string]string{
		"scsi0": "local:100/vm-100-disk-1.qcow2,size=2G", "scsi1": "local:100/vm-100-disk-2.qcow2,size=512M",
		"ide0": "local:iso/x.iso,media=cdrom,size=16582K", "ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom",
		"efidisk0":  "local:100/vm-100-disk-0.raw,efitype=4m,size=528K",
		"tpmstate0": "local:100/vm-100-disk-3.raw,size=4M,version=v2.0", "boot": "order=scsi0;ide0;net0",
	} {
		if conf[key] != want {
			t.Errorf("%s is %v", key, conf[key])
		}
	}
	net0, _ := conf["net0"].(string)
	if !strings.HasPrefix(net0, "virtio=BC:24:11:") {
		t.Errorf("net0 is %s", net0)
	}
	for _, key := range []string{"vmgenid", "smbios1", "meta"} {
		if conf[key] == nil {
			t.Errorf("%s was not made up", key)
		}
	}
}

func TestFailedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	exit := c.task("POST", "/nodes/pve1/qemu", "vmid=100", "scsi0=local:1", "scsi1=local:100/vm-100-disk-9.raw")
	if want := "unable to create VM 100 - volume 'local:100/vm-100-disk-9.raw' does not exist"; exit != want {
		t.Errorf("ends with %q", exit)
	}
	l.locked(func() {
		if l.guests[100] != nil || len(l.volumesOf("pve1", 100)) > 0 {
			t.Error("something is left of the VM")
		}
	})
	c.create("vmid=100")
	if _, reason := c.fails("POST", "/nodes/pve1/qemu", "vmid=100"); reason != "unable to create VM 100 - VM 100 already exists on node 'pve1'" {
		t.Errorf("the same id again: %s", reason)
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=local:2", "ide2=none,media=cdrom")
	for _, tc := range []struct{ disk, size, exit, after string }{
		{"scsi0", "3G", "OK", "size=3G"},
		{"scsi0", "+512M", "OK", "size=3584M"},
		{"scsi0", "3584M", "OK", "size=3584M"},
		{"scsi0", "1G", "shrinking disks is not supported", "size=3584M"},
		{"scsi9", "9G", "disk 'scsi9' does not exist", "size=3584M"},
		{"ide2", "9G", "you can't resize a cdrom", "size=3584M"},
	} {
		exit := c.task("PUT", "/nodes/pve1/qemu/100/resize", "disk="+tc.disk, "size="+tc.size)
		scsi0, _ := c.config("100")["scsi0"].(string)
		if exit != tc.exit || !strings.HasSuffix(scsi0, tc.after) {
			t.Errorf("%s %s ends with %q and leaves %s", tc.disk, tc.size, exit, scsi0)
		}
	}
}

func TestDetachedDisks(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=local:1", "scsi1=local:1")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=scsi1")
	if got := c.config("100")["unused0"]; got != "local:100/vm-100-disk-1.raw" {
		t.Errorf("unused0 is %v", got)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "scsi2=local:100/vm-100-disk-1.raw")
	conf := c.config("100")
	if conf["unused0"] != nil || conf["scsi2"] != "local:100/vm-100-disk-1.raw,size=1G" {
		t.Errorf("attached again: %v, %v", conf["unused0"], conf["scsi2"])
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=scsi2", "force=1")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=scsi0")
	c.must("PUT", "/nodes/pve1/qemu/100/unlink", "idlist=unused0")
	if conf = c.config("100"); conf["unused0"] != nil || conf["scsi0"] != nil || conf["boot"] != " " {
		t.Errorf("left: %v", conf)
	}
	l.locked(func() {
		if left := l.volumesOf("pve1", 100); len(left) > 0 {
			t.Errorf("%d volumes are left", len(left))
		}
	})
}

func TestMoveDisk(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=local:1")
	c.create("vmid=101")
	c.must("POST", "/nodes/pve1/qemu/100/move_disk", "disk=scsi0", "storage=nfs")
	conf := c.config("100")
	if conf["scsi0"] != "nfs:100/vm-100-disk-0.raw,size=1G" || conf["unused0"] != "local:100/vm-100-disk-0.raw" {
		t.Errorf("moved: %v, %v", conf["scsi0"], conf["unused0"])
	}
	var before, after string
	l.locked(func() { before = l.storages["nfs"].at("pve1")["nfs:100/vm-100-disk-0.raw"].contentID })
	c.must("POST", "/nodes/pve1/qemu/100/move_disk", "disk=scsi0", "target-vmid=101", "target-disk=virtio3")
	if got := c.config("101")["virtio3"]; got != "nfs:101/vm-101-disk-0.raw,size=1G" {
		t.Errorf("handed over: %v", got)
	}
	l.locked(func() { after = l.storages["nfs"].at("pve1")["nfs:101/vm-101-disk-0.raw"].contentID })
	if before != after {
		t.Error("the data got lost on the way")
	}
	if status, reason := c.fails("POST", "/nodes/pve1/qemu/101/move_disk", "disk=virtio3", "storage=nfs"); status != 500 ||
		reason != "you can't move to the same storage with same format" {
		t.Errorf("to where it is: %d %s", status, reason)
	}
}

func TestDestroy(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=local:1", "ide2=local:cloudinit", "protection=1")
	if _, reason := c.fails("DELETE", "/nodes/pve1/qemu/100"); reason != "can't remove VM 100 - protection mode enabled" {
		t.Errorf("protected: %s", reason)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=protection")
	c.start("100")
	if _, reason := c.fails("DELETE", "/nodes/pve1/qemu/100"); reason != "VM 100 is running - destroy failed" {
		t.Errorf("running: %s", reason)
	}
	c.must("POST", "/nodes/pve1/qemu/100/status/stop")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "delete=scsi0")
	l.locked(func() {
		if _, err := l.storages["nfs"].alloc("pve1", 100, "raw", "", 1<<20); err != nil {
			t.Fatal(err)
		}
	})
	c.must("DELETE", "/nodes/pve1/qemu/100")
	l.locked(func() {
		if left := l.volumesOf("pve1", 100); len(left) != 1 || left[0].storageID != "nfs" {
			t.Errorf("%d volumes are left, not only the unreferenced one", len(left))
		}
	})
	c.create("vmid=100")
	c.must("DELETE", "/nodes/pve1/qemu/100", "destroy-unreferenced-disks=1")
	l.locked(func() {
		if left := l.volumesOf("pve1", 100); len(left) > 0 {
			t.Errorf("%d volumes are left", len(left))
		}
	})
}

func TestBaseOfLinkedCloneStays(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.template()
	c.must("POST", "/nodes/pve1/qemu/9000/clone", "newid=101")
	want := "base volume 'local:9000/base-9000-disk-0.raw' is still in use by linked cloned"
	if exit := c.task("DELETE", "/nodes/pve1/qemu/9000"); exit != want {
		t.Errorf("ends with %q", exit)
	}
	c.must("DELETE", "/nodes/pve1/qemu/101")
	c.must("DELETE", "/nodes/pve1/qemu/9000")
}

func TestCloneToAnotherNode(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.template()
	c.create("vmid=9001", "scsi0=nfs:1")
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/9000/clone", "newid=101", "full=1", "target=pve2"); reason != "can't clone VM to node 'pve2' (VM uses local storage)" {
		t.Errorf("from a local storage: %s", reason)
	}
	if _, reason := c.fails("POST", "/nodes/pve1/qemu/9001/clone", "newid=101", "target=pve2", "storage=local"); reason != "can't clone to non-shared storage 'local'" {
		t.Errorf("to a local storage: %s", reason)
	}
	c.must("POST", "/nodes/pve1/qemu/9001/clone", "newid=101", "target=pve2")
	if a := c.call("GET", "/nodes/pve2/qemu/101/config", nil); a.status != http.StatusOK {
		t.Errorf("the clone is not on pve2: %s", a.reason)
	}
	if _, reason := c.fails("GET", "/nodes/pve1/qemu/101/config"); !strings.HasSuffix(reason, "does not exist") {
		t.Errorf("the clone is on pve1, too: %s", reason)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=nfs:1", "scsi1=local:1")
	c.must("POST", "/nodes/pve1/qemu/100/migrate", "target=pve2")
	if a := c.call("GET", "/nodes/pve2/qemu/100/config", nil); a.status != http.StatusOK {
		t.Fatalf("the VM is not on pve2: %s", a.reason)
	}
	l.locked(func() {
		if _, err := l.volume("pve2", "local:100/vm-100-disk-0.raw"); err != nil {
			t.Errorf("its local disk did not come along: %v", err)
		}
		if _, err := l.volume("pve1", "local:100/vm-100-disk-0.raw"); err == nil {
			t.Error("its local disk stayed behind")
		}
	})
	if a := c.call("POST", "/nodes/pve2/qemu/100/migrate", form("target=pve2")); a.errors["target"] != "target is local node." {
		t.Errorf("to itself: %v", a.errors)
	}
}

// TestMigrateRefuses: what binds a VM to its node, before the task and in it.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	l.locked(func() {
		if _, err := l.storages["local"].addFile("pve1", "iso/a.iso", 16979968); err != nil {
			t.Fatal(err)
		}
	})
	c.create("vmid=100", "scsi0=nfs:1", "ide2=local:cloudinit", "serial0=socket", "usb0=spice")
	conditions := func() map[string]any {
		answer, _ := c.must("GET", "/nodes/pve1/qemu/100/migrate", "target=pve2").(map[string]any)
		return answer
	}
	// An allowed node is listed in both places.
	if got := fmt.Sprint(conditions()["allowed_nodes"], conditions()["not_allowed_nodes"], conditions()["local_resources"]); got != "[pve2 pve3] map[pve2:map[] pve3:map[]] []" {
		t.Errorf("the VM may go to %s", got)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "usb1=mapping=stick")
	if got := fmt.Sprint(conditions()["local_resources"], conditions()["mapped-resources"], conditions()["mapped-resource-info"]); got != "[usb1] [usb1] map[usb1:map[name:stick]]" {
		t.Errorf("it is bound by %s", got)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "ide3=local:iso/a.iso,media=cdrom")
	if exit := c.task("POST", "/nodes/pve1/qemu/100/migrate", "target=pve2"); exit != "migration aborted" {
		t.Errorf("with an image of its node the migration ends with %q", exit)
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "ide3=none,media=cdrom")
	c.must("POST", "/nodes/pve1/qemu/100/migrate", "target=pve2") // A mapped device stays behind.
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100", "scsi0=local:1,format=qcow2", "memory=64")
	c.must("POST", "/nodes/pve1/qemu/100/snapshot", "snapname=s1", "description=first")
	c.must("PUT", "/nodes/pve1/qemu/100/resize", "disk=scsi0", "size=2G")
	c.must("PUT", "/nodes/pve1/qemu/100/config", "memory=128", "scsi1=local:1", "description=kept")
	c.must("POST", "/nodes/pve1/qemu/100/snapshot/s1/rollback")
	conf := c.config("100")
	if conf["memory"] != "64" || conf["scsi0"] != "local:100/vm-100-disk-0.qcow2,size=1G" || conf["description"] != "kept" ||
		conf["unused0"] != "local:100/vm-100-disk-1.raw" || conf["parent"] != "s1" {
		t.Errorf("rolled back to %v", conf)
	}
	if exit := c.task("POST", "/nodes/pve1/qemu/100/snapshot", "snapname=s1"); exit != "snapshot name 's1' already used" {
		t.Errorf("the same name ends with %q", exit)
	}
	c.must("DELETE", "/nodes/pve1/qemu/100/snapshot/s1")
	if c.config("100")["parent"] != nil {
		t.Error("a deleted snapshot is still the parent")
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "scsi1=local:100/vm-100-disk-1.raw")
	if exit := c.task("POST", "/nodes/pve1/qemu/100/snapshot", "snapname=s2"); exit != "snapshot feature is not available" {
		t.Errorf("of a raw disk ends with %q", exit)
	}
}
