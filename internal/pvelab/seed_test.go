package pvelab

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func seeded(t *testing.T, o Options) *Lab {
	t.Helper()
	o.Speed = 1000
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func tokenClient(t *testing.T, l *Lab, name string) *client {
	t.Helper()
	id, secret := l.Token(name)
	if id == "" || secret == "" {
		t.Fatalf("no token %q", name)
	}
	return newClient(t, l, "PVEAPIToken="+id+"="+secret)
}

// do makes a call that must succeed and waits for its task.
func do(t *testing.T, c *client, method, path, form string) any {
	t.Helper()
	values, err := url.ParseQuery(form)
	if err != nil {
		t.Fatal(err)
	}
	a := c.call(method, path, values)
	if a.status != 200 {
		t.Fatalf("%s %s %s: %d %s %v", method, path, form, a.status, a.reason, a.errors)
	}
	if upid := text(a.data); strings.HasPrefix(upid, "UPID:") {
		if s := settled(t, c, upid); s["exitstatus"] != statusOK {
			t.Fatalf("%s %s: %v", method, path, s["exitstatus"])
		}
	}
	return a.data
}

// TestLeastTokenCanDoTheJob takes a VM through its life with the rights of one
// pool, in both versions.
func TestLeastTokenCanDoTheJob(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		for template, disk := range map[int]string{9000: "scsi0", 9001: "virtio0"} {
			t.Run(fmt.Sprintf("%s/%d", version, template), func(t *testing.T) {
				t.Parallel()
				l := seeded(t, Options{Version: version})
				c := tokenClient(t, l, "least")
				do(t, c, "GET", "/version", "")
				do(t, c, "GET", "/cluster/status", "")
				do(t, c, "GET", "/nodes/pve1/storage", "")
				do(t, c, "POST", "/pools", "poolid=terraform/id-20000")
				do(t, c, "POST", fmt.Sprintf("/nodes/pve1/qemu/%d/clone", template), "newid=20000&full=1&name=web&pool=terraform")
				do(t, c, "PUT", "/nodes/pve1/qemu/20000/resize", "disk="+disk+"&size=10G")
				do(t, c, "PUT", "/nodes/pve1/qemu/20000/config",
					"cores=2&memory=1024&description=x&tags=a&ciuser=ops&ipconfig0=ip%3Ddhcp&agent=1&net0=virtio,bridge%3Dvmbr1&ide3=none,media%3Dcdrom")
				do(t, c, "POST", "/nodes/pve1/qemu/20000/status/start", "")
				do(t, c, "POST", "/nodes/pve1/qemu/20000/status/stop", "")
				do(t, c, "DELETE", "/nodes/pve1/qemu/20000", "purge=1")
				do(t, c, "DELETE", "/pools", "poolid=terraform/id-20000")
				do(t, c, "GET", "/cluster/nextid", "vmid=20000")
			})
		}
	}
}

func TestLeastTokenCanDoNoMore(t *testing.T) {
	t.Parallel()
	l := seeded(t, Options{})
	c := tokenClient(t, l, "least")
	for _, tc := range []struct{ method, path, form, reason string }{
		{"PUT", "/nodes/pve1/qemu/9000/config", "memory=512", "Permission check failed (/vms/9000, "},
		{"DELETE", "/nodes/pve1/qemu/9000", "", "Permission check failed (/vms/9000, VM.Allocate)"},
		{"POST", "/nodes/pve1/qemu/9000/clone", "newid=20000", "Permission check failed"},
		{"POST", "/pools", "poolid=other", "Permission check failed (/pool/other, Pool.Allocate)"},
		{"POST", "/nodes/pve1/storage/local/content", "vmid=20000&filename=vm-20000-disk-0&size=1G", "Permission check failed (/storage/local, Datastore.AllocateSpace)"},
	} {
		values, err := url.ParseQuery(tc.form)
		if err != nil {
			t.Fatal(err)
		}
		a := c.call(tc.method, tc.path, values)
		if a.status != 403 || !strings.HasPrefix(a.reason, tc.reason) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, a.status, a.reason)
		}
	}
}

func TestTokenWithNothing(t *testing.T) {
	t.Parallel()
	l := seeded(t, Options{})
	c := tokenClient(t, l, "nothing")
	if got, _ := do(t, c, "GET", "/access/permissions", "").(map[string]any); len(got) != 0 {
		t.Errorf("permissions: %v", got)
	}
	if a := c.call("GET", "/nodes/pve1/qemu/9000/config", nil); a.reason != "Permission check failed (/vms/9000, VM.Audit)" {
		t.Errorf("config of a template: %d %s", a.status, a.reason)
	}
}

func TestDefaultLab(t *testing.T) {
	t.Parallel()
	l := seeded(t, Options{})
	c := tokenClient(t, l, "full")
	for _, node := range l.Nodes() {
		rows, _ := do(t, c, "GET", "/nodes/"+node+"/storage", "").([]any)
		if len(rows) != 5 {
			t.Errorf("%s has %d storages", node, len(rows))
		}
		bridges, _ := do(t, c, "GET", "/nodes/"+node+"/network", "type=any_bridge").([]any)
		if len(bridges) != 2 {
			t.Errorf("%s has %d bridges", node, len(bridges))
		}
	}
	for vmid, boot := range map[int]string{9000: "scsi0", 9001: "virtio0"} {
		conf, _ := do(t, c, "GET", fmt.Sprintf("/nodes/pve1/qemu/%d/config", vmid), "").(map[string]any)
		if conf["template"] != 1.0 || conf["boot"] != "order="+boot || !strings.HasSuffix(text(conf[boot]), "size=3G") {
			t.Errorf("template %d: %v", vmid, conf)
		}
	}
	do(t, c, "POST", "/nodes/pve1/qemu/9000/clone", "newid=20000&full=1&target=pve3")
	if conf, _ := do(t, c, "GET", "/nodes/pve3/qemu/20000/config", "").(map[string]any); conf["net0"] == nil {
		t.Errorf("a clone on another node: %v", conf)
	}
	if a := c.call("POST", "/nodes/pve1/qemu/9001/clone", url.Values{"newid": {"20001"}, "target": {"pve3"}}); a.status == 200 {
		t.Error("a template on a local storage is cloned to another node")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Version: "7"},
		{Nodes: []string{"no_pe"}},
		{Standalone: true, Nodes: []string{"a", "b"}},
		{Speed: -1},
		{Listen: "nowhere"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	l, err := New(Options{Standalone: true, NoTemplates: true, RootPassword: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Nodes()) != 1 || len(l.guests) != 0 || l.RootPassword() != "x" {
		t.Errorf("nodes %v, %d guests", l.Nodes(), len(l.guests))
	}
	if l.URL() != "" {
		t.Errorf("a lab that was not started answers at %s", l.URL())
	}
}
