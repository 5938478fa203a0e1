package pvelab

import (
	"net/http"
	"testing"
)

// storeLab is an idle lab with a directory, a thin pool and a shared storage on
// two nodes.
func storeLab(t *testing.T) *Lab {
	t.Helper()
	l, err := New(Options{Nodes: []string{"pve1", "pve2"}, Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz", "content": "images,iso,import,vztmpl,snippets,backup"})
	l.addStorage("thin", "lvmthin", 1<<40, map[string]string{"vgname": "pve", "thinpool": "data"})
	l.addStorage("nfs", "nfs", 1<<40, map[string]string{"server": "s", "export": "/e", "path": "/mnt/pve/nfs", "content": "images"})
	l.addStorage("off", "dir", 1<<40, map[string]string{"path": "/off", "disable": "1"})
	l.addStorage("second", "dir", 1<<40, map[string]string{"path": "/second", "nodes": "pve2"})
	return l
}

func TestParseVolume(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	for volid, want := range map[string]volumeName{
		"local:110/vm-110-disk-0.qcow2": {file: "vm-110-disk-0.qcow2", content: "images", format: "qcow2", vmid: 110},
		"local:9000/base-9000-disk-1.raw": {
			file: "base-9000-disk-1.raw", content: "images", format: "raw", vmid: 9000, base: true,
		},
		"local:9000/base-9000-disk-0.qcow2/110/vm-110-disk-0.qcow2": {
			file: "vm-110-disk-0.qcow2", content: "images", format: "qcow2", vmid: 110, parent: "9000/base-9000-disk-0.qcow2",
		},
		"local:iso/a b.ISO":                  {file: "a b.ISO", content: "iso", format: "iso"},
		"local:vztmpl/x_1.tar.gz":            {file: "x_1.tar.gz", content: "vztmpl", format: "tgz"},
		"local:vztmpl/x_1.tar.zst":           {file: "x_1.tar.zst", content: "vztmpl", format: "tzst"},
		"local:import/i.qcow2":               {file: "i.qcow2", content: "import", format: "qcow2"},
		"local:snippets/u.yaml":              {file: "u.yaml", content: "snippets", format: "snippet"},
		"local:backup/vzdump-qemu-7-x.vma":   {file: "vzdump-qemu-7-x.vma", content: "backup", format: "vma", vmid: 7},
		"thin:vm-110-disk-0":                 {file: "vm-110-disk-0", content: "images", format: "raw", vmid: 110},
		"thin:base-9000-disk-0":              {file: "base-9000-disk-0", content: "images", format: "raw", vmid: 9000, base: true},
		"nfs:110/vm-110-cloudinit.qcow2":     {file: "vm-110-cloudinit.qcow2", content: "images", format: "qcow2", vmid: 110},
		"local:220/subvol-220-disk-0.subvol": {file: "subvol-220-disk-0.subvol", content: "images", format: "subvol", vmid: 220},
	} {
		got, err := l.parseVolume(volid)
		got.name, got.storageID = "", ""
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, not %+v", volid, got, err, want)
		}
	}
	for volid, want := range map[string]string{
		"local:big":              "unable to parse directory volume name 'big'",
		"local:110/disk.raw":     "unable to parse volume filename 'disk.raw'",
		"local:iso/x.txt":        "unable to parse directory volume name 'iso/x.txt'",
		"thin:data":              "unable to parse lvm volume name 'data'",
		"nope:1":                 "storage 'nope' does not exist",
		"no volume":              "unable to parse volume ID 'no volume'",
		"local:iso/sub/dir.iso":  "unable to parse directory volume name 'iso/sub/dir.iso'",
		"local:import/i.tar.bz2": "unable to parse directory volume name 'import/i.tar.bz2'",
	} {
		if _, err := l.parseVolume(volid); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %q", volid, err, want)
		}
	}
}

func TestAllocTakesTheNextName(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	local, thin := l.storages["local"], l.storages["thin"]
	alloc := func(s *storage, node, format, file string) string {
		t.Helper()
		v, err := s.alloc(node, 110, format, file, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		return v.volid
	}
	for _, c := range []struct{ got, want string }{
		{alloc(local, "pve1", "", ""), "local:110/vm-110-disk-0.raw"},
		{alloc(local, "pve1", "qcow2", ""), "local:110/vm-110-disk-1.qcow2"},
		{alloc(local, "pve2", "qcow2", ""), "local:110/vm-110-disk-0.qcow2"},
		{alloc(thin, "pve1", "", ""), "thin:vm-110-disk-0"},
		{alloc(thin, "pve1", "raw", "vm-110-cloudinit"), "thin:vm-110-cloudinit"},
		{alloc(l.storages["nfs"], "pve1", "", ""), "nfs:110/vm-110-disk-0.raw"},
		{alloc(l.storages["nfs"], "pve2", "", ""), "nfs:110/vm-110-disk-1.raw"},
	} {
		if c.got != c.want {
			t.Errorf("%s, not %s", c.got, c.want)
		}
	}
	if err := l.freeVolume("pve1", "local:110/vm-110-disk-0.raw"); err != nil {
		t.Fatal(err)
	}
	if got := alloc(local, "pve1", "qcow2", ""); got != "local:110/vm-110-disk-0.qcow2" {
		t.Errorf("a freed number is not taken again: %s", got)
	}
	if n := len(l.volumesOf("pve1", 110)); n != 6 {
		t.Errorf("pve1 sees %d volumes of the guest, not 6", n)
	}
}

func TestAllocRefusals(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	local, thin := l.storages["local"], l.storages["thin"]
	if _, err := local.alloc("pve1", 1000, "raw", "vm-1000-disk-0.raw", 1); err != nil {
		t.Fatal(err)
	}
	for want, alloc := range map[string]func() (*volume, error){
		"disk image '/var/lib/vz/images/1000/vm-1000-disk-0.raw' already exists": func() (*volume, error) {
			return local.alloc("pve1", 1000, "raw", "vm-1000-disk-0.raw", 1)
		},
		"unable to parse volume filename 'disk.raw'": func() (*volume, error) { return local.alloc("pve1", 1000, "raw", "disk.raw", 1) },
		"illegal name 'vm-1000-disk-1.raw' - wrong extension for format ('raw != 'qcow2')": func() (*volume, error) {
			return local.alloc("pve1", 1000, "qcow2", "vm-1000-disk-1.raw", 1)
		},
		"illegal name 'vm-7-disk-1' - should be 'vm-1000-*'": func() (*volume, error) {
			return thin.alloc("pve1", 1000, "raw", "vm-7-disk-1", 1)
		},
	} {
		if _, err := alloc(); err == nil || err.Error() != want {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestUsableStorages(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	for id, want := range map[string]string{
		"local": "", "off": "storage 'off' is disabled", "nope": "storage 'nope' does not exist",
		"second": "storage 'second' is not available on node 'pve1'",
	} {
		_, err := l.storage("pve1", id)
		if got := errorText(err); got != want {
			t.Errorf("%s: %q, not %q", id, got, want)
		}
	}
	if _, err := l.storage("pve2", "second"); err != nil {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestBasesAndLinkedClones(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ storage, base, clone, renamed string }{
		{
			"local", "local:9000/base-9000-disk-0.raw", "local:9000/base-9000-disk-0.raw/110/vm-110-disk-0.qcow2",
			"local:9000/base-9000-disk-0.raw/111/vm-111-disk-0.qcow2",
		},
		{"thin", "thin:base-9000-disk-0", "thin:vm-110-disk-0", "thin:vm-111-disk-0"},
	} {
		l := storeLab(t)
		v, err := l.storages[c.storage].alloc("pve1", 9000, "raw", "", 3<<30)
		if err != nil {
			t.Fatal(err)
		}
		data := v.contentID
		if _, err := l.cloneVolume("pve1", v.volid, 110); errorText(err) != "clone_image only works on base images" {
			t.Errorf("%s: clone of a plain volume: %v", c.storage, err)
		}
		base, err := l.makeBase("pve1", v.volid)
		if err != nil || base.volid != c.base || base.contentID != data {
			t.Fatalf("%s: base %+v, %v", c.storage, base, err)
		}
		if _, err := l.makeBase("pve1", c.base); errorText(err) != "create_base not possible with base image" {
			t.Errorf("%s: base of a base: %v", c.storage, err)
		}
		clone, err := l.cloneVolume("pve1", c.base, 110)
		if err != nil || clone.volid != c.clone || clone.size != 3<<30 || clone.contentID != data {
			t.Fatalf("%s: clone %+v, %v", c.storage, clone, err)
		}
		renamed, err := l.renameVolume("pve1", c.clone, 111)
		if err != nil || renamed.volid != c.renamed || renamed.vmid != 111 {
			t.Fatalf("%s: renamed %+v, %v", c.storage, renamed, err)
		}
		if _, err := l.volume("pve1", c.clone); err == nil {
			t.Errorf("%s: the old name still works", c.storage)
		}
	}
}

func TestABaseInUseStays(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	v, err := l.storages["local"].alloc("pve1", 9000, "qcow2", "", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	base, err := l.makeBase("pve1", v.volid)
	if err != nil {
		t.Fatal(err)
	}
	clone, err := l.cloneVolume("pve1", base.volid, 110)
	if err != nil {
		t.Fatal(err)
	}
	want := "base volume '9000/base-9000-disk-0.qcow2' is still in use by linked clones"
	if err := l.freeVolume("pve1", base.volid); errorText(err) != want {
		t.Errorf("%v, not %q", err, want)
	}
	for _, volid := range []string{clone.volid, base.volid, base.volid} {
		if err := l.freeVolume("pve1", volid); err != nil {
			t.Errorf("%s: %v", volid, err)
		}
	}
}

func TestVolumeFeatures(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	for _, c := range []struct {
		feature, volid, snapshot string
		want                     bool
	}{
		{"snapshot", "local:1/vm-1-disk-0.qcow2", "", true},
		{"snapshot", "local:1/vm-1-disk-0.raw", "", false},
		{"snapshot", "thin:vm-1-disk-0", "", true},
		{"clone", "local:1/base-1-disk-0.raw", "", true},
		{"clone", "local:1/vm-1-disk-0.qcow2", "", false},
		{"clone", "thin:vm-1-disk-0", "s1", true},
		{"copy", "local:1/vm-1-disk-0.raw", "s1", false},
		{"rename", "local:1/base-1-disk-0.raw", "", false},
		{"template", "nfs:1/vm-1-disk-0.raw", "", true},
	} {
		if got := l.volumeHas(c.feature, c.volid, c.snapshot); got != c.want {
			t.Errorf("%s of %s (%s): %v", c.feature, c.volid, c.snapshot, got)
		}
	}
}

func TestAFullStorage(t *testing.T) {
	t.Parallel()
	l := storeLab(t)
	v, err := l.storages["thin"].alloc("pve1", 110, "raw", "", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	l.Faults().FillStorage("thin", true)
	want := "lvcreate 'pve/vm-110-disk-1' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold."
	if _, err := l.storages["thin"].alloc("pve1", 110, "raw", "", 1); errorText(err) != want {
		t.Errorf("alloc: %v", err)
	}
	if err := l.resizeVolume("pve1", v.volid, 2<<30); err == nil || v.size != 1<<30 {
		t.Errorf("growing: %v, size %d", err, v.size)
	}
	l.Faults().FillStorage("thin", false)
	if err := l.resizeVolume("pve1", v.volid, 2<<30); err != nil || v.size != 2<<30 {
		t.Errorf("growing with room: %v, size %d", err, v.size)
	}
}

func TestContentIsFilteredByRights(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		s := l.addStorage("local", "dir", 1<<40, map[string]string{"path": "/var/lib/vz", "content": "images,iso"})
		for _, name := range []string{"iso/a.iso", "110/vm-110-disk-0.raw", "111/vm-111-disk-0.raw"} {
			if _, err := s.addFile("pve1", name, 512); err != nil {
				t.Error(err)
			}
		}
		l.access.roles["Look"] = &role{privs: privSet([]string{"Datastore.Audit", "VM.Config.Disk"})}
		for _, path := range []string{"/storage/local", "/vms/110"} {
			l.access.acl = append(l.access.acl, aclEntry{path: path, kind: "user", id: "a@pve", role: "Look", propagate: true})
		}
	})
	addToken(l, "a@pve", "tok", "secret", false)
	a := newClient(t, l, "PVEAPIToken=a@pve!tok=secret").call(http.MethodGet, "/nodes/pve1/storage/local/content", nil)
	if got := namesIn(a.data, "volid"); !sameSet(got, "local:iso/a.iso", "local:110/vm-110-disk-0.raw") {
		t.Errorf("%v", got)
	}
	a = rootClient(t, l).call(http.MethodGet, "/nodes/pve1/storage/local/content", nil)
	if got := namesIn(a.data, "volid"); len(got) != 3 {
		t.Errorf("root sees %v", got)
	}
}
