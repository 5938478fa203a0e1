package template_test

import (
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

func TestTemplate(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	byID := read(t, lab, protocol.Object{"vmid": 9000})
	byName := read(t, lab, protocol.Object{"name": byID["name"]})
	onNode := read(t, lab, protocol.Object{"name": byID["name"], "node": byID["node"]})
	for how, state := range map[string]protocol.Object{"by id": byID, "by name": byName, "by name and node": onNode} {
		if state["vmid"] != float64(9000) || state["name"] == "" || state["node"] == "" {
			t.Errorf("%s: vmid %v, name %v, node %v", how, state["vmid"], state["name"], state["node"])
		}
		if state["boot_disk"] != "scsi0" {
			t.Errorf("%s: boot disk %v, want scsi0", how, state["boot_disk"])
		}
	}

	config, err := lab.Hand.Config(t.Context(), 9000)
	if err != nil {
		t.Fatal(err)
	}
	volume, _, _ := strings.Cut(config["scsi0"], ",")
	storage, _, _ := strings.Cut(volume, ":")
	disk := byID.At(t, "disks", "scsi0")
	disk.Want(t, protocol.Object{"volume_id": volume, "storage": storage})
	if size, ok := disk["size_gib"].(float64); !ok || size <= 0 {
		t.Errorf("size %v, want a number of GiB", disk["size_gib"])
	}
	for slot := range byID.At(t, "disks") {
		if strings.Contains(config[slot], "media=cdrom") {
			t.Errorf("%s is a CD-ROM drive and among the disks", slot)
		}
	}
	byID.Want(t, protocol.Object{"cloud_init": true, "shared": true})
	byID.At(t, "network", "net0").Want(t, protocol.Object{"bridge": "vmbr0", "model": "virtio"})
}

func TestTemplateThatBootsFromVirtIO(t *testing.T) {
	t.Parallel()

	read(t, newLab(t, "full"), protocol.Object{"vmid": 9001}).Want(t, protocol.Object{"boot_disk": "virtio0", "shared": false})
}

// TestTemplateWithFewRights holds that the rights which making VMs takes are
// enough to look the template up.
func TestTemplateWithFewRights(t *testing.T) {
	t.Parallel()

	read(t, newLab(t, "least"), protocol.Object{"vmid": 9000}).Want(t, protocol.Object{"boot_disk": "scsi0", "name": "debian-13"})
}

func TestTemplateRefused(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "full")
	for vmid, name := range map[int]string{20000: "plain", 20001: "twin", 20002: "twin"} {
		if err := lab.Hand.CreateVM(t.Context(), "pve1", vmid, byhand.Params{"name": name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/nodes/pve1/qemu/20001/template", "/nodes/pve1/qemu/20002/template"} {
		if err := lab.Hand.Task(t.Context(), http.MethodPost, path, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		config protocol.Object
		says   []string
	}{
		"neither id nor name":    {protocol.Object{}, []string{"vmid", "name"}},
		"both id and name":       {protocol.Object{"vmid": 9000, "name": "debian"}, []string{"vmid", "name"}},
		"no such id":             {protocol.Object{"vmid": 8999}, []string{"No guest in the cluster has the id 8999"}},
		"no such name":           {protocol.Object{"name": "nobody"}, []string{"nobody", "VM.Audit"}},
		"no template, by id":     {protocol.Object{"vmid": 20000}, []string{"VM 20000", "no template", "qm template"}},
		"no template, by name":   {protocol.Object{"name": "plain"}, []string{"VM 20000", "no template"}},
		"two of one name":        {protocol.Object{"name": "twin"}, []string{"2 templates", "VM 20001", "VM 20002"}},
		"on another node":        {protocol.Object{"vmid": 20001, "node": "pve2"}, []string{`is on node "pve1"`}},
		"an id that PVE bars":    {protocol.Object{"vmid": 99}, []string{"100"}},
		"a name that PVE bars":   {protocol.Object{"name": "no_name"}, []string{"DNS name"}},
		"a name on another node": {protocol.Object{"name": "plain", "node": "pve2"}, []string{"plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, lab, test.config, test.says...)
		})
	}
}

// TestTemplateUnseen holds that what the token may not see is not said to be
// absent.
func TestTemplateUnseen(t *testing.T) {
	t.Parallel()

	lab := newLab(t, "nothing")
	refused(t, lab, protocol.Object{"vmid": 9000}, "exists", "VM.Audit", "/vms/9000")
	refused(t, lab, protocol.Object{"vmid": 8999}, "No guest in the cluster has the id 8999")
}

func newLab(t *testing.T, token string) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), token, nil)
}

func read(t *testing.T, lab *protocol.Lab, config protocol.Object) protocol.Object {
	t.Helper()

	state, diagnostics := lab.ReadDataSource(t, "proxmox_template", config)
	if len(diagnostics) != 0 {
		t.Fatalf("%v: %s", config, diagnostics)
	}
	return state
}

func refused(t *testing.T, lab *protocol.Lab, config protocol.Object, says ...string) {
	t.Helper()

	_, diagnostics := lab.ReadDataSource(t, "proxmox_template", config)
	if len(diagnostics.Errors()) == 0 {
		t.Fatalf("%v is accepted", config)
	}
	for _, text := range says {
		if !strings.Contains(diagnostics.String(), text) {
			t.Errorf("%v: the error does not say %q: %s", config, text, diagnostics)
		}
	}
}
