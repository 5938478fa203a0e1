package pvelab

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestDriveRewrite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"local:1":                                  "local:1",
		"size=1024M,file=local:100/x.raw":          "local:100/x.raw,size=1G",
		"volume=local:100/x.raw,ssd=on,backup=no":  "local:100/x.raw,backup=0,ssd=1",
		"local:1,iops_rd_length=3,discard=on":      "local:1,discard=on,iops_rd_max_length=3",
		"none,media=cdrom":                         "none,media=cdrom",
		"local:0,import-from=local:import/x.qcow2": "local:0,import-from=local:import/x.qcow2",
	} {
		if got := parseDrive(in).print(); got != want {
			t.Errorf("%s is rewritten to %s", in, got)
		}
	}
}

func TestDriveConsistency(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		slot, value string
		ok          bool
	}{
		{"scsi0", "local:1,mbps_rd=10,mbps_rd_max=20", true},
		{"scsi0", "local:1,mbps_rd_max=20", false},
		{"scsi0", "local:1,mbps=10,mbps_rd=5", false},
		{"ide2", "local:iso/x.iso,media=cdrom", true},
		{"virtio0", "local:iso/x.iso,media=cdrom", false},
		{"ide2", "local:iso/x.iso,media=cdrom,format=raw", false},
	} {
		if got := parseDrive(tc.value).consistent(tc.slot); got != tc.ok {
			t.Errorf("%s: %s is consistent: %v", tc.slot, tc.value, got)
		}
	}
}

func TestNICRewrite(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"model=virtio,bridge=vmbr0,macaddr=BC:24:11:00:00:01":                     "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		"virtio=bc:24:11:00:00:02,tag=20,firewall=on,bridge=vmbr0,trunks=1;2;3-5": "virtio=bc:24:11:00:00:02,bridge=vmbr0,firewall=1,tag=20,trunks=1;2;3-5",
	} {
		if got := parseNIC(in).print(); got != want {
			t.Errorf("%s is rewritten to %s", in, got)
		}
	}
	if tags := trunkTags("1;2;3-5"); !slices.Equal(tags, []string{"1", "2", "3", "4", "5"}) {
		t.Errorf("the trunk carries %v", tags)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"512": 512, "528K": 540672, "1.5G": 1610612736, "2T": 2 << 40, "+1G": 1 << 30, "2GiB": 2 << 30,
	} {
		if got, relative, ok := parseSize(text); got != want || relative != (text[0] == '+') || !ok {
			t.Errorf("%s reads %d, relative: %v, %v", text, got, relative, ok)
		}
	}
	if _, _, ok := parseSize("big"); ok {
		t.Error("big is a size")
	}
	for bytes, want := range map[int64]string{0: "0T", 512: "512", 540672: "528K", 2 << 30: "2G", 2560 << 20: "2560M"} {
		if got := formatSize(bytes); got != want {
			t.Errorf("%d is written %s", bytes, got)
		}
	}
}

func TestDescriptionAsFileKeepsIt(t *testing.T) {
	t.Parallel()
	g := newGuest("qemu", 100, "pve1")
	for in, want := range map[string]string{
		"two\nlines\n": "two\nlines", "  blanks  ": "  blanks", "a\r\nb": "a\r\nb", "\n \t": "",
	} {
		g.conf.set("description", in)
		if got := g.conf["description"]; got != want {
			t.Errorf("%q reads back %q", in, got)
		}
	}
	g.conf["description"] = "kept"
	g.setPending("description", "\n\n")
	if _, waits := g.pending["description"]; waits {
		t.Error("newlines alone are a change")
	}
	g.setPending("ciuser", "")
	if g.pending["ciuser"] != " " {
		t.Errorf("an empty value reads %q", g.pending["ciuser"])
	}
}

func TestPendingListTellsForce(t *testing.T) {
	t.Parallel()
	g := newGuest("qemu", 100, "pve1")
	g.conf = guestConfig{"scsi1": "local:100/a.raw", "cores": "2", "memory": "512"}
	g.pending = guestConfig{"cores": "4", "balloon": "0"}
	g.pendingDelete = map[string]bool{"scsi1": true, "memory": false}
	got := map[string]map[string]any{}
	for _, item := range g.pendingList() {
		key, _ := item["key"].(string)
		got[key] = item
	}
	if got["scsi1"]["delete"] != 2 || got["memory"]["delete"] != 1 || got["memory"]["value"] != "512" {
		t.Errorf("deletions: %v, %v", got["scsi1"], got["memory"])
	}
	if got["cores"]["value"] != int64(2) || got["cores"]["pending"] != int64(4) || got["balloon"]["pending"] != int64(0) {
		t.Errorf("changes: %v, %v", got["cores"], got["balloon"])
	}
	if _, ok := got["balloon"]["value"]; ok || got["digest"]["value"] != g.digest() {
		t.Errorf("balloon has a value, or the digest is not told: %v", got["digest"])
	}
	if merged := g.merged(); merged["scsi1"] != "" || merged["cores"] != "4" {
		t.Errorf("merged: %v", merged)
	}
}

// TestHeldMedia: the change fails and waits for the next start all the same.
func TestHeldMedia(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{})
	l.locked(func() {
		if _, err := l.storages["local"].addFile("pve1", "iso/x.iso", 1024); err != nil {
			t.Error(err)
		}
	})
	c.create("vmid=100", "memory=64", "ide2=local:iso/x.iso,media=cdrom")
	c.boot(l, "100")
	l.Faults().HoldMedia(100, true)
	const out = "ide2=none,media=cdrom"
	if a := c.call("PUT", "/nodes/pve1/qemu/100/config", form(out)); a.status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(a.errors), "qmp command 'eject' failed - got timeout") {
		t.Errorf("the change answers %+v", a)
	}
	if held := c.config("100", "current=1")["ide2"]; !strings.Contains(fmt.Sprint(held), "local:iso/x.iso") {
		t.Errorf("in force is %v", held)
	}
	if waiting := c.waiting("100"); !slices.Contains(waiting, "ide2") {
		t.Errorf("waiting are %v", waiting)
	}
	l.Faults().HoldMedia(100, false)
	c.must("PUT", "/nodes/pve1/qemu/100/config", out)
	if waiting := c.waiting("100"); len(waiting) != 0 {
		t.Errorf("waiting are %v", waiting)
	}
}
