package vm_test

import (
	"maps"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

const script = "#!/bin/sh\n"

// seeded is a VM with a seed of some attributes.
func seeded(seed block, attributes block) block {
	all := block{"storage": "seeds", "user_data": script}
	maps.Copy(all, seed)
	vm := config(attributes)
	vm["seed"] = all
	return vm
}

// image is the volume id of the VM's seed.
func (d *device) image(t *testing.T) string {
	t.Helper()
	volid, _ := d.State.At(t, "seed")["volume_id"].(string)
	return volid
}

// wantImages wants these images on the storage for seeds, and no others.
func wantImages(t *testing.T, lab *protocol.Lab, want ...string) {
	t.Helper()
	images, err := lab.Hand.Images(t.Context(), "pve1", "seeds")
	must(t, err)
	var found []string
	for _, each := range images {
		found = append(found, each.VolID)
	}
	if !sameSet(found, want) {
		t.Errorf("the images are %v, want %v", found, want)
	}
}

func sameSet(a, b []string) bool {
	seen := map[string]int{}
	for _, each := range a {
		seen[each]++
	}
	for _, each := range b {
		seen[each]--
	}
	for _, n := range seen {
		if n != 0 {
			return false
		}
	}
	return true
}

// destroy plans and makes the destruction.
func destroy(t *testing.T, r *protocol.Resource) protocol.Diagnostics {
	t.Helper()
	plan, diagnostics := r.Plan(t, nil)
	if plan == nil {
		t.Fatal(diagnostics)
	}
	return append(diagnostics, plan.Apply(t)...)
}

// TestSeedOfAVMThatIsGone: the VM stays in the state for as long as its image is
// there, so that a destroy or a replacement deletes it.
func TestSeedOfAVMThatIsGone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// after is what else happens by hand.
		after func(t *testing.T, d *device, volid string)
		// kept is whether the VM stays in the state; refuses are the words that
		// refuse to destroy it.
		kept    bool
		refuses string
		left    bool
	}{
		"destroyed": {kept: true},
		"destroyed, and its image deleted": {after: func(t *testing.T, d *device, volid string) {
			must(t, d.lab.Hand.DeleteImage(t.Context(), "pve1", volid))
		}},
		"its id is another's": {kept: true, after: func(t *testing.T, d *device, _ string) {
			must(t, d.lab.Hand.CreateVM(t.Context(), "pve1", 20000, byhand.Params{"memory": "64"}))
		}},
		"its image is with the one that has its id": {left: true, after: func(t *testing.T, d *device, volid string) {
			must(t, d.lab.Hand.CreateVM(t.Context(), "pve1", 20000, byhand.Params{"ide2": volid + ",media=cdrom"}))
		}},
		"a copy of it has the image": {kept: true, refuses: "VM 300", left: true, after: func(t *testing.T, d *device, volid string) {
			must(t, d.lab.Hand.CreateVM(t.Context(), "pve1", 300, byhand.Params{"ide0": volid + ",media=cdrom"}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, "9.2")
			vm := seeded(nil, nil)
			d.apply(t, vm)
			volid := d.image(t)
			must(t, d.lab.Hand.Destroy(t.Context(), 20000))
			if test.after != nil {
				test.after(t, d, volid)
			}
			if said := d.Refresh(t).String(); !strings.Contains(said, "is gone") || strings.Contains(said, volid) != test.kept {
				t.Errorf("the refresh says %s", said)
			}
			if kept := d.State != nil; kept != test.kept {
				t.Fatalf("in the state: %t, want %t", kept, test.kept)
			}
			if test.kept {
				d.State.Want(t, block{"status": "gone"})
				plan, diagnostics := d.Plan(t, vm)
				if plan == nil || !strings.Contains(strings.Join(plan.Replace, " "), "status") {
					t.Errorf("the plan is %+v: %s", plan, diagnostics)
				}
				if said := destroy(t, d.Resource).String(); strings.Contains(said, "is in use") != (test.refuses != "") || !strings.Contains(said, test.refuses) {
					t.Errorf("the destruction says %s", said)
				}
			}
			if !test.left {
				wantImages(t, d.lab)
				return
			}
			wantImages(t, d.lab, volid)
			if test.refuses == "" {
				return
			}
			must(t, d.lab.Hand.Destroy(t.Context(), 300))
			if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
				t.Error(said)
			}
			wantImages(t, d.lab)
		})
	}
}

// TestSeedOfACopy: an image that a copy of the VM came to hold is not deleted
// when the VM gets another one.
func TestSeedOfACopy(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, seeded(nil, nil))
	first := d.image(t)
	must(t, d.lab.Hand.Clone(t.Context(), 20000, 300, "copy", nil))
	d.apply(t, seeded(block{"user_data": "#!/bin/sh\ntrue\n"}, nil))
	wantImages(t, d.lab, first, d.image(t))
	must(t, d.lab.Hand.Destroy(t.Context(), 300))
	if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
		t.Error(said)
	}
	wantImages(t, d.lab)
}

// TestSeedOutOfItsDrive: an image that somebody took out of its drive goes with the
// VM all the same, and is put back by an apply.
func TestSeedOutOfItsDrive(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"destroyed": false, "put back, then destroyed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, "9.2")
			d.apply(t, seeded(nil, nil))
			first := d.image(t)
			must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{"ide2": "none,media=cdrom"}))
			if told := d.Refresh(t).Warnings(); len(told) != 1 || !strings.Contains(told[0].Summary, "is not in its drive any more") {
				t.Errorf("the refresh says %v", told)
			}
			if back {
				d.apply(t, seeded(nil, nil))
				wantImages(t, d.lab, first)
				d.has(t, map[string]string{"ide2": first + ",media=cdrom,size=42K"})
			}
			if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
				t.Error(said)
			}
			wantImages(t, d.lab)
		})
	}
}

// TestSeedOfAKilledRun: an image of the VM that no state knows goes with it, and
// one of another VM does not.
func TestSeedOfAKilledRun(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, seeded(nil, nil))
	uid, _ := d.State.At(t)["uid"].(string)
	digest := strings.Repeat("0", 64)
	theirs := "seeds:iso/11111111-2222-4333-8444-555555555555-" + digest + ".iso"
	for _, volid := range []string{"seeds:iso/" + uid + "-" + digest + ".iso", theirs} {
		must(t, d.lab.Hand.UploadImage(t.Context(), "pve1", volid, []byte("left")))
	}
	if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
		t.Error(said)
	}
	wantImages(t, d.lab, theirs)
}

// TestSeedOfALostVM: a VM that is gone without this provider is not forgotten as long
// as an image of it is left, though no state knows that.
func TestSeedOfALostVM(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, seeded(nil, nil))
	uid, _ := d.State.At(t)["uid"].(string)
	stray := "seeds:iso/" + uid + "-" + strings.Repeat("0", 64) + ".iso"
	must(t, d.lab.Hand.UploadImage(t.Context(), "pve1", stray, []byte("left")))
	must(t, d.lab.Hand.Destroy(t.Context(), 20000))
	must(t, d.lab.Hand.DeleteImage(t.Context(), "pve1", d.image(t)))
	if said := d.Refresh(t); !strings.Contains(said.String(), stray) {
		t.Errorf("the refresh says %s", said)
	}
	d.State.Want(t, block{"status": "gone"})
	if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
		t.Error(said)
	}
	wantImages(t, d.lab)
}

// TestSeedBesideANodeThatIsAway: a VM's own seed is meant for nobody else, so that
// it goes with the VM whatever VMs cannot be asked.
func TestSeedBesideANodeThatIsAway(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	must(t, d.lab.Hand.CreateVM(t.Context(), "pve2", 300, byhand.Params{"memory": "64"}))
	d.apply(t, seeded(block{"storage": "shared-nfs"}, nil))
	must(t, d.lab.Faults().NodeOffline("pve2"))
	if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
		t.Error(said)
	}
	images, err := d.lab.Hand.Images(t.Context(), "pve1", "shared-nfs")
	if err != nil || len(images) != 0 {
		t.Errorf("left are %v, %v", images, err)
	}
}

// TestSeedThatIsHeld: a running VM that does not let go of its seed keeps it,
// whoever wants to have it.
func TestSeedThatIsHeld(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	running := block{"power": nil}
	d.apply(t, seeded(nil, running))
	first, slot := d.image(t), d.State.At(t, "seed")["slot"].(string)
	other := seeded(block{"user_data": "#!/bin/sh\ntrue\n"}, running)
	d.lab.Faults().HoldMedia(20000, true)
	if said := d.try(t, other).String(); !strings.Contains(said, "qmp command 'eject' failed") {
		t.Errorf("the update says %s", said)
	}
	if got := d.real(t)[slot]; !strings.HasPrefix(got, first) {
		t.Errorf("%s is %s", slot, got)
	}
	d.lab.Faults().HoldMedia(20000, false)
	d.apply(t, other)
	wantImages(t, d.lab, d.image(t))
	if said := destroy(t, d.Resource); len(said.Errors()) != 0 {
		t.Error(said)
	}
	wantImages(t, d.lab)
}

// TestSharedSeedThatIsHeld is the same of a seed of its own: it is taken out of
// a running VM's drive, and refused with the VM's name where that fails.
func TestSharedSeedThatIsHeld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// slot is the drive: one that the template has, and one that waits for the
		// next start.
		slot, empty string
		held        bool
	}{
		"let go of":          {slot: "ide2", empty: "none,media=cdrom"},
		"held":               {slot: "ide2", empty: "none,media=cdrom", held: true},
		"waiting for a boot": {slot: "ide0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, "9.2")
			d.apply(t, config(block{"power": nil}))
			seed := d.lab.Manage(t, "proxmox_seed_iso")
			plan, diagnostics := seed.Plan(t, block{"storage": "seeds", "node": "pve1", "user_data": script})
			if plan == nil {
				t.Fatal(diagnostics)
			}
			if said := plan.Apply(t); len(said) != 0 {
				t.Fatal(said)
			}
			volid, _ := seed.State["volume_id"].(string)
			must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{test.slot: volid + ",media=cdrom"}))
			d.lab.Faults().HoldMedia(20000, test.held)
			said := destroy(t, seed)
			if test.held {
				if text := said.String(); !strings.Contains(text, "out of VM 20000") || !strings.Contains(text, "(at ide2)") || !strings.Contains(text, "eject") {
					t.Errorf("the destruction says %s", text)
				}
				wantImages(t, d.lab, volid)
				must(t, d.lab.Hand.Power(t.Context(), 20000, "stop"))
				said = destroy(t, seed)
			}
			if len(said.Errors()) != 0 {
				t.Error(said)
			}
			wantImages(t, d.lab)
			if got := d.real(t)[test.slot]; got != test.empty {
				t.Errorf("%s is %q, want %q", test.slot, got, test.empty)
			}
			if status, err := d.lab.Hand.Status(t.Context(), 20000); err != nil || (status == "running") == test.held {
				t.Errorf("the VM is %s, %v", status, err)
			}
		})
	}
}

// TestSeedParts: the parts may be objects and secrets, and mean the same image.
func TestSeedParts(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	running := block{"power": nil, "agent": block{"enabled": true}, "wait_for": "agent", "network": block{"net0": block{"bridge": "vmbr0", "mac_address": "BC:24:11:00:00:01"}}}
	network := block{"version": 2, "ethernets": block{"id0": block{
		"match": block{"macaddress": "bc:24:11:00:00:01"}, "addresses": []any{"10.0.0.21/24"}, "gateway4": "10.0.0.1", "optional": nil,
	}}}
	const written = "ethernets:\n    id0:\n        addresses:\n            - 10.0.0.21/24\n        gateway4: 10.0.0.1\n" +
		"        match:\n            macaddress: bc:24:11:00:00:01\nversion: 2\n"
	const meta = "instance-id: i-1\n"
	d.apply(t, seeded(block{"network_config": network, "meta_data": meta}, running))
	if net0 := d.State.At(t, "network", "net0"); !strings.Contains(strings.Join(texts(net0["ipv4_addresses"]), " "), "10.0.0.21") {
		t.Errorf("the guest has %v", net0)
	}
	first := d.image(t)
	d.apply(t, seeded(block{"network_config": written, "meta_data": meta}, running))
	if d.image(t) != first {
		t.Errorf("the object and its YAML are two images")
	}
	d.apply(t, seeded(block{"network_config_wo": network, "network_config_wo_version": 1, "meta_data_wo": meta, "meta_data_wo_version": 1}, running))
	if d.image(t) != first {
		t.Errorf("the secret parts make another image")
	}
	d.State.At(t, "seed").Want(t, block{"network_config": nil, "network_config_wo": nil, "meta_data": nil, "meta_data_wo": nil})
	d.apply(t, seeded(block{"network_config_wo": block{"version": 1}, "network_config_wo_version": 2, "meta_data_wo": meta, "meta_data_wo_version": 1}, running))
	if d.image(t) == first {
		t.Errorf("another version leaves the image as it was")
	}
	for words, seed := range map[string]block{
		"there is no version":             {"network_config": block{"ethernets": block{}}},
		"is an object, or YAML as a text": {"network_config_wo": []any{"version"}, "network_config_wo_version": 1},
		"is not YAML":                     {"network_config": "a: b\n c: d\n"},
		"no instance-id":                  {"meta_data_wo": "a: b\n", "meta_data_wo_version": 1},
		"interfaces":                      {"network_config": network, "interfaces": block{"net0": block{"ipv4": block{"method": "dhcp"}}}},
		"network_config_wo_version":       {"network_config_wo": network},
	} {
		d.refused(t, seeded(seed, running), words)
	}
}

func texts(list any) []string {
	var out []string
	elements, _ := list.([]any)
	for _, each := range elements {
		word, _ := each.(string)
		out = append(out, word)
	}
	return out
}

// TestSeedLimit: files that are too much together are refused in the plan, of a
// VM that is to be made too.
func TestSeedLimit(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	half := script + strings.Repeat("#", 16<<20)
	both := block{"user_data": half, "vendor_data_wo": half, "vendor_data_wo_version": 1}
	d.refused(t, seeded(both, nil), "The seed cannot be made", "33554452 bytes together", "33554432")
	both["meta_data"] = protocol.Unknown
	d.refused(t, seeded(both, nil), "33554452 bytes together")
}
