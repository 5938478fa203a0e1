package template

import (
	"slices"
	"testing"

	"terraform-provider-proxmox/internal/proxmox"
)

func TestFromConfig(t *testing.T) {
	t.Parallel()

	config := &proxmox.GuestConfig{Node: "pve1", VMID: 9000, Current: map[string]string{
		"name":    "debian-13",
		"tags":    "prod;base",
		"boot":    "order=ide2;net0;scsi1;scsi0",
		"scsi0":   "local-lvm:base-9000-disk-0,size=20G",
		"scsi1":   "local-lvm:base-9000-disk-1,size=51200K",
		"ide2":    "local:iso/debian.iso,media=cdrom,size=16582K",
		"ide0":    "local-lvm:vm-9000-cloudinit,media=cdrom",
		"net0":    "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"unused0": "local-lvm:vm-9000-disk-2",
	}}
	m := fromConfig(config, []proxmox.NodeStorage{{Storage: "local-lvm"}})

	if m.VMID != 9000 || m.Name != "debian-13" || m.Node != "pve1" {
		t.Errorf("got %d %q on %q", m.VMID, m.Name, m.Node)
	}
	if !slices.Equal(m.Tags, []string{"base", "prod"}) {
		t.Errorf("tags %v", m.Tags)
	}
	if m.BootDisk == nil || *m.BootDisk != "scsi1" {
		t.Errorf("boot disk %v, want the first disk of the order, scsi1", m.BootDisk)
	}
	if len(m.Disks) != 2 || *m.Disks["scsi0"].SizeGiB != 20 || *m.Disks["scsi1"].SizeGiB != 0.048828125 {
		t.Errorf("disks %v", m.Disks)
	}
	if nic := m.Network["net0"]; nic.Model != "virtio" || *nic.Bridge != "vmbr0" {
		t.Errorf("net0 %v", nic)
	}
	if !m.CloudInit {
		t.Error("the cloud-init drive is not seen")
	}
}

func TestFromBareConfig(t *testing.T) {
	t.Parallel()

	m := fromConfig(&proxmox.GuestConfig{Node: "pve1", VMID: 9000, Current: map[string]string{"tags": " "}}, nil)
	if m.BootDisk != nil || m.CloudInit || len(m.Disks) != 0 || m.Tags == nil || len(m.Tags) != 0 {
		t.Errorf("boot disk %v, cloud-init %t, disks %v, tags %v: want none", m.BootDisk, m.CloudInit, m.Disks, m.Tags)
	}
}

func TestAllShared(t *testing.T) {
	t.Parallel()

	local, nfs := proxmox.NodeStorage{Storage: "local-lvm"}, proxmox.NodeStorage{Storage: "nfs", Shared: true}
	onLocal, onNFS := diskModel{Storage: "local-lvm"}, diskModel{Storage: "nfs"}
	for name, test := range map[string]struct {
		disks map[string]diskModel
		known []proxmox.NodeStorage
		want  string
	}{
		"all shared":               {map[string]diskModel{"scsi0": onNFS}, []proxmox.NodeStorage{local, nfs}, "yes"},
		"one not":                  {map[string]diskModel{"scsi0": onNFS, "scsi1": onLocal}, []proxmox.NodeStorage{local, nfs}, "no"},
		"a storage nobody may see": {map[string]diskModel{"scsi0": onNFS}, []proxmox.NodeStorage{local}, "unknown"},
	} {
		got := "unknown"
		if shared := allShared(test.disks, test.known); shared != nil {
			got = map[bool]string{true: "yes", false: "no"}[*shared]
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
