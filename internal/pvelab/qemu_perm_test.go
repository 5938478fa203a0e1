package pvelab

import (
	"net/http"
	"strings"
	"testing"
)

// grant gives a token rights on a path, with a role of its own.
func grant(l *Lab, token, path, privs string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := strings.ReplaceAll(strings.Trim(path, "/"), "/", "-") + "-" + strings.ReplaceAll(privs, " ", "-")
	l.access.roles[name] = &role{privs: privSet(words(privs))}
	owner, _, _ := strings.Cut(token, "!")
	for kind, id := range map[string]string{"user": owner, "token": token} {
		l.access.acl = append(l.access.acl, aclEntry{path: path, kind: kind, id: id, role: name, propagate: true})
	}
}

func TestCloneNamesEachMissingRight(t *testing.T) {
	t.Parallel()
	l, root := vmLab(t, Options{})
	root.template()
	root.must("POST", "/pools", "poolid=mine")
	addToken(l, "u@pve", "tok", "secret", true)
	c := newClient(t, l, "PVEAPIToken=u@pve!tok=secret")
	clone := []string{"newid=101", "pool=mine", "full=1"}
	for _, step := range []struct{ refusal, path, privs string }{
		{"/vms/9000, VM.Clone", "/vms/9000", "VM.Clone"},
		{"", "/pool/mine", "VM.Allocate VM.Audit"},
		{"/storage/local, Datastore.AllocateSpace", "/storage/local", "Datastore.AllocateSpace"},
		{"/sdn/zones/localnetwork/vmbr0, SDN.Use", "/sdn/zones/localnetwork/vmbr0", "SDN.Use"},
	} {
		want := "Permission check failed"
		if step.refusal != "" {
			want += " (" + step.refusal + ")"
		}
		status, reason := c.fails("POST", "/nodes/pve1/qemu/9000/clone", clone...)
		if status != http.StatusForbidden || (step.refusal != "" && reason != want) {
			t.Fatalf("before %s on %s: %d %s", step.privs, step.path, status, reason)
		}
		grant(l, "u@pve!tok", step.path, step.privs)
	}
	a := c.call("POST", "/nodes/pve1/qemu/9000/clone", form(clone...))
	upid, _ := a.data.(string)
	if a.status != http.StatusOK || root.exit(upid) != "OK" {
		t.Fatalf("with every right: %d %s", a.status, a.reason)
	}
	if status, reason := c.fails("POST", "/nodes/pve1/qemu/9000/clone", "newid=102", "full=1"); status != http.StatusForbidden {
		t.Errorf("outside the pool: %d %s", status, reason)
	}
	if a := c.call("GET", "/nodes/pve1/qemu/101/config", nil); a.status != http.StatusOK {
		t.Errorf("the pool's right does not reach its member: %s", a.reason)
	}
	root.must("DELETE", "/nodes/pve1/qemu/101")
	if status, _ := c.fails("GET", "/nodes/pve1/qemu/101/config"); status != http.StatusForbidden {
		t.Errorf("the right outlives the member: %d", status)
	}
}

func TestOptionsNeedTheirPrivilege(t *testing.T) {
	t.Parallel()
	l, root := vmLab(t, Options{})
	root.create("vmid=100", "memory=64", "scsi0=local:1", "ide2=none,media=cdrom")
	addToken(l, "u@pve", "tok", "secret", true)
	// One privilege opens the method; each option asks for its own.
	grant(l, "u@pve!tok", "/vms/100", "VM.Config.HWType")
	c := newClient(t, l, "PVEAPIToken=u@pve!tok=secret")
	for option, priv := range map[string]string{
		"memory=128": "VM.Config.Memory", "cores=2": "VM.Config.CPU", "name=x": "VM.Config.Options", "tags=x": "VM.Config.Options",
		"ciuser=x": "VM.Config.Cloudinit|VM.Config.Network", "ipconfig0=ip=dhcp": "VM.Config.Cloudinit|VM.Config.Network",
		"net0=virtio,bridge=vmbr0": "VM.Config.Network", "delete=scsi0": "VM.Config.Disk", "ide2=none,media=cdrom": "VM.Config.CDROM",
		"boot=order=scsi0": "VM.Config.Disk",
	} {
		want := "Permission check failed (/vms/100, " + priv + ")"
		if status, reason := c.fails("PUT", "/nodes/pve1/qemu/100/config", option); status != http.StatusForbidden || reason != want {
			t.Errorf("%s: %d %s", option, status, reason)
		}
	}
	c.must("PUT", "/nodes/pve1/qemu/100/config", "scsihw=virtio-scsi-pci")
}

func TestWhatOnlyRootMaySet(t *testing.T) {
	t.Parallel()
	_, c := vmLab(t, Options{})
	c.create("vmid=100")
	for option, want := range map[string]string{
		"args=-foo":                  "only root can set 'args' config",
		"lock=backup":                "only root can set 'lock' config",
		"delete=lock":                "only root can set 'lock' config",
		"affinity=0-1":               "only root can set 'affinity' config",
		"vmgenid=1":                  "only root can set 'vmgenid' config",
		"serial0=/dev/ttyS0":         "only root can modify 'serial0' config for real devices",
		"usb0=host=1234:5678":        "only root can set 'usb0' config for real devices",
		"hostpci0=0000:00:00.0":      "only root can set 'hostpci0' config for non-mapped devices",
		"scsi0=/dev/sda":             "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.",
		"scsi0=nope:1":               "storage 'nope' does not exist",
		"boot=order=scsi5":           "invalid bootorder: device 'scsi5' does not exist'",
		"balloon=100000":             "balloon value too large (must be smaller than assigned memory)",
		"ide2=local:iso/absent.iso":  "",
		"scsi0=local:iso/absent.iso": "",
	} {
		status, reason := c.fails("PUT", "/nodes/pve1/qemu/100/config", option)
		if want != "" && (status != http.StatusInternalServerError || reason != want) {
			t.Errorf("%s: %d %s", option, status, reason)
		}
	}
	if a := c.call("PUT", "/nodes/pve1/qemu/100/config", form("memory=64", "skiplock=1")); a.errors["skiplock"] != "Only root may use this option." {
		t.Errorf("skiplock by a token: %d %v", a.status, a.errors)
	}
}
