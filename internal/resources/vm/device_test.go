package vm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

type block = protocol.Object

// device is a VM on a lab of its own.
type device struct {
	*protocol.Resource
	lab *protocol.Lab
}

var idRange = block{"vmid_range": block{"first": 20000, "last": 20099}}

func newDevice(t *testing.T, version string) *device {
	t.Helper()
	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 1000}, provider.New("test")(), "full", idRange)
	return &device{lab.Manage(t, "proxmox_vm"), lab}
}

// config is a VM's configuration with some attributes; it is stopped unless they
// say otherwise.
func config(attributes block) block {
	all := block{"name": "device", "vmid": 20000, "template": 9000, "power": "stopped"}
	maps.Copy(all, attributes)
	return all
}

// apply applies a configuration, after which the plan has to be empty.
func (d *device) apply(t *testing.T, config block) {
	t.Helper()
	if diagnostics := d.try(t, config); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if diagnostics := d.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if again, diagnostics := d.Plan(t, config); again == nil || !again.Empty() {
		t.Fatalf("the plan is not empty: %v %s", again.Changes(t), diagnostics)
	}
}

func (d *device) try(t *testing.T, config block) protocol.Diagnostics {
	t.Helper()
	plan, diagnostics := d.Plan(t, config)
	if plan == nil {
		return diagnostics
	}
	return append(diagnostics, plan.Apply(t)...)
}

// refused wants a plan that fails with the words.
func (d *device) refused(t *testing.T, config block, words ...string) {
	t.Helper()
	plan, diagnostics := d.Plan(t, config)
	if plan != nil {
		t.Errorf("planned in spite of %v", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(diagnostics.String(), word) {
			t.Errorf("%q is missing in %s", word, diagnostics)
		}
	}
}

// real is the guest's configuration over the API.
func (d *device) real(t *testing.T) map[string]string {
	t.Helper()
	vmid, _ := d.State["vmid"].(float64)
	real, err := d.lab.Hand.Config(t.Context(), int(vmid))
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// has holds the guest's configuration against what is wanted of it; "" is not
// there.
func (d *device) has(t *testing.T, want map[string]string) {
	t.Helper()
	real := d.real(t)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got := strings.TrimPrefix(real[key], "uuid="+uuidOf(real["smbios1"])+","); got != want[key] {
			t.Errorf("%s is %q, want %q", key, got, want[key])
		}
	}
}

func uuidOf(smbios string) string {
	uuid, _, _ := strings.Cut(strings.TrimPrefix(smbios, "uuid="), ",")
	return uuid
}

// hardware is at least one setting of every kind, and PVE's keys for them.
var hardware = block{
	"os_type": "win11", "bios": "ovmf", "scsi_controller": "virtio-scsi-pci", "boot_order": []any{"scsi0", "net0"},
	"hotplug": []any{}, "tablet": false, "keyboard": "de-ch", "local_time": true, "start_date": "2006-06-17T16:01:21",
	"time_drift_fix": true, "acpi": false, "kvm": false, "allow_reboot": false, "freeze_at_startup": true, "vm_state_storage": "local-lvm",
	"protection": true, "on_boot": true,
	"cpu": block{
		"cores": 4, "sockets": 2, "vcpus": 6, "type": "host", "flags": []any{"+aes", "-pcid"}, "hidden": true, "hv_vendor_id": "proxmox", "phys_bits": "40",
		"limit": 1.5, "units": 500, "numa": true,
	},
	"memory":     block{"mib": 4096, "balloon_mib": 1024, "shares": 500},
	"numa_nodes": block{"numa0": block{"cpus": []any{"0-3"}, "memory_mib": 2048.0, "host_nodes": []any{"0"}, "policy": "bind"}},
	"agent":      block{"enabled": true, "type": "isa", "fstrim_cloned_disks": true, "freeze_fs": false},
	"startup":    block{"order": 3, "up_seconds": 30, "down_seconds": 60},
	"migration":  block{"downtime_seconds": 0.5, "speed_mbps": 100},
	"machine":    block{"type": "pc-q35-8.1", "viommu": "intel", "enable_s3": true, "enable_s4": false},
	"smbios":     block{"manufacturer": "Hold, fast", "serial": "7"},
	"efi_disk":   block{"storage": "local-lvm", "type": "4m", "pre_enrolled_keys": true},
	"tpm":        block{"storage": "shared-nfs", "version": "v2.0"},
	"vga":        block{"type": "virtio", "memory_mib": 32, "clipboard": "vnc"},
	"audio":      block{"device": "intel-hda", "driver": "none"},
	"rng":        block{"source": "/dev/urandom", "max_bytes": 2048, "period_ms": 500},
	"watchdog":   block{"model": "ib700", "action": "poweroff"},
	"serial":     block{"serial1": block{}},
	"usb":        block{"usb0": block{"host": "spice", "usb3": true}, "usb1": block{"mapping": "dongle"}},
	"pci":        block{"hostpci0": block{"mapping": "gpu", "pcie": true, "rombar": false, "primary_gpu": true, "vendor_id": "0x10de"}},
	"virtiofs":   block{"virtiofs0": block{"mapping": "share", "cache": "always", "direct_io": true, "expose_acl": true}},
	"network": block{"net0": block{
		"model": "e1000", "mac_address": "BC:24:11:00:00:99", "bridge": "vmbr1", "vlan": 7, "trunks": []any{"10", "20-29"}, "firewall": true,
		"rate_mbps": 12.5, "mtu": 1400, "queues": 2, "link_down": true,
	}},
	"cloud_init": block{"user": "ops", "type": "configdrive2", "custom": block{"user": "local:snippets/user.yaml", "vendor": "local:snippets/vendor.yaml"}},
	"disks": block{"scsi1": block{
		"size_gib": 1.5, "storage": "shared-nfs", "format": "qcow2", "cache": "writeback", "aio": "threads", "discard": true, "detect_zeroes": false,
		"ssd": true, "iothread": true, "queues": 4, "read_only": true, "backup": false, "replicate": false, "serial": "WD-1", "wwn": "0x5000c50015ea71aa",
		"vendor": "ACME", "product": "fast", "scsi_block": true, "snapshot": true, "read_error": "stop", "write_error": "enospc", "on_removal": "destroy",
		"limits": block{"mbps_read": 10.5, "mbps_read_max": 20, "mbps_read_max_seconds": 5, "iops": 100, "iops_max": 200, "iops_max_seconds": 3},
	}},
}

var hardwareKeys = map[string]string{
	"ostype": "win11", "bios": "ovmf", "scsihw": "virtio-scsi-pci", "boot": "order=scsi0;net0", "hotplug": "0", "tablet": "0", "keyboard": "de-ch",
	"localtime": "1", "startdate": "2006-06-17T16:01:21", "tdf": "1", "acpi": "0", "kvm": "0", "reboot": "0", "freeze": "1", "vmstatestorage": "local-lvm",
	"protection": "1", "onboot": "1",
	"cores": "4", "sockets": "2", "vcpus": "6", "cpu": "host,flags=+aes;-pcid,hidden=1,hv-vendor-id=proxmox,phys-bits=40", "cpulimit": "1.5", "cpuunits": "500", "numa": "1",
	"memory": "4096", "balloon": "1024", "shares": "500", "numa0": "cpus=0-3,memory=2048,hostnodes=0,policy=bind",
	"agent": "enabled=1,type=isa,fstrim_cloned_disks=1,freeze-fs-on-backup=0", "startup": "3,up=30,down=60", "migrate_downtime": "0.5", "migrate_speed": "100",
	"machine": "pc-q35-8.1,viommu=intel,enable-s3=1,enable-s4=0", "smbios1": "base64=1,manufacturer=SG9sZCwgZmFzdA==,serial=Nw==",
	"efidisk0": "local-lvm:vm-20000-disk-0,efitype=4m,pre-enrolled-keys=1,size=528K", "tpmstate0": "shared-nfs:20000/vm-20000-disk-2.raw,size=4M,version=v2.0",
	"vga": "virtio,memory=32,clipboard=vnc", "audio0": "device=intel-hda,driver=none", "rng0": "/dev/urandom,max_bytes=2048,period=500",
	"watchdog": "ib700,action=poweroff", "serial1": "socket", "usb0": "spice,usb3=1", "usb1": "mapping=dongle",
	"hostpci0":  "mapping=gpu,pcie=1,rombar=0,x-vga=1,vendor-id=0x10de",
	"virtiofs0": "share,cache=always,direct-io=1,expose-acl=1", "ciuser": "ops", "citype": "configdrive2",
	"cicustom": "user=local:snippets/user.yaml,vendor=local:snippets/vendor.yaml",
	"net0":     "e1000=BC:24:11:00:00:99,bridge=vmbr1,firewall=1,link_down=1,mtu=1400,queues=2,rate=12.5,tag=7,trunks=10;20-29",
	"scsi1": "shared-nfs:20000/vm-20000-disk-1.qcow2,aio=threads,backup=0,bps_rd_max_length=5,cache=writeback,detect_zeroes=0,discard=on,iops=100,iops_max=200," +
		"iops_max_length=3,iothread=1,mbps_rd=10.5,mbps_rd_max=20,product=fast,queues=4,replicate=0,rerror=stop,ro=1,scsiblock=1,serial=WD-1,size=1536M,snapshot=1,ssd=1," +
		"vendor=ACME,werror=enospc,wwn=0x5000c50015ea71aa",
}

// TestHardware sets everything, and takes it away again.
func TestHardware(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, version)
			d.apply(t, config(hardware))
			d.has(t, hardwareKeys)
			uuid := d.State.At(t, "smbios")["uuid"]
			d.refused(t, config(block{"network": hardware["network"], "protection": true}), "The VM is protected")

			d.apply(t, config(block{"network": block{"net0": block{}}}))
			d.has(t, map[string]string{
				"ostype": "", "bios": "", "scsihw": "", "boot": "", "hotplug": "", "tablet": "", "cpulimit": "", "cpuunits": "", "numa": "", "numa0": "",
				"cores": "", "cpu": "kvm64", "memory": "", "balloon": "", "agent": "enabled=0", "startup": "", "machine": "", "efidisk0": "", "tpmstate0": "",
				"vga": "", "audio0": "", "rng0": "", "watchdog": "", "serial1": "", "serial0": "socket", "usb0": "", "hostpci0": "", "virtiofs0": "",
				"ciuser": "", "citype": "", "cicustom": "", "scsi1": "", "protection": "", "net0": "virtio=BC:24:11:00:00:99,bridge=vmbr1",
			})
			if got := d.real(t)["smbios1"]; got != fmt.Sprint("uuid=", uuid) {
				t.Errorf("smbios1 is %q, the uuid was %v", got, uuid)
			}
			unused := map[string]bool{}
			for key, value := range d.real(t) {
				if strings.HasPrefix(key, "unused") {
					unused[value] = true
				}
			}
			if len(unused) != 2 || !unused["local-lvm:vm-20000-disk-0"] {
				t.Errorf("unused are %v: the EFI variables and the TPM's state are kept, the disk is destroyed", unused)
			}
		})
	}
}

// TestSince: PVE 9 knows it, PVE 8 does not.
func TestSince(t *testing.T) {
	t.Parallel()
	given := block{
		"memory":  block{"allow_ksm": false},
		"cpu":     block{"type": "host", "guest_phys_bits": 40, "level": 30},
		"machine": block{"type": "q35", "viommu": "intel", "aw_bits": 48},
		"network": block{"net0": block{"mac_address": "BC:24:11:00:00:99", "host_tunnel": true}},
		"pci":     block{"hostpci0": block{"mapping": "gpu", "driver": "keep"}},
	}
	nine, eight := newDevice(t, "9.2"), newDevice(t, "8.4")
	nine.apply(t, config(given))
	nine.has(t, map[string]string{
		"allow-ksm": "0", "cpu": "host,guest-phys-bits=40,level=30", "machine": "q35,viommu=intel,aw-bits=48",
		"net0": "virtio=BC:24:11:00:00:99,bridge=vmbr0,host-tunnel=1", "hostpci0": "mapping=gpu,driver=keep",
	})
	for name, at := range map[string]string{
		"memory": "memory.allow_ksm", "cpu": "cpu.guest_phys_bits", "machine": "machine.aw_bits", "network": `network["net0"].host_tunnel`, "pci": `pci["hostpci0"].driver`,
	} {
		eight.refused(t, config(block{name: given[name]}), "PVE 8 does not know "+at)
	}
}

// TestMachineRefused: PVE refuses it when the guest has been made, the plan before.
func TestMachineRefused(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	for _, refusal := range []struct {
		machine block
		word    string
	}{
		{block{"type": "pc-i440fx-9.0", "viommu": "intel"}, "needs q35"},
		{block{"type": "q35", "viommu": "intel", "aw_bits": 40}, "39 and 48"},
	} {
		d.refused(t, config(block{"machine": refusal.machine}), refusal.word)
	}
	// What the template has is not known before the clone.
	diagnostics := d.try(t, config(block{"machine": block{"aw_bits": 40}}))
	if !strings.Contains(diagnostics.String(), "cannot set aw-bits if no vIOMMU is configured") {
		t.Errorf("got %s", diagnostics)
	}
	d.apply(t, config(block{"machine": block{"viommu": "virtio", "aw_bits": 40}}))
	d.refused(t, config(block{"cpu": block{"units": 10001}}), "10000")
	d.refused(t, config(block{"machine": block{"aw_bits": 40}}), "There is no virtual IOMMU")
}

// TestRootOnly: each is refused in the plan, by name, except to root signed in
// with its password.
func TestRootOnly(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	for at, attributes := range map[string]block{
		"cpu.affinity":                      {"cpu": block{"affinity": "0,2-3"}},
		"memory.hugepages":                  {"memory": block{"hugepages": "2"}},
		"memory.keep_hugepages":             {"memory": block{"keep_hugepages": true}},
		"hook_script":                       {"hook_script": "local:snippets/hook.pl"},
		"args":                              {"args": "-no-reboot"},
		`serial["serial1"].device`:          {"serial": block{"serial1": block{"device": "/dev/ttyS0"}}},
		`usb["usb0"].host`:                  {"usb": block{"usb0": block{"host": "1234:5678"}}},
		`pci["hostpci0"].host`:              {"pci": block{"hostpci0": block{"host": "0000:01:00.0"}}},
		`pci["hostpci0"].rom_file`:          {"pci": block{"hostpci0": block{"mapping": "gpu", "rom_file": "vbios.bin"}}},
		"architecture":                      {"architecture": "aarch64"},
		`parallel["parallel0"].device`:      {"parallel": block{"parallel0": block{"device": "/dev/parport0"}}},
		"shared_memory.size_mib":            {"shared_memory": block{"size_mib": 16}},
		"spice_enhancements.folder_sharing": {"spice_enhancements": block{"folder_sharing": true}},
		"amd_sev.type":                      {"amd_sev": block{"type": "snp"}},
		"intel_tdx.attestation":             {"intel_tdx": block{"type": "tdx", "attestation": true}},
	} {
		d.refused(t, config(attributes), "Only root@pam can set "+at, "signed in with its password")
	}

	lab := d.lab
	root := protocol.New(t, provider.New("test")())
	settings := block{
		"endpoint": lab.URL(), "ca_pem": string(lab.CAPEM()), "username": "root@pam", "password": lab.RootPassword(), "vmid_range": idRange["vmid_range"],
	}
	if diagnostics := root.Configure(t, settings); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	owned := &device{root.Manage(t, "proxmox_vm"), lab}
	given := block{
		"cpu": block{"affinity": "0,2-3", "numa": true}, "memory": block{"hugepages": "2"}, "args": "-no-reboot", "usb": block{"usb0": block{"host": "1234:5678"}},
		"architecture": "x86_64", "parallel": block{"parallel0": block{"device": "/dev/parport0"}}, "shared_memory": block{"size_mib": 16, "name": "ring"},
		"spice_enhancements": block{"folder_sharing": true, "video_streaming": "filter"}, "amd_sev": block{"type": "snp", "allow_smt": false},
		"intel_tdx": block{"type": "tdx", "attestation": false, "vsock_port": 4051},
	}
	owned.apply(t, config(given))
	owned.has(t, map[string]string{
		"affinity": "0,2-3", "hugepages": "2", "args": "-no-reboot", "usb0": "1234:5678", "arch": "x86_64", "parallel0": "/dev/parport0", "ivshmem": "size=16,name=ring",
		"spice_enhancements": "foldersharing=1,videostreaming=filter", "amd-sev": "snp,allow-smt=0", "intel-tdx": "tdx,attestation=0,vsock-port=4051",
	})

	// A token may leave it all as it is, and take nothing of it away.
	owned.HandTo(lab.Server)
	given["tags"] = []any{"a"}
	owned.apply(t, config(given))
	for at, without := range map[string]block{
		"args":                   {"args": nil},
		"cpu.affinity":           {"cpu": block{"numa": true}},
		`usb["usb0"].host`:       {"usb": block{}},
		"shared_memory.size_mib": {"shared_memory": nil},
	} {
		changed := maps.Clone(given)
		maps.Copy(changed, without)
		owned.refused(t, config(changed), "Only root@pam can remove "+at)
	}
	owned.HandTo(root)
	owned.apply(t, config(block{}))
	owned.has(t, map[string]string{
		"affinity": "", "hugepages": "", "args": "", "usb0": "", "arch": "", "parallel0": "", "ivshmem": "", "spice_enhancements": "", "amd-sev": "", "intel-tdx": "",
	})
}

// TestConfiguredStandsInPVE: a value is written although PVE would take it
// anyway, so that it stays when somebody changes a default, or another tool
// looks.
func TestConfiguredStandsInPVE(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	must(t, d.lab.Hand.CreateVM(context.Background(), "pve1", 9500, byhand.Params{"name": "bare", "scsi0": "local-lvm:1", "boot": "order=scsi0"}))
	must(t, d.lab.Hand.Call(t.Context(), "POST", "/nodes/pve1/qemu/9500/template", nil, nil))
	d.apply(t, config(block{"template": 9500, "cpu": block{"cores": 1}, "tablet": true, "on_boot": false, "disks": block{"scsi0": block{"backup": true}}}))
	d.has(t, map[string]string{"cores": "1", "tablet": "1", "onboot": "0", "sockets": "", "scsi0": "local-lvm:vm-20000-disk-0,backup=1,size=1G"})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
