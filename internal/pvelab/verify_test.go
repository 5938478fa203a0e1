package pvelab

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
)

// sample is a method with one parameter of each kind.
const sample = `{"method":"PUT","path":"/x","parameters":{"additionalProperties":0,"properties":{
	"vmid":{"type":"integer","format":"pve-vmid","minimum":100,"maximum":999999999},
	"cores":{"type":"integer","minimum":1,"optional":1},
	"ratio":{"type":"number","minimum":"0","maximum":128,"optional":1},
	"onboot":{"type":"boolean","optional":1},
	"bios":{"type":"string","enum":["seabios","ovmf"],"optional":1},
	"digest":{"type":"string","maxLength":5,"optional":1},
	"password":{"type":"string","minLength":5,"optional":1},
	"force":{"type":"boolean","requires":"delete","optional":1},
	"delete":{"type":"string","format":"pve-configid-list","optional":1},
	"email":{"type":"string","format":"email-opt","optional":1},
	"machine":{"type":"string","pattern":"(pc|q35)","optional":1},
	"command":{"type":"array","items":{"type":"string"},"optional":1},
	"net[n]":{"type":"string","optional":1,"format":{
		"model":{"type":"string","default_key":1,"enum":["e1000","virtio"]},
		"macaddr":{"type":"string","format":"mac-addr","optional":1},
		"virtio":{"alias":"macaddr","keyAlias":"model"},
		"e1000":{"alias":"macaddr","keyAlias":"model"},
		"bridge":{"type":"string","format":"pve-bridge-id","optional":1},
		"tag":{"type":"integer","minimum":1,"maximum":4094,"optional":1},
		"firewall":{"type":"boolean","optional":1}}},
	"agent":{"type":"string","optional":1,"format":{"enabled":{"type":"boolean","default_key":1}}},
	"scsi[n]":{"type":"string","optional":1,"format":{
		"file":{"type":"string","default_key":1,"format":"pve-volume-id-or-qm-path"},
		"volume":{"alias":"file"},
		"size":{"type":"string","format":"disk-size","optional":1}}}
}}}`

func sampleMethod(t *testing.T) *method {
	t.Helper()
	m := &method{}
	if err := json.Unmarshal([]byte(sample), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestVerifyRefusals(t *testing.T) {
	t.Parallel()
	m := sampleMethod(t)
	const notMAC = "invalid format - value does not look like a valid unicast MAC address\n\n"
	for _, tc := range []struct {
		field string
		value any
		at    string
		text  string
	}{
		{"foo", "1", "foo", textUnknown},
		{"net32", "virtio", "net32", textUnknown},
		{"net01", "virtio", "net01", textUnknown},
		{"cores", "1.5", "cores", "type check ('integer') failed - got '1.5'"},
		{"cores", "0", "cores", "value must have a minimum value of 1"},
		{"cores", []any{"1", "2"}, "cores", "type check ('integer') failed - got ARRAY"},
		{"cores", true, "cores", "type check ('integer') failed - got JSON::PP::Boolean"},
		{"ratio", "x", "ratio", "type check ('number') failed - got 'x'"},
		{"ratio", "-1", "ratio", "value must have a minimum value of 0"},
		{"ratio", "1e3", "ratio", "value must have a maximum value of 128"},
		{"onboot", "yes", "onboot", "type check ('boolean') failed - got 'yes'"},
		{"onboot", "", "onboot", "type check ('boolean') failed - got ''"},
		{"bios", "coreboot", "bios", "value 'coreboot' does not have a value in the enumeration 'seabios, ovmf'"},
		{"digest", "ääääää", "digest", "value may only be 5 characters long"},
		{"password", "abc", "password", "value must be at least 5 characters long"},
		{"force", "1", "delete", "missing property required by 'force'"},
		{"delete", "a1,1s", "delete", "invalid format - invalid configuration ID '1s'\n"},
		{"email", "no at sign", "email", "invalid format - value does not look like a valid email address\n"},
		{"machine", "foo", "machine", "value does not match the regex pattern"},
		{"command", map[string]any{}, "command", "type check ('array') failed"},
		{"net0", "bridge=vmbr0", "net0", "invalid format - format error\nnet0.model: " + textMissing + "\n"},
		{"net0", "virtio=zz:zz", "net0", "invalid format - format error\nnet0.macaddr: " + notMAC},
		{"net0", "virtio,foo=1", "net0", "invalid format - format error\nnet0.foo: " + textUnknown + "\n"},
		{"net0", "virtio,tag=5000", "net0", "invalid format - format error\nnet0.tag: value must have a maximum value of 4094\n"},
		{
			"net0", "virtio,firewall=maybe", "net0",
			"invalid format - format error\nnet0.firewall: type check ('boolean') failed - got 'maybe'\n",
		},
		{"net0", "virtio,tag=1,tag=2", "net0", "invalid format - duplicate key in comma-separated list property: tag\n"},
		{"net0", "virtio,e1000", "net0", "invalid format - duplicate key in comma-separated list property: model\n"},
		{"net0", "virtio=BC:24:11:00:00:01,e1000=BC:24:11:00:00:02", "net0", "invalid format - key alias 'model' is already defined\n"},
		{"net0", "virtio,=5", "net0", "invalid format - missing key in comma-separated list property\n"},
		{"scsi0", "local:1,volume=local:2", "scsi0", "invalid format - key 'file' is already defined (via alias)\n"},
		{"scsi0", "x,size=big", "scsi0", "invalid format - format error\nscsi0.file: invalid format - unable to parse volume ID 'x'\n\n" +
			"scsi0.size: invalid format - value does not look like a valid disk size: big\n\n"},
	} {
		_, err := m.verify(map[string]any{"vmid": "100", tc.field: tc.value})
		var ae *apiError
		if !errors.As(err, &ae) || ae.status != 400 || !maps.Equal(ae.params, map[string]string{tc.at: tc.text}) {
			t.Errorf("%s=%v: %v, want %s: %q", tc.field, tc.value, err, tc.at, tc.text)
		}
	}
}

func TestVerifyCollectsAllErrors(t *testing.T) {
	t.Parallel()
	_, err := sampleMethod(t).verify(map[string]any{"a": "1", "cores": "x"})
	var ae *apiError
	if !errors.As(err, &ae) {
		t.Fatal(err)
	}
	want := map[string]string{"a": textUnknown, "cores": "type check ('integer') failed - got 'x'", "vmid": textMissing}
	if !maps.Equal(ae.params, want) || ae.text != "Parameter verification failed." {
		t.Errorf("%q %v", ae.text, ae.params)
	}
}

func TestVerifyAccepts(t *testing.T) {
	t.Parallel()
	p, err := sampleMethod(t).verify(map[string]any{
		"vmid": "100", "onboot": true, "delete": []any{"net1", "scsi1"}, "command": "ls",
		"email": "", "net31": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=on", "scsi30": "volume=local:1",
		"ratio": ".5", "agent": "yes", "digest": "äääää",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !p.boolean("onboot") || p.str("delete") != "net1,scsi1" || p.integer("vmid") != 100 || p.str("ratio") != ".5" {
		t.Errorf("read back: %v", p)
	}
	if l := p.list("command"); len(l) != 1 || l[0] != "ls" {
		t.Errorf("command: %q", l)
	}
}

func TestPropertyStringResolvesAliases(t *testing.T) {
	t.Parallel()
	keys := sampleMethod(t).Parameters.Properties["net[n]"].Format.Keys
	got, err := parsePropertyAt(keys, "tag=7,virtio=BC:24:11:00:00:01,,firewall=yes", "", false)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"model": "virtio", "macaddr": "BC:24:11:00:00:01", "tag": "7", "firewall": "1"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestNamedFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ format, value, text string }{
		{"pve-storage-id", "1x", "storage ID '1x' contains illegal characters"},
		{"pve-storage-id", "x", "storage ID 'x' cannot be shorter than 2 characters"},
		{"pve-storage-path", "x", "value does not look like a valid absolute path"},
		{"pve-iface", "1bad", "invalid network interface name '1bad'"},
		{"CIDRv4", "10.98.0.1/99", "value does not look like a valid IPv4 CIDR network"},
		{"CIDRv4", "10.98.0.1/7", "value does not look like a valid IPv4 CIDR network"},
		{"CIDRv6", "fe80::1/64", ""},
		{"ipv4mask", "255.255.254.0", ""},
		{"ipv4mask", "255.0.255.0", "value does not look like a valid IP netmask"},
		{"pve-qm-ipconfig", "ip=300.1.1.1/24", "format error\nx.ip: invalid format - value does not look like a valid ipv4 network configuration\n"},
		{"pve-qm-ipconfig", "gw=10.0.0.1", "format error\nx.ip: missing property required by 'x.gw'"},
		{"pve-vm-cpu-conf", "host,flags=+aes;-pcid", ""},
		{"pve-vm-cpu-conf", "foo", "Built-in cputype 'foo' is not defined (missing 'custom-' prefix?)"},
		{"pve-vm-cpu-conf", "custom-foo", "Custom cputype 'foo' not found"},
		{"pve-vm-cpu-conf@8", "host,flags=+nested-virt", "VM-specific CPU flags must be a subset of: pcid, spec-ctrl, " +
			"ibpb, ssbd, virt-ssbd, amd-ssbd, amd-no-ssb, pdpe1gb, md-clear, hv-tlbflush, hv-evmcs, aes"},
		{"pve-qm-boot", "order=scsi0;net0", ""},
		{"pve-qm-boot", "order=", "missing key in comma-separated list property"},
		{"pve-qm-boot", "order=hda", "format error\nx.order: invalid format - invalid boot device 'hda'\n"},
		{"pve-startup-order", "order=1,up=5", ""},
		{"pve-startup-order", "bogus", "unable to parse startup options"},
		{"pve-hotplug-features", "disk,bogus", "invalid hotplug feature 'bogus'"},
		{"pve-tag-list", "b;A,c", ""},
		{"pve-tag-list", "a b!c", "invalid characters in tag"},
		{"pve-priv-list", "VM.Audit,VM.Nonsense", "invalid privilege 'VM.Nonsense'"},
		{"pve-priv-list", "VM.Monitor", "invalid privilege 'VM.Monitor'"},
		{"pve-priv-list@8", "VM.Monitor", ""},
		{"pve-poolid", "a/b/c", ""},
		{"pve-poolid", "a/b/c/d", "pool name 'a/b/c/d' nested too deeply (max levels = 3)"},
		{"pve-userid", "x@pve", ""},
		{"pve-userid", "x", "user name 'x' is too short"},
		{"pve-vlan-id-or-range-list", "2-4094 7", ""},
		{"pve-vlan-id-or-range-list", "9-3", "VLAN range must go from lower to higher tag '9-3'"},
		{"prune-backups", "keep-all=1,keep-last=2", "keep-all cannot be set together with other options"},
		{"urlencoded", "ssh-ed25519 x", "invalid urlencoded string: ssh-ed25519 x"},
		{"pve-replication-job-id", "99-0", "invalid replication job id '99-0' (guest IDs < 100 are reserved)"},
	} {
		got := ""
		if err := checkFormat(format{Name: tc.format}, tc.value, "x", false); err != nil {
			got = err.Error()
		}
		if got != tc.text {
			t.Errorf("%s %q: %q, want %q", tc.format, tc.value, got, tc.text)
		}
	}
}

func TestDecodeForm(t *testing.T) {
	t.Parallel()
	got := decodeForm("a=1&b=x%20y+z;c&d=1=2&e=1&e=2&e=3&s=%E2%82%AC")
	want := map[string]any{"a": "1", "b": "x y z", "c": nil, "d": "1", "e": []any{"1", "2", "3"}, "s": "€"}
	gotText, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	wantText, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(gotText) != string(wantText) {
		t.Errorf("got %s", gotText)
	}
}

func TestPVE8IsStricter(t *testing.T) {
	t.Parallel()
	m := sampleMethod(t)
	m.settleFormats(true)
	_, err := m.verify(map[string]any{"vmid": "100", "force": "1", "agent": "yes", "net0": "virtio,firewall=yes"})
	var ae *apiError
	if !errors.As(err, &ae) {
		t.Fatal(err)
	}
	want := map[string]string{
		"delete": "missing property - 'force' requires this property",
		"agent":  "invalid format - format error\nagent.enabled: type check ('boolean') failed - got 'yes'\n",
	}
	if !maps.Equal(ae.params, want) {
		t.Errorf("got %q", ae.params)
	}
}
