package proxmox

import (
	"slices"
	"strings"
	"testing"
)

func TestMoveDisk(t *testing.T) {
	t.Parallel()

	upid := upidOf("qmmove", "10000")
	ours := Marker{UID: uidA, VMID: 10000}
	here := on(readGuest).data200(configOf(ours, "scsi0", "local:10000/vm-10000-disk-0.qcow2,size=4G"))
	there := on(readGuest).data200(configOf(ours, "scsi0", "fast:10000/vm-10000-disk-0.raw,size=4G"))
	call := on("POST /nodes/pve1/qemu/10000/move_disk").with("disk", "scsi0").with("delete", "1").with("digest", "d1")
	moved := steps(here, call.with("storage", "fast").data200(upid), taskSteps(upid, "OK"))
	tests := map[string]struct {
		slot, storage, format string
		steps                 []step
		want                  string
	}{
		"moves":                {"scsi0", "fast", "", moved, ""},
		"is there":             {"scsi0", "fast", "", steps(there), ""},
		"is there, and raw":    {"scsi0", "fast", "raw", steps(there), ""},
		"another format":       {"scsi0", "", "raw", steps(here, call.with("storage", "local").with("format", "raw").data200(upid), taskSteps(upid, "OK")), ""},
		"answer lost":          {"scsi0", "fast", "", steps(here, call.cut(), there), ""},
		"somebody was faster":  {"scsi0", "fast", "", steps(here, call.fail(500, "detected modified configuration - file changed by other user? Try again."), there), ""},
		"no such disk":         {"scsi1", "fast", "", steps(here), "no disk scsi1"},
		"held by a snapshot":   {"scsi0", "fast", "", steps(here, call.fail(500, "you can't move a disk with snapshots and delete the source")), "snapshots"},
		"the copy is not made": {"scsi0", "fast", "", steps(here, call.data200(upid), taskSteps(upid, "storage migration failed: no space")), "no space"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, test.steps...).Move(t.Context(), ourGuest(), nil, test.slot, test.storage, test.format, nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestConfigureRemovesVolumesOfARefusal: PVE makes the volume of a new disk
// before it finds that it cannot plug it in, and keeps it as an unused one.
func TestConfigureRemovesVolumesOfARefusal(t *testing.T) {
	t.Parallel()

	ours := Marker{UID: uidA, VMID: 10000}
	before := configOf(ours, "unused0", "local:10000/vm-10000-disk-7.raw")
	after := append(slices.Clone(before), map[string]any{"key": "scsi1", "pending": "local:10000/vm-10000-disk-8.raw,size=1G"})
	reverted := configOf(ours, "unused0", "local:10000/vm-10000-disk-7.raw", "unused1", "local:10000/vm-10000-disk-8.raw")
	refused := on(put).with("scsi1", "local:1").fail(400, "hotplug problem - no")
	update := ConfigUpdate{Set: map[string]string{"scsi1": "local:1"}}
	list := steps(on(readGuest).data200(before), refused, on(readGuest).data200(after), on(put).with("revert", "scsi1"),
		on(readGuest).data200(reverted))
	removed := on(put).with("delete", "unused1")

	_, err := script(t, append(slices.Clone(list), removed)...).Configure(t.Context(), ourGuest(), nil, fixed(update))
	if err == nil || !strings.Contains(err.Error(), "hotplug problem") || strings.Contains(err.Error(), "unused") {
		t.Errorf("got %v", err)
	}
	_, err = script(t, append(slices.Clone(list), removed.fail(403, "no"))...).Configure(t.Context(), ourGuest(), nil, fixed(update))
	if err == nil || !strings.Contains(err.Error(), "unused disks ([local:10000/vm-10000-disk-8.raw])") {
		t.Errorf("a removal that fails: %v", err)
	}
}
