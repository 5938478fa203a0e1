package vm_test

import (
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// TestSeedMovesAlong: PVE moves no VM that has an image of its node. The VM's own
// seed is taken out, and made anew where the VM goes; an image of others is for its
// user to take out.
func TestSeedMovesAlong(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	at := func(node string) block {
		return seeded(nil, block{"power": nil, "node": node, "storage": "shared-nfs"})
	}
	d.apply(t, at("pve1"))
	volid, slot := d.image(t), d.State.At(t, "seed")["slot"].(string)

	must(t, d.lab.Hand.UploadImage(t.Context(), "pve1", "seeds:iso/other.iso", []byte("x")))
	must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{"ide3": "seeds:iso/other.iso,media=cdrom"}))
	if diagnostics := d.Refresh(t).Errors(); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	d.refused(t, at("pve2"), "cannot move from pve1 to pve2", "seeds:iso/other.iso, which have to be taken out first")
	must(t, d.lab.Hand.Configure(t.Context(), 20000, byhand.Params{"revert": "ide3"}))

	plan, diagnostics := d.Plan(t, at("pve2"))
	if plan == nil || !strings.Contains(diagnostics.String(), "goes on running") || !strings.Contains(diagnostics.String(), "made anew there") {
		t.Fatalf("got %s", diagnostics)
	}
	if diagnostics := plan.Apply(t).Errors(); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if d.State["node"] != "pve2" || d.State["status"] != "running" || d.image(t) != volid {
		t.Errorf("the VM is %v on %v with the seed %s", d.State["status"], d.State["node"], d.image(t))
	}
	if drive := d.real(t)[slot]; !strings.HasPrefix(drive, volid+",media=cdrom") {
		t.Errorf("%s is %s", slot, drive)
	}
	images, err := d.lab.Hand.Images(t.Context(), "pve2", "seeds")
	if must(t, err); len(images) != 1 || images[0].VolID != volid {
		t.Errorf("pve2 has %v", images)
	}
	d.apply(t, at("pve2"))
	if diagnostics := destroy(t, d.Resource).Errors(); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	wantImages(t, d.lab, "seeds:iso/other.iso")
}

// TestMoveByHA: HA takes a migration as a request, and the apply waits until it has
// moved the VM.
func TestMoveByHA(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	at := func(node string) block { return config(block{"power": nil, "node": node, "storage": "shared-nfs"}) }
	d.apply(t, at("pve1"))
	must(t, d.lab.Hand.Call(t.Context(), "POST", "/cluster/ha/resources", byhand.Params{"sid": "vm:20000", "state": "started"}, nil))
	d.lab.Faults().HangHA(true)
	release := time.AfterFunc(time.Second, func() { d.lab.Faults().HangHA(false) })
	defer release.Stop()
	if diagnostics := d.try(t, at("pve2")).Errors(); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if node, err := d.lab.Hand.Node(t.Context(), 20000); err != nil || node != "pve2" || d.State["node"] != "pve2" || d.State["status"] != "running" {
		t.Errorf("the VM is %v on %s (%v), in state on %v", d.State["status"], node, err, d.State["node"])
	}
}

// TestPowerByHA: HA takes a stop and a start as a request, and the apply waits until
// the VM has the power.
func TestPowerByHA(t *testing.T) {
	t.Parallel()
	d := newDevice(t, "9.2")
	d.apply(t, config(block{"power": "running"}))
	must(t, d.lab.Hand.Call(t.Context(), "POST", "/cluster/ha/resources", byhand.Params{"sid": "vm:20000", "state": "started"}, nil))
	for _, power := range []string{"stopped", "running"} {
		d.lab.Faults().HangHA(true)
		release := time.AfterFunc(time.Second, func() { d.lab.Faults().HangHA(false) })
		defer release.Stop()
		if diagnostics := d.try(t, config(block{"power": power})).Errors(); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		if status, err := d.lab.Hand.Status(t.Context(), 20000); err != nil || status != power || d.State["status"] != power {
			t.Errorf("the VM is %s (%v), in state %v, want %s", status, err, d.State["status"], power)
		}
	}
}
