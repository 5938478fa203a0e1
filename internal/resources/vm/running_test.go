package vm_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// TestAttach gives a volume that was detached a slot again, with what is on it.
func TestAttach(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	with := func(disks block) block {
		disks["scsi0"] = block{}
		return config(block{"power": nil, "disks": disks})
	}
	d.refused(t, with(block{"scsi1": block{"attach": "local-lvm:vm-9999-disk-0"}}), "is no unused volume of the VM", "It has no unused volumes")
	d.apply(t, with(block{"scsi1": block{"size_gib": 1, "storage": "local-lvm"}}))
	d.awaitBoot(t)
	d.apply(t, with(block{}))
	const volume = "local-lvm:vm-20000-disk-0"
	d.has(t, map[string]string{"scsi1": "", "unused0": volume})
	d.refused(t, with(block{"scsi2": block{"attach": "local-lvm:vm-9999-disk-0"}}), "is no unused volume of the VM", "It has these: "+volume)
	d.refused(t, with(block{"scsi2": block{"attach": volume, "size_gib": 2}}), "size_gib of scsi2 is what the volume has", "change it afterwards")
	d.refused(t, config(block{"power": nil, "disks": block{"scsi0": block{"attach": volume}}}), "scsi0 has a volume already")

	d.apply(t, with(block{"scsi2": block{"attach": volume, "ssd": true}}))
	d.has(t, map[string]string{"scsi2": volume + ",size=1G,ssd=1", "unused0": ""})
	d.apply(t, with(block{"scsi2": block{"attach": volume, "size_gib": 2, "ssd": true}}))
	d.apply(t, with(block{"scsi2": block{"attach": volume, "size_gib": 2, "ssd": true, "storage": "shared-nfs"}}))
	d.has(t, map[string]string{"scsi2": "shared-nfs:20000/vm-20000-disk-1.raw,size=2G,ssd=1", "unused0": ""})
	if plan, diagnostics := d.Plan(t, nil); plan == nil {
		t.Errorf("the disk does not go with the VM: %s", diagnostics)
	}
}

// TestPendingOnlyDisks: a disk that somebody has added and that waits for the next
// start is unknown, too.
func TestPendingOnlyDisks(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, config(block{"power": nil}))
	must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{"ide1": "local-lvm:1"}))
	if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if waits := fmt.Sprint(d.State["reboot_required"]); waits != "[ide1]" {
		t.Fatalf("waiting is %s: the test proves nothing", waits)
	}
	if plan, diagnostics := d.Plan(t, nil); plan != nil || !strings.Contains(diagnostics.String(), "ide1=local-lvm:vm-20000-disk-0") {
		t.Errorf("got %s", diagnostics)
	}
}

// TestDisksOfARunningVM: all is done in place, nothing waits, nothing restarts.
func TestDisksOfARunningVM(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	with := func(disks block) block {
		disks["scsi0"] = block{}
		return config(block{"power": nil, "disks": disks, "cpu": block{"cores": 2}})
	}
	d.apply(t, with(block{}))
	started := d.uptimeTask(t)
	d.awaitBoot(t)
	d.apply(t, with(block{
		"scsi1": block{"size_gib": 1, "storage": "local-lvm", "limits": block{"iops": 100}}, "scsi2": block{"size_gib": 1, "storage": "shared-nfs", "on_removal": "destroy"},
	}))
	d.has(t, map[string]string{"scsi1": "local-lvm:vm-20000-disk-0,iops=100,size=1G", "scsi2": "shared-nfs:20000/vm-20000-disk-1.raw,size=1G"})
	d.apply(t, with(block{
		"scsi1": block{"size_gib": 3, "storage": "shared-nfs", "format": "qcow2"}, "scsi2": block{"size_gib": 1, "on_removal": "destroy"},
	}))
	d.has(t, map[string]string{"scsi1": "shared-nfs:20000/vm-20000-disk-2.qcow2,size=3G", "unused0": ""})
	d.apply(t, with(block{}))
	d.has(t, map[string]string{"scsi1": "", "scsi2": "", "unused0": "shared-nfs:20000/vm-20000-disk-2.qcow2"})
	if waits := d.State["reboot_required"].([]any); len(waits) != 0 {
		t.Errorf("waiting are %v", waits)
	}
	if again := d.uptimeTask(t); again != started {
		t.Errorf("the VM was started again: %s, then %s", started, again)
	}
	d.refused(t, config(block{"power": nil, "disks": block{}, "cpu": block{"cores": 2}}), "scsi0 cannot be removed")
}

// TestWhatAVMKeeps: PVE would take these away without a word.
func TestWhatAVMKeeps(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	all := block{
		"boot_order": []any{"scsi0"}, "disks": block{"scsi0": block{}, "scsi1": block{"size_gib": 1, "storage": "local-lvm"}},
		"network": block{"net0": block{}, "net1": block{"bridge": "vmbr1"}}, "cloud_init": block{"user": "ops"},
	}
	with := func(changes block) block {
		changed := maps.Clone(all)
		maps.Copy(changed, changes)
		return config(changed)
	}
	drive := block{"ide2": block{"volume_id": "none"}}
	d.refused(t, with(block{"cdrom": drive}), "ide2 is the cloud-init drive and cannot be removed", "use seed instead")
	d.apply(t, config(all))
	for _, refusal := range []struct {
		changes block
		words   []string
	}{
		{block{"disks": block{"scsi1": all["disks"].(block)["scsi1"]}}, []string{"scsi0 cannot be removed", "boots from", "change boot_order first"}},
		{block{"network": block{"net1": block{"bridge": "vmbr1"}}}, []string{"net0 cannot be removed", "first network device", "Set link_down"}},
		{block{"network": nil}, []string{"net0 cannot be removed"}},
		{block{"cdrom": drive}, []string{"ide2 is the cloud-init drive and cannot be removed", "use seed instead"}},
	} {
		d.refused(t, with(refusal.changes), refusal.words...)
	}
	// What is no longer configured takes nothing away, nor does all the rest stand
	// in the way.
	d.apply(t, with(block{"cloud_init": nil, "boot_order": []any{"scsi1"}, "network": block{"net0": block{"link_down": true}}}))
	d.has(t, map[string]string{"ciuser": "", "ide2": "shared-nfs:20000/vm-20000-cloudinit.qcow2,media=cdrom,size=4M", "net1": ""})
	d.apply(t, with(block{"cloud_init": nil, "boot_order": []any{"scsi1"}, "disks": block{"scsi1": block{}}, "cdrom": drive}))
	d.has(t, map[string]string{"scsi0": "", "ide2": "none,media=cdrom"})
}

// TestGrowthOutlivesWhatWaits: a change of a disk that waits for the next start
// holds the size of before, and takes nothing back of what the disk grew by.
func TestGrowthOutlivesWhatWaits(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	with := func(size int, cache string) block {
		return config(block{"power": nil, "disks": block{"scsi0": block{"size_gib": size, "cache": cache}}})
	}
	d.apply(t, with(5, "none"))
	d.apply(t, with(5, "writeback"))
	if waits := fmt.Sprint(d.State["reboot_required"]); waits != "[scsi0]" {
		t.Fatalf("waiting is %s: the test proves nothing", waits)
	}
	started := d.uptimeTask(t)
	d.apply(t, with(7, "writeback"))
	if again := d.uptimeTask(t); again != started {
		t.Errorf("the VM was started again: %s, then %s", started, again)
	}
	must(t, d.lab.Hand.Power(t.Context(), 20000, "stop"))
	if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	d.apply(t, with(7, "writeback"))
	grown := d.real(t)["scsi0"]
	if !strings.Contains(grown, "size=7G") || !strings.Contains(grown, "cache=writeback") {
		t.Errorf("scsi0 is %s", grown)
	}

	// Where that has happened before: growing it to what it has changes nothing.
	must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{"scsi0": strings.Replace(grown, "size=7G", "size=5G", 1)}))
	if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	d.apply(t, with(7, "writeback"))
	d.has(t, map[string]string{"scsi0": grown})
}

// uptimeTask is the last task that started the guest.
func (d *device) uptimeTask(t *testing.T) string {
	t.Helper()
	var tasks []struct {
		UPID string `json:"upid"`
	}
	must(t, d.lab.Hand.Call(t.Context(), "GET", "/nodes/pve1/tasks", byhand.Params{"typefilter": "qmstart"}, &tasks))
	if len(tasks) == 0 {
		t.Fatal("nothing was started")
	}
	return tasks[0].UPID
}

// awaitBoot waits for the guest's system, without which nothing is unplugged.
func (d *device) awaitBoot(t *testing.T) {
	t.Helper()
	for range 1000 {
		if d.lab.Hand.Call(t.Context(), "POST", fmt.Sprintf("/nodes/pve1/qemu/%v/agent/ping", d.State["vmid"]), nil, nil) == nil {
			return
		}
	}
	t.Fatal("the agent never answers")
}

// TestRefusedChangeIsTakenBack: PVE keeps what it refuses to do on a running VM
// pending, until somebody stops the VM.
func TestRefusedChangeIsTakenBack(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	disks := block{"scsi0": block{}, "scsi1": block{"size_gib": 1, "storage": "local-lvm"}}
	d.apply(t, config(block{"power": nil, "disks": disks, "boot_order": []any{"scsi0", "scsi1"}}))
	d.awaitBoot(t)
	diagnostics := d.try(t, config(block{"power": nil, "disks": block{"scsi0": block{}}, "boot_order": []any{"scsi0"}}))
	if !strings.Contains(diagnostics.String(), "can't unplug bootdisk 'scsi1'") {
		t.Fatalf("got %s", diagnostics)
	}
	var pending []map[string]any
	must(t, d.lab.Hand.Call(t.Context(), "GET", "/nodes/pve1/qemu/20000/pending", nil, &pending))
	for _, each := range pending {
		if each["pending"] != nil || each["delete"] != nil {
			t.Errorf("still pending: %v", each)
		}
	}
	d.has(t, map[string]string{"scsi1": "local-lvm:vm-20000-disk-0,size=1G", "boot": "order=scsi0;scsi1"})
}
