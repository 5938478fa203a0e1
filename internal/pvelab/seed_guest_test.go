package pvelab

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kdomanski/iso9660"
)

// seedImage writes an image with files, by the library's own hand.
func seedImage(t *testing.T, label string, files map[string]string) []byte {
	t.Helper()
	w, err := iso9660.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Cleanup() }()
	for name, content := range files {
		if err := w.AddFile(strings.NewReader(content), name); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := w.WriteTo(&b, label); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGuestReadsItsSeed(t *testing.T) {
	t.Parallel()
	const (
		meta    = "instance-id: iid-1\nlocal-hostname: from-meta\n"
		good    = "#cloud-config\nhostname: from-user\n"
		network = `{"version": 2, "ethernets": {"eth0": {"match": {"macaddress": "bc:24:11:00:00:01"}, "addresses": ["10.0.0.11/24"]}}}`
	)
	for _, tc := range []struct {
		name, label     string
		files           map[string]string
		host, addresses string
		errors          string
	}{
		{"good", "cidata", map[string]string{"user-data": good, "meta-data": meta, "network-config": network}, "from-user", "10.0.0.11/24", "[]"},
		{"a name in the meta data", "cidata", map[string]string{"user-data": "#!/bin/sh\n", "meta-data": meta, "network-config": network}, "from-meta", "10.0.0.11/24", "[]"},
		{"bad user data", "cidata", map[string]string{"user-data": "#cloud-config\nhostname: [x\n", "meta-data": meta, "network-config": network}, "from-meta", "10.0.0.11/24", "Failed loading yaml blob in user-data"},
		{"bad meta data", "cidata", map[string]string{"user-data": good, "meta-data": "instance-id: [x\n"}, "vm", "dhcp", "No datasource found"},
		{"no meta data", "cidata", map[string]string{"user-data": good}, "vm", "dhcp", "No datasource found"},
		{"a network of version 1", "cidata", map[string]string{
			"user-data": good, "meta-data": meta,
			"network-config": "version: 1\nconfig:\n- type: physical\n  name: eth0\n  mac_address: BC:24:11:00:00:01\n  subnets: [{type: static, address: 10.0.0.12/24}]\n",
		}, "from-user", "10.0.0.12/24", "[]"},
		{"another device's network", "cidata", map[string]string{
			"user-data": good, "meta-data": meta, "network-config": strings.ReplaceAll(network, "00:01", "00:02"),
		}, "from-user", "", "[]"},
		{"no network", "cidata", map[string]string{"user-data": good, "meta-data": meta}, "from-user", "dhcp", "[]"},
		{"another label", "install", map[string]string{"user-data": good, "meta-data": meta}, "vm", "dhcp", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, c := vmLab(t, Options{Speed: 200})
			l.locked(func() {
				v, err := l.storages["seed"].addFile("pve1", "iso/seed.iso", 1)
				if err != nil {
					t.Fatal(err)
				}
				v.data = seedImage(t, tc.label, tc.files)
			})
			c.create("vmid=100", "name=vm", "agent=1", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0", "ide2=seed:iso/seed.iso,media=cdrom")
			c.boot(l, "100")
			if host := fmt.Sprint(c.must("GET", "/nodes/pve1/qemu/100/agent/get-host-name")); !strings.Contains(host, "host-name:"+tc.host+"]") {
				t.Errorf("the host name is %s, want %s", host, tc.host)
			}
			l.locked(func() {
				dev := parseNIC(l.guests[100].conf["net0"])
				want := tc.addresses
				if want == "dhcp" {
					want = leasedAddress(dev).String()
				}
				addresses := fmt.Sprint(l.guests[100].addresses(0, dev))
				if first := strings.Fields(strings.Trim(addresses, "[]"))[0]; want != "" && first != want || want == "" && !strings.HasPrefix(first, "fe80:") {
					t.Errorf("the addresses are %s, want %s", addresses, want)
				}
				result := string(l.guests[100].run.files["/run/cloud-init/result.json"])
				if !strings.Contains(result, tc.errors) || (result == "") != (tc.errors == "") {
					t.Errorf("cloud-init's result is %s, want %s", result, tc.errors)
				}
			})
		})
	}
}
