package vm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Random makes configurations up from the table of settings: each setting has
// a fair chance to be configured, with a value that PVE accepts.
type Random struct {
	*rand.Rand

	// Major is PVE's version. Running guests are not given what they could not
	// start with.
	Major   int
	Running bool
}

// chance is how often a setting is configured.
const chance = 0.3

// samples are values of settings whose form does not tell which there are, by
// path without slots.
var samples = map[string][]any{
	"description": {"", "words", "first\n\n- second", "trailing \n", "# heading: ünïcode"},
	"tags":        {[]string{}, []string{"web"}, []string{"prod", "web"}},
	"start_date":  {"now", "2006-06-17T16:01:21"}, "vm_state_storage": {"local-lvm", "shared-nfs"},
	"cpu.type": {"host", "x86-64-v2-AES", "kvm64"}, "cpu.flags": {[]string{"+aes"}, []string{"-pcid", "+spec-ctrl"}},
	"cpu.hv_vendor_id": {"proxmox"}, "cpu.phys_bits": {"host", "40"},
	"memory.mib": {512, 1024, 3000}, "memory.balloon_mib": {0, 256, 512},
	"numa_nodes.cpus": {[]string{"0"}, []string{"0-1", "3"}}, "numa_nodes.host_nodes": {[]string{"0"}},
	"machine.type":        {"q35", "pc-i440fx-9.0", "pc-q35-8.1"},
	"smbios.manufacturer": {"Holdfast", "with, comma = and \"quotes\""}, "smbios.product": {"Büro"}, "smbios.version": {"1.0"},
	"smbios.serial": {"S/N 12"}, "smbios.sku": {"sku"}, "smbios.family": {"family"},
	"efi_disk.storage": {"local-lvm", "shared-nfs"}, "tpm.storage": {"local-lvm", "shared-nfs"},
	"disks.serial": {"WD-1234", "a%20b"}, "disks.wwn": {"0x5000c50015ea71aa"}, "disks.vendor": {"ACME"}, "disks.model": {"QM%2000001"}, "disks.product": {"fast disk"},
	"network.mac_address": {"BC:24:11:AA:00:01", "bc:24:11:aa:00:02"}, "network.bridge": {"vmbr0", "vmbr1"}, "network.trunks": {[]string{"10", "20-29"}, []string{"7"}},
	"serial.device": {"socket"}, "usb.mapping": {"dongle"}, "usb.host": {"spice"}, "pci.mapping": {"gpu"}, "pci.mdev": {"nvidia-63"},
	"pci.vendor_id": {"0x10de"}, "pci.device_id": {"0x1234"}, "pci.sub_vendor_id": {"0xABCD"}, "pci.sub_device_id": {"0x0001"},
	"virtiofs.mapping": {"share"}, "cdrom.volume_id": {"local:iso/debian-13.1.0-amd64-netinst.iso", "none"},
	"cloud_init.user": {"ops", "root"}, "cloud_init.ssh_keys": {[]string{sshKey('+') + " me@x"}, []string{sshKey('a'), sshKey('/') + " you, and me"}},
	"cloud_init.custom.user": {"local:snippets/user.yaml"}, "cloud_init.custom.network": {"local:snippets/network.yaml"},
	"cloud_init.custom.vendor": {"local:snippets/vendor.yaml"}, "cloud_init.custom.meta": {"local:snippets/meta.yaml"},
	"cloud_init.dns.servers": {[]string{"10.0.0.1"}, []string{"10.0.0.1", "2001:db8::1"}}, "cloud_init.dns.domain": {"example.com"},
}

// sshKey is a public key whose bytes are all the same.
func sshKey(of byte) string {
	raw := append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), bytes.Repeat([]byte{of}, 32)...)
	return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(raw)
}

// slotsOf are the slots that devices are made up in.
var slotsOf = map[string][]string{
	"disks": {"scsi1", "scsi7", "virtio1", "sata2", "ide1"}, "network": {"net1", "net3"}, "serial": {"serial1", "serial3"},
	"usb": {"usb0", "usb3"}, "pci": {"hostpci0", "hostpci2"}, "virtiofs": {"virtiofs0"}, "cdrom": {"ide3", "sata5"}, "numa_nodes": {"numa0"},
}

var anySlot = regexp.MustCompile(`^(net|serial|usb|hostpci|virtiofs|numa)\d+$`)

// handmade settings are made up by the functions below.
var handmade = []string{"name", "boot_order", "cloud_init.interfaces", "cloud_init.password_wo"}

// Config makes a configuration up. before is the one that it follows, nil for
// the first.
func (r *Random) Config(before o) o {
	config := r.object(table, "", before)
	config["name"] = "random"
	config["disks"] = r.disks(before)
	config["network"] = r.nics(before)
	if r.likely() {
		config["boot_order"] = []string{"scsi0", "net0"}
	}
	r.reconcile(config, before)
	return config
}

func (r *Random) likely() bool { return r.Float64() < chance }

func (r *Random) object(g *settings.Group, at string, before o) o {
	made := o{}
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Source == settings.Structural && madeUp(at) {
			if r.likely() {
				made[s.Name] = r.value(s.Form, at+s.Name)
			}
			continue
		}
		if s.Source != settings.Configured && s.Source != settings.Required || s.Root != nil && samples[at+s.Name] == nil || s.Since > r.Major || slices.Contains(handmade, at+s.Name) {
			continue
		}
		if s.Source == settings.Required || r.likely() {
			made[s.Name] = r.value(s.Form, at+s.Name)
		}
	}
	for _, sub := range g.Groups {
		if sub == disksGroup || sub == networkGroup || isRoots(sub) || slices.Contains(handmade, at+sub.Name) || !r.likely() {
			continue
		}
		held, _ := before[sub.Name].(o)
		if sub.Slots == nil {
			made[sub.Name] = r.object(sub, at+sub.Name+".", held)
			continue
		}
		slots := o{}
		for _, slot := range slotsOf[sub.Name] {
			if r.IntN(2) == 0 {
				slots[slot] = r.object(sub, at+sub.Name+".", nil)
			}
		}
		made[sub.Name] = slots
	}
	return made
}

// isRoots reports whether a device is root's whole.
func isRoots(g *settings.Group) bool {
	return slices.ContainsFunc(g.Settings, func(s settings.Setting) bool {
		return s.Source == settings.Required && s.Root != nil
	})
}

// madeUp reports whether structural settings are made up as others are: those of
// disks are made by hand.
func madeUp(at string) bool { return at == "efi_disk." || at == "tpm." }

func (r *Random) value(f settings.Form, at string) any {
	if all := samples[at]; all != nil {
		return all[r.IntN(len(all))]
	}
	switch f := f.(type) {
	case settings.Boolean:
		return r.IntN(2) == 0
	case settings.Integer:
		most := f.Most
		if most == 0 {
			most = f.Least + 4
		}
		return []int64{f.Least, most, f.Least + r.Int64N(most-f.Least+1)}[r.IntN(3)]
	case settings.Number:
		return []float64{f.Least, f.Least + 1.5, f.Least + float64(r.IntN(100))}[r.IntN(3)]
	case settings.Text:
		if f.Words != nil {
			return f.Words[r.IntN(len(f.Words))]
		}
	case settings.TextSet:
		if f.Words != nil {
			words := slices.Clone(f.Words)
			r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
			return words[:r.IntN(len(words))]
		}
	}
	panic("no sample for " + at)
}

// disks are some new disks and, often, the boot disk, which grow and move.
func (r *Random) disks(before o) o {
	held, _ := before["disks"].(o)
	disks := o{}
	for _, slot := range append([]string{"scsi0"}, slotsOf["disks"]...) {
		prior, existed := held[slot].(o)
		if r.IntN(2) == 0 && (!existed || slot != "scsi0") {
			continue
		}
		disk := r.object(disksGroup, "disks.", nil)
		size := []float64{0.25, 1, 2}[r.IntN(3)]
		if slot == "scsi0" {
			size += 3
		}
		if grown, ok := prior["size_gib"].(float64); ok {
			size = grown + float64(r.IntN(2))
		}
		disk["size_gib"] = size
		switch r.IntN(3) {
		case 0:
			disk["storage"] = "local-lvm"
		case 1:
			disk["storage"], disk["format"] = "shared-nfs", []string{"raw", "qcow2"}[r.IntN(2)]
		}
		if r.likely() {
			disk["on_removal"] = "destroy"
		}
		if limits, ok := disk["limits"].(o); ok {
			bound(limits)
		}
		bus := strings.TrimRight(slot, "0123456789")
		for i := range disksGroup.Settings {
			if s := &disksGroup.Settings[i]; s.Buses != nil && !slices.Contains(s.Buses, bus) {
				delete(disk, s.Name)
			}
		}
		disks[slot] = disk
	}
	return disks
}

// bound makes bounds agree.
func bound(limits o) {
	for _, kind := range limitKinds {
		for _, subject := range limitSubjects {
			if subject != "" && limits[kind] != nil {
				delete(limits, kind+subject)
			}
			for _, each := range [][2]string{{"", "_max"}, {"_max", "_max_seconds"}} {
				if needed := limits[kind+subject+each[0]]; needed == nil || fmt.Sprint(needed) == "0" {
					delete(limits, kind+subject+each[1])
				}
			}
		}
	}
}

func (r *Random) nics(before o) o {
	held, _ := before["network"].(o)
	nics := o{}
	for _, slot := range append([]string{"net0"}, slotsOf["network"]...) {
		if _, existed := held[slot]; r.IntN(2) == 0 && (!existed || slot != "net0") {
			continue
		}
		nic := r.object(networkGroup, "network.", nil)
		if slot != "net0" && nic["bridge"] == nil {
			nic["bridge"] = "vmbr1"
		}
		nics[slot] = nic
	}
	return nics
}

// reconcile takes out what PVE or the guest could not bear together.
func (r *Random) reconcile(config, before o) {
	if cpu, ok := config["cpu"].(o); ok {
		delete(cpu, "vcpus")
		if cores, ok := cpu["cores"].(int64); ok && r.likely() {
			cpu["vcpus"] = 1 + r.Int64N(cores)
		}
	}
	if memory, ok := config["memory"].(o); ok && memory["mib"] == nil {
		delete(memory, "balloon_mib")
	}
	if machine, ok := config["machine"].(o); ok {
		reconcileMachine(machine)
	}
	for _, kind := range []string{"usb", "pci"} {
		devices, _ := config[kind].(o)
		for _, device := range devices {
			nameSource(device.(o))
		}
	}
	for name, kept := range map[string][]string{"efi_disk": {"type", "pre_enrolled_keys"}, "tpm": {"version"}} {
		device, _ := config[name].(o)
		prior, existed := before[name].(o)
		for _, each := range kept {
			if device != nil && existed {
				delete(device, each)
				if prior[each] != nil {
					device[each] = prior[each]
				}
			}
		}
	}
	if r.IntN(2) == 0 {
		cloudInit, _ := config["cloud_init"].(o)
		if cloudInit != nil {
			cloudInit["interfaces"] = r.interfaces()
		}
	}
	if cloudInit, ok := config["cloud_init"].(o); ok && r.Running {
		delete(cloudInit, "custom") // There are no such snippets.
	}
	if cloudInit, ok := config["cloud_init"].(o); ok && r.Running {
		delete(cloudInit, "custom") // There are no such snippets.
	}
	if config["protection"] == true && before["protection"] == true {
		delete(config, "protection")
	}
}

// reconcileMachine has a virtual IOMMU only where it fits.
func reconcileMachine(machine o) {
	if machine["viommu"] == nil {
		delete(machine, "aw_bits")
	}
	if machine["viommu"] != "intel" {
		return
	}
	machine["type"] = "q35"
	if machine["aw_bits"] != nil {
		machine["aw_bits"] = int64(48)
	}
}

func nameSource(device o) {
	if device["mapping"] != nil || device["host"] == nil {
		delete(device, "host")
		device["mapping"] = "dongle"
	}
}

func (r *Random) interfaces() o {
	v4 := []o{{"method": "dhcp"}, {"address": "10.0.0.5/24"}, {"address": "10.0.0.6/24", "gateway": "10.0.0.1"}}
	v6 := []o{{"method": "auto"}, {"method": "dhcp"}, {"address": "2001:db8::5/64", "gateway": "2001:db8::1"}}
	return o{"net0": o{"ipv4": v4[r.IntN(3)], "ipv6": v6[r.IntN(3)]}, "net1": o{"ipv4": v4[r.IntN(3)]}}
}

// Differences tells where a guest's configuration, as PVE's API shows it, is
// not what is configured: configured values that are not there, and values of
// the configuration before that are no longer configured and not PVE's default.
func Differences(t *testing.T, config, before o, real map[string]string) []string {
	t.Helper()
	real = maps.Clone(real)
	real["description"] = proxmox.SplitDescription(real["description"])
	r := &settings.Reader{Values: real, Purpose: settings.Importing}
	read := maps.Clone(settings.Fields(r.Object(table, "", nil)))
	read[cdromGroup.Name] = r.SlotsOf(cdromGroup, nil) // An import leaves them out.
	must(t, r.Err())
	found := table.Object(read)
	given := value(t, table.Typ(), config)
	var differences []string
	table.EachIn(path.Empty(), given, given, found, func(s *settings.Setting, at path.Path, want, got attr.Value) {
		if s.Source == settings.Local || same(s, want, got) {
			return
		}
		differences = append(differences, fmt.Sprintf("%s is %v, configured is %s", at, got, want))
	})
	if before == nil {
		return differences
	}
	configuredNow := map[string]bool{}
	table.EachIn(path.Empty(), given, given, given, func(_ *settings.Setting, at path.Path, _, _ attr.Value) { configuredNow[at.String()] = true })
	prior := value(t, table.Typ(), before)
	table.EachIn(path.Empty(), prior, prior, found, func(s *settings.Setting, at path.Path, _, got attr.Value) {
		if s.Source != settings.Configured || s.Kept || configuredNow[at.String()] || settings.IsNull(got) || got.Equal(s.None()) || settings.TextOf(got) == settings.MethodStatic {
			return // An address implies that it is static.
		}
		differences = append(differences, fmt.Sprintf("%s is still %s, and no longer configured", at, got))
	})
	return append(differences, leftSlots(config, before, real)...)
}

func same(s *settings.Setting, want, got attr.Value) bool {
	if settings.IsNull(got) {
		return s.Form.Print(want) == ""
	}
	return s.Form.Same(want, got)
}

// leftSlots are devices that are no longer configured and still there.
func leftSlots(config, before o, real map[string]string) []string {
	var left []string
	for _, g := range table.Groups {
		now, _ := config[g.Name].(o)
		then, _ := before[g.Name].(o)
		if g.Device != "" && then != nil && now == nil && real[g.Device] != "" {
			left = append(left, g.Device+" is still there")
		}
		if g.Slots == nil {
			continue
		}
		for _, slot := range slices.Sorted(maps.Keys(then)) {
			if _, kept := now[slot]; !kept && real[slot] != "" {
				left = append(left, slot+" is still there")
			}
		}
	}
	return left
}

// TestRandomKnowsEverySetting: a setting without a sample would never be tried.
func TestRandomKnowsEverySetting(t *testing.T) {
	t.Parallel()
	r := &Random{Rand: rand.New(rand.NewPCG(1, 1)), Major: 9}
	seen := map[string]bool{}
	var note func(at string, config o)
	note = func(at string, config o) {
		for name, each := range config {
			inner, isObject := each.(o)
			if isObject && (diskSlot.MatchString(name) || anySlot.MatchString(name)) {
				note(at, inner)
				continue
			}
			seen[at+name] = true
			note(at+name+".", inner)
		}
	}
	for range 3000 {
		note("", r.Config(nil))
	}
	var visit func(g *settings.Group, at string)
	visit = func(g *settings.Group, at string) {
		for i := range g.Settings {
			s := &g.Settings[i]
			tried := s.Source == settings.Configured || s.Source == settings.Required || s.Source == settings.Structural
			if tried && (s.Root == nil || samples[at+s.Name] != nil) && !seen[at+s.Name] {
				t.Errorf("%s%s is never configured", at, s.Name)
			}
		}
		for _, sub := range g.Groups {
			visit(sub, at+sub.Name+".")
		}
	}
	visit(table, "")
}
