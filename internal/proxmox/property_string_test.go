package proxmox

import (
	"strings"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func TestDisk(t *testing.T) {
	t.Parallel()
	const written = "local:140/vm-140-disk-1.qcow2,backup=0,cache=writeback,discard=on,iothread=1,replicate=0,size=1G,ssd=1"
	d, err := ParseDisk(written)
	if err != nil {
		t.Fatal(err)
	}
	if d.Volume != "local:140/vm-140-disk-1.qcow2" || *d.Size != Size(1<<30) || !*d.SSD || *d.Backup || !bool(*d.Discard) || d.Media != nil {
		t.Errorf("read %+v", d)
	}
	if d.Storage() != "local" || d.IsCDROM() || d.IsCloudInit() {
		t.Errorf("storage %q, CD-ROM %v, cloud-init %v", d.Storage(), d.IsCDROM(), d.IsCloudInit())
	}
	if got := d.String(); got != written {
		t.Errorf("an unchanged drive is written %q", got)
	}
	d.SSD, d.Size, d.Serial = nil, ptr(Size(20<<30)), ptr("abc")
	want := "local:140/vm-140-disk-1.qcow2,backup=0,cache=writeback,discard=on,iothread=1,replicate=0,size=20G,serial=abc"
	if got := d.String(); got != want {
		t.Errorf("changed:\n got %s\nwant %s", got, want)
	}
}

func TestRewriteKeepsWhatIsNotModelled(t *testing.T) {
	t.Parallel()
	d, err := ParseDisk("local:140/vm-140-disk-1.raw,detect_zeroes=0,size=1G,wwn=0x5000c50015ea71aa")
	if err != nil {
		t.Fatal(err)
	}
	d.Discard = ptr(OnOff(true))
	d.Volume = "local:140/vm-140-disk-2.raw"
	want := "local:140/vm-140-disk-2.raw,detect_zeroes=0,size=1G,wwn=0x5000c50015ea71aa,discard=on"
	if got := d.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestNIC(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		written string
		change  func(*NIC)
		want    string
	}{
		"unchanged":    {"virtio=BC:24:11:D7:08:9E,bridge=vmbr0,firewall=1", func(*NIC) {}, "virtio=BC:24:11:D7:08:9E,bridge=vmbr0,firewall=1"},
		"bridge":       {"virtio=BC:24:11:D7:08:9E,bridge=vmbr0,queues=2", func(n *NIC) { n.Bridge = ptr("vmbr1") }, "virtio=BC:24:11:D7:08:9E,bridge=vmbr1,queues=2"},
		"model":        {"virtio=BC:24:11:D7:08:9E,bridge=vmbr0", func(n *NIC) { n.Model = "e1000" }, "e1000=BC:24:11:D7:08:9E,bridge=vmbr0"},
		"address":      {"bridge=vmbr0,virtio=BC:24:11:D7:08:9E", func(n *NIC) { n.MAC = ptr("bc:24:11:00:00:01") }, "bridge=vmbr0,virtio=bc:24:11:00:00:01"},
		"new address":  {"virtio=BC:24:11:D7:08:9E,bridge=vmbr0", func(n *NIC) { n.MAC = nil }, "virtio,bridge=vmbr0"},
		"first MAC":    {"virtio,bridge=vmbr0", func(n *NIC) { n.MAC = ptr("BC:24:11:00:00:01") }, "virtio=BC:24:11:00:00:01,bridge=vmbr0"},
		"long form":    {"model=virtio,macaddr=BC:24:11:00:00:01,bridge=vmbr0", func(*NIC) {}, "model=virtio,macaddr=BC:24:11:00:00:01,bridge=vmbr0"},
		"long, edited": {"model=virtio,bridge=vmbr0,macaddr=BC:24:11:00:00:01", func(n *NIC) { n.Model = "e1000" }, "e1000=BC:24:11:00:00:01,bridge=vmbr0"},
		"link":         {"virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0,link_down=1", func(n *NIC) { n.LinkDown = nil }, "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0"},
		"made":         {"", func(n *NIC) { *n = NIC{Model: "virtio", Bridge: ptr("vmbr0"), Tag: ptr(20), Rate: ptr(12.5)} }, "virtio,bridge=vmbr0,tag=20,rate=12.5"},
		"unknown kind": {"foo=BC:24:11:00:00:01,bridge=vmbr0", func(n *NIC) { n.Firewall = ptr(true) }, "foo=BC:24:11:00:00:01,bridge=vmbr0,firewall=1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := ParseNIC(test.written)
			if err != nil {
				t.Fatal(err)
			}
			test.change(&n)
			if got := n.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	read := func(s string, v any) {
		t.Helper()
		if err := UnmarshalProps(s, v); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	var agent Agent
	for written, want := range map[string]bool{"1": true, "yes": true, "enabled=1": true, "0": false, "enabled=0,type=virtio": false} {
		if read(written, &agent); agent.Enabled != want {
			t.Errorf("agent %q is read as %v", written, agent.Enabled)
		}
	}
	var cpu CPU
	if read("cputype=host,flags=+aes;-pcid", &cpu); cpu.Type != "host" || *cpu.Flags != "+aes;-pcid" {
		t.Errorf("cpu %+v", cpu)
	}
	if read("kvm64,hidden=1", &cpu); cpu.Type != "kvm64" || !*cpu.Hidden || cpu.Flags != nil {
		t.Errorf("cpu %+v", cpu)
	}
	var ip IPConfig
	if read("ip=10.0.0.2/24,gw=10.0.0.1,ip6=auto", &ip); *ip.IPv4 != "10.0.0.2/24" || *ip.IPv6 != "auto" || ip.Gateway6 != nil {
		t.Errorf("ipconfig %+v", ip)
	}
	var startup Startup
	if read("order=1,up=30,down=60", &startup); *startup.Order != 1 || *startup.Down != 60 {
		t.Errorf("startup %+v", startup)
	}
	var smbios SMBIOS1
	if read("uuid=dae1c79c-3efc-4682-8d14-c99d540c1c13,base64=1,manufacturer=VGVzdA==", &smbios); smbios.UUID != "dae1c79c-3efc-4682-8d14-c99d540c1c13" {
		t.Errorf("smbios1 %+v", smbios)
	}
	if v, _ := smbios.Get("manufacturer"); v != "VGVzdA==" {
		t.Errorf("manufacturer %q", v)
	}
	var meta Meta
	if read("creation-qemu=10.0.13,ctime=1795997776", &meta); meta.CTime != 1795997776 || meta.CreationQEMU != "10.0.13" {
		t.Errorf("meta %+v", meta)
	}
	var memory Memory
	for _, written := range []string{"256", "current=256"} {
		if read(written, &memory); memory.Current != 256 {
			t.Errorf("memory %q is read as %d", written, memory.Current)
		}
		if got := marshalled(memory); got != written {
			t.Errorf("memory %q is rewritten as %q", written, got)
		}
	}
}

func TestMarshalNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  string
	}{
		{Agent{Enabled: true}, "1"},
		{Agent{Enabled: false, Type: ptr("virtio")}, "0,type=virtio"},
		{Disk{Volume: "local-lvm:20", SSD: ptr(true), Discard: ptr(OnOff(false))}, "local-lvm:20,discard=ignore,ssd=1"},
		{&Startup{Order: ptr(0), Up: ptr(5)}, "0,up=5"},
		{IPConfig{IPv4: ptr("dhcp")}, "ip=dhcp"},
		{CPU{}, ""},
	}
	for _, test := range tests {
		got, err := MarshalProps(test.value)
		if err != nil || got != test.want {
			t.Errorf("%+v is written %q (%v), want %q", test.value, got, err, test.want)
		}
	}
	if _, err := MarshalProps(NIC{Model: "virtio", Bridge: ptr("vmbr0,tag=1")}); err == nil {
		t.Error("a comma in a value is accepted")
	}
}

func TestPropsAtTheDefaultKey(t *testing.T) {
	t.Parallel()
	p, err := ParseProps("flags=+aes")
	if err != nil {
		t.Fatal(err)
	}
	p.Set("", "host")
	p.Set("hidden", "1")
	if got := p.raw(); got != "host,flags=+aes,hidden=1" {
		t.Errorf("made %q", got)
	}
	p.Set("", "kvm64")
	p.Delete("flags")
	if v, ok := p.Get(""); p.raw() != "kvm64,hidden=1" || v != "kvm64" || !ok {
		t.Errorf("made %q", p.raw())
	}
}

func TestParsePropsRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a=1,a=2", "x,y", "=1", "a=", "a=1,,b="} {
		if p, err := ParseProps(s); err == nil {
			t.Errorf("%q is read as %v", s, p.All())
		}
	}
	var n NIC
	if err := UnmarshalProps("virtio,tag=x", &n); err == nil || !strings.Contains(err.Error(), "tag") {
		t.Errorf("a tag that is no number: %v", err)
	}
}

func FuzzProps(f *testing.F) {
	for _, seed := range []string{
		"virtio=BC:24:11:D7:08:9E,bridge=vmbr0,firewall=1", "model=virtio,macaddr=BC:24:11:00:00:01,bridge=vmbr0",
		"local:110/vm-110-disk-0.qcow2,discard=on,iothread=1,size=2560M", "none,media=cdrom", "local:1,foo=1",
		"local:140/vm-140-disk-1.raw,iops_rd=100,iops_rd_max=200,iops_rd_max_length=3,mbps_wr=10,mbps_wr_max=20,size=1G",
		"enabled=1,fstrim_cloned_disks=1,type=virtio", "yes", "cputype=host,flags=+aes;-pcid", "order=ide2;scsi0", " ", "a,,b=c=d", "x=1,0",
		"uuid=dae1c79c-3efc-4682-8d14-c99d540c1c13,base64=1,manufacturer=VGVzdA==",
		"name=eth0,bridge=vmbr0,firewall=1,gw=10.99.0.1,hwaddr=BC:24:11:C1:13:E8,ip=10.99.0.210/24,type=veth",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		props, err := ParseProps(s)
		if err != nil {
			return
		}
		written := props.raw()
		for _, v := range []interface{ All() []Prop }{&Disk{}, &NIC{}, &CPU{}, &IPConfig{}, &Startup{}, &Memory{}, &SMBIOS1{}} {
			if UnmarshalProps(s, v) != nil {
				continue
			}
			// Nothing changed: nothing may be lost, added or moved.
			got, err := MarshalProps(v)
			if err != nil || got != written {
				t.Errorf("%T rewrites %q as %q (%v)", v, written, got, err)
			}
		}
		var nic NIC
		if UnmarshalProps(s, &nic) != nil {
			return
		}
		nic.Bridge = ptr("vmbr9")
		changed, err := ParseNIC(nic.String())
		if err != nil || *changed.Bridge != "vmbr9" {
			t.Fatalf("bridge of %q: %v", nic.String(), err)
		}
		for _, prop := range props.All() {
			if got, _ := changed.Get(prop.Key); prop.Key != "bridge" && got != prop.Value {
				t.Errorf("%q lost its %q: %q", s, prop.Key, nic.String())
			}
		}
	})
}
