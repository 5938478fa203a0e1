package pvelab

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestStorageConfiguration(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	c := rootClient(t, l)
	runSteps(t, c, []apiStep{
		{"POST", "/storage", "storage=d1&type=dir", "missing value for required option 'path'"},
		{"POST", "/storage", "storage=d1&type=dir&path=/d&server=x", "unexpected property 'server'"},
		{"POST", "/storage", "storage=d1&type=dir&path=/d&content=images,none", "unable to combine 'none' with other content types"},
		{"POST", "/storage", "storage=d1&type=dir&path=/d//&content=iso,images&disable=0&nodes=", ""},
		{"POST", "/storage", "storage=d1&type=dir&path=/d", "create storage failed: storage ID 'd1' already defined"},
		{"POST", "/storage", "storage=n1&type=nfs&path=/mnt/pve/n1&server=s&export=/e", ""},
		{"PUT", "/storage/d1", "delete=path", "update storage failed: unable to delete required option 'path'"},
		{"PUT", "/storage/d1", "delete=nothing", "update storage failed: no such option 'nothing'"},
		{"PUT", "/storage/d1", "content=iso&delete=content", "update storage failed: cannot set and delete property 'content' at the same time!"},
		{"PUT", "/storage/d1", "content=iso&nodes=pve1", ""},
		{"PUT", "/storage/none", "content=iso", "update storage failed: storage 'none' does not exist"},
		{"PUT", "/storage/d1", "disable=1", ""},
		{"GET", "/nodes/pve1/storage/d1/content", "", "storage 'd1' is disabled"},
		{"DELETE", "/storage/none", "", "delete storage failed: storage 'none' does not exist"},
	})
	d, _ := c.call("GET", "/storage/d1", nil).data.(map[string]any)
	if d["path"] != "/d" || d["content"] != "iso" || d["disable"] != float64(1) || d["nodes"] != "pve1" {
		t.Errorf("%v", d)
	}
	n, _ := c.call("GET", "/storage/n1", nil).data.(map[string]any)
	if n["shared"] != float64(1) || n["content"] != "images" || n["digest"] != d["digest"] {
		t.Errorf("%v beside digest %v", n, d["digest"])
	}
	digest, _ := d["digest"].(string)
	runSteps(t, c, []apiStep{
		{"PUT", "/storage/n1", "options=vers%3D4.2&digest=" + digest, ""},
		{
			"PUT", "/storage/n1", "options=vers%3D3&digest=" + digest,
			"update storage failed: detected modified configuration - file changed by other user? Try again.",
		},
		{"DELETE", "/storage/d1", "", ""},
	})
}

func TestNodeStorages(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Nodes: []string{"pve1", "pve2"}})
	l.locked(func() {
		l.addStorage("s-a", "dir", 100, map[string]string{"path": "/a", "content": "iso"})
		l.addStorage("s-b", "nfs", 100, map[string]string{"path": "/b", "server": "s", "export": "/e", "content": "images"})
		l.addStorage("s-c", "dir", 100, map[string]string{"path": "/c", "content": "iso", "nodes": "pve2"})
		l.addStorage("s-d", "dir", 100, map[string]string{"path": "/d", "content": "iso", "disable": "1"})
	})
	c := rootClient(t, l)
	for query, want := range map[string][]string{
		"":            {"s-a", "s-b", "s-c", "s-d"},
		"enabled=1":   {"s-a", "s-b", "s-c"},
		"content=iso": {"s-a"},
		"target=pve2": {"s-b"},
		"storage=s-a": {"s-a"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := namesIn(c.call("GET", "/nodes/pve1/storage", values).data, "storage"); !sameSet(got, want...) {
			t.Errorf("%q: %v", query, got)
		}
	}
	for id, active := range map[string]float64{"s-a": 1, "s-c": 0, "s-d": 0} {
		s, _ := c.call("GET", "/nodes/pve1/storage/"+id+"/status", nil).data.(map[string]any)
		if s["active"] != active || (s["total"] != float64(0)) != (active == 1) {
			t.Errorf("%s: %v", id, s)
		}
	}
}

// TestStorageAway: it is enabled, and nothing of it is to be had.
func TestStorageAway(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	l.locked(l.seedStorages)
	c := rootClient(t, l)
	for id, text := range map[string]string{
		"seeds":      "unable to activate storage 'seeds' - directory '/var/lib/seeds' does not exist or is unreachable",
		"shared-nfs": "storage 'shared-nfs' is not online",
	} {
		for _, away := range []bool{true, false} {
			l.Faults().StorageAway(id, away)
			info, _ := c.call("GET", "/nodes/pve1/storage/"+id+"/status", nil).data.(map[string]any)
			if info["enabled"] != float64(1) || (info["active"] == float64(0)) != away || (info["total"] == float64(0)) != away {
				t.Errorf("%s, away %t: %v", id, away, info)
			}
		}
		l.Faults().StorageAway(id, true)
		if status, said := c.fails("GET", "/nodes/pve1/storage/"+id+"/content"); status != 500 || !strings.Contains(said, text) {
			t.Errorf("%s: its content answers %d %s", id, status, said)
		}
	}
}

func TestContentComesInRandomOrder(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		l.addStorage("s-a", "dir", 100, map[string]string{"path": "/a", "content": "iso,images,vztmpl,backup,snippets,import,rootdir"})
	})
	c := rootClient(t, l)
	var seen []string
	for range 50 {
		s, _ := c.call("GET", "/storage/s-a", nil).data.(map[string]any)
		order, _ := s["content"].(string)
		if !slices.Contains(seen, order) {
			seen = append(seen, order)
		}
	}
	if len(seen) < 2 {
		t.Errorf("always %v", seen)
	}
}

func TestDeletingAVolume(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{Standalone: true})
	l.locked(func() {
		s := l.addStorage("s-a", "dir", 1<<40, map[string]string{"path": "/a", "content": "iso"})
		for _, name := range []string{"iso/x.iso", "iso/y.iso"} {
			if _, err := s.addFile("pve1", name, 512); err != nil {
				t.Error(err)
			}
		}
	})
	c := rootClient(t, l)
	c.must(http.MethodDelete, "/nodes/pve1/storage/s-a/content/s-a:iso/x.iso")
	c.must(http.MethodDelete, "/nodes/pve1/storage/s-a/content/iso/x.iso")
	a := c.call("DELETE", "/nodes/pve1/storage/s-a/content/s-a:iso/y.iso", url.Values{"delay": {"30"}})
	if a.status != http.StatusOK || a.data != nil {
		t.Errorf("with a delay: %d %v", a.status, a.data)
	}
	if left := c.call("GET", "/nodes/pve1/storage/s-a/content", nil).data; len(namesIn(left, "volid")) != 0 {
		t.Errorf("left: %v", left)
	}
	runSteps(t, c, []apiStep{
		{"DELETE", "/nodes/pve1/storage/s-a/content/s-b:iso/y.iso", "", "Parameter verification failed."},
		{"DELETE", "/nodes/pve1/storage/s-a/content/foo", "", "unable to parse directory volume name 'foo'"},
	})
}
