package provider

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestPlansNamePrivileges: a plan that the token certainly may not carry out is
// refused with capability, path and privilege, and what may be held is left to
// Proxmox VE. All plans of a run share one look at the privileges.
func TestPlansNamePrivileges(t *testing.T) {
	t.Parallel()

	with := func(block, rest protocol.Object) protocol.Object {
		maps.Copy(block, rest)
		return block
	}
	fence := func(action, node string, rest protocol.Object) protocol.Object {
		return with(protocol.Object{"action": action, "node": node, "foreign": true}, rest)
	}
	firewall := func(scope protocol.Object) protocol.Object {
		return protocol.Object{"scope": scope, "foreign": true, "options": protocol.Object{"enabled": false}}
	}
	machine := func(rest protocol.Object) protocol.Object {
		return with(protocol.Object{"name": "web", "template": 9000}, rest)
	}
	container := func(rest protocol.Object) protocol.Object {
		return with(protocol.Object{
			"hostname": "db", "template": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst", "root_volume": protocol.Object{"size_gib": 4},
		}, rest)
	}
	tests := map[string]struct {
		resource, token string
		block           protocol.Object
		says            []string
	}{
		"a VM": {
			"proxmox_vm", "nothing",
			protocol.Object{"name": "web", "template": 9000},
			[]string{"no privileges at all", "VM.Clone on /vms/9000, to clone the template (vm.create)"},
		},
		"a container": {
			"proxmox_container", "nothing",
			protocol.Object{"hostname": "db", "template": "local:vztmpl/x.tar.zst", "root_volume": protocol.Object{"size_gib": 4}},
			[]string{"no privileges at all", "VM.Allocate on /vms/{vmid}, to make and destroy guests (container.create)"},
		},
		"a privileged container": {
			"proxmox_container", "least",
			container(protocol.Object{"unprivileged": false}),
			[]string{"Cannot make a privileged container", "Sys.Modify on /, to make a privileged container, whose root is the node's root (container.privileged)"},
		},
		"an unprivileged container": {"proxmox_container", "least", container(nil), nil},
		"a container that names no network": {
			"proxmox_container", "makes", container(nil),
			[]string{"VM.Config.Network on /vms/{vmid}, to set a container's host name, network devices and resolver (container.create)"},
		},
		"a VM with devices of the cluster": {
			"proxmox_vm", "least",
			machine(protocol.Object{
				"usb":      protocol.Object{"usb0": protocol.Object{"mapping": "dongle"}},
				"pci":      protocol.Object{"hostpci0": protocol.Object{"mapping": "gpu"}},
				"virtiofs": protocol.Object{"virtiofs0": protocol.Object{"mapping": "share"}},
				"rng":      protocol.Object{"source": "/dev/hwrng"},
				"startup":  protocol.Object{"order": 3},
			}),
			[]string{
				"Mapping.Use on /mapping/usb/dongle, to give the guest a device of the mapping (vm.usb)",
				"Mapping.Use on /mapping/pci/gpu, to give the guest a device of the mapping (vm.pci)",
				"Mapping.Use on /mapping/dir/share, to give the guest a device of the mapping (vm.virtiofs)",
				"Mapping.Use on /mapping/hwrng, to use the node's source of random numbers (vm.hwrng)",
				"Sys.Modify on /, to change how the node starts its guests (vm.startup-order)",
			},
		},
		"a VM with hardware of its own": {
			"proxmox_vm", "least",
			machine(protocol.Object{
				"tablet": false, "rng": protocol.Object{"source": "/dev/urandom"}, "usb": protocol.Object{"usb0": protocol.Object{"host": "spice"}},
				"cdrom": protocol.Object{"sata0": protocol.Object{"volume_id": "none"}}, "cloud_init": protocol.Object{"user": "ops"}, "wait_for": "cloud-init",
			}),
			nil,
		},
		"a VM with hardware for a token that may make VMs": {
			"proxmox_vm", "makes",
			machine(protocol.Object{
				"tablet": false, "cdrom": protocol.Object{"sata0": protocol.Object{"volume_id": "none"}}, "wait_for": "cloud-init",
			}),
			[]string{
				"VM.Config.HWType on /vms/{vmid}, to set the hardware (vm.hardware)",
				"VM.Config.CDROM on /vms/{vmid}, to attach the image to the VM (vm.cdrom)",
				"VM.GuestAgent.Audit on /vms/{vmid}, to ask the guest's agent (vm.addresses)",
				"VM.GuestAgent.FileRead on /vms/{vmid}, to read cloud-init's result through the agent (vm.cloud-init-status)",
			},
		},
		"a VM whose template has no cloud-init drive": {
			"proxmox_vm", "makes",
			machine(protocol.Object{"template": 9001, "cloud_init": protocol.Object{"user": "ops"}}),
			[]string{"Cannot add a cloud-init drive", "VM.Config.Cloudinit on /vms/{vmid}, to add the cloud-init drive (vm.cloud-init)"},
		},
		"a VM with its template's hardware": {
			"proxmox_vm", "makes",
			machine(protocol.Object{"scsi_controller": "virtio-scsi-single", "tablet": true, "cloud_init": protocol.Object{"user": "ops"}}),
			nil,
		},
		"the cluster's firewall": {
			"proxmox_firewall", "least", firewall(protocol.Object{"cluster": true}),
			[]string{"Sys.Modify on /, to write the cluster's firewall (firewall.cluster)"},
		},
		"a node's firewall": {
			"proxmox_firewall", "least", firewall(protocol.Object{"node": "pve2"}),
			[]string{"Sys.Modify on /nodes/pve2, to write the node's firewall (firewall.node)"},
		},
		"the firewall of a VM that is to be made": {"proxmox_firewall", "least", protocol.Object{"scope": protocol.Object{"vm": 20007}}, nil},
		"the firewall of any VM": {
			"proxmox_firewall", "nothing",
			protocol.Object{"scope": protocol.Object{"vm": 20007}},
			[]string{"VM.Config.Network on /vms/{vmid}, to write the guest's firewall (firewall)"},
		},
		"a seed elsewhere": {
			"proxmox_seed_iso", "least",
			protocol.Object{"storage": "local", "user_data": "#cloud-config\n"},
			[]string{"Datastore.Allocate on /storage/local, to delete ISO images", "(seed_iso)", "Datastore.AllocateTemplate on /storage/local"},
		},
		"a seed where it may be": {"proxmox_seed_iso", "least", protocol.Object{"storage": "seeds", "user_data": "#cloud-config\n"}, nil},
		"a VM to stop": {
			"proxmox_fence_action", "nothing", fence("vm.stop", "pve1", protocol.Object{"vmid": 101}),
			[]string{"Cannot perform vm.stop", "VM.PowerMgmt on /vms/{vmid}, to start and stop guests (vm.stop)"},
		},
		"a VM that the pool lets stop": {"proxmox_fence_action", "least", fence("vm.stop", "pve1", protocol.Object{"vmid": 101}), nil},
		"a node to shut down": {
			"proxmox_fence_action", "least", fence("node.shutdown", "pve2", nil),
			[]string{"VM.Audit on /vms, to see every guest of the node", "Sys.PowerMgmt on /nodes/pve2, to shut the node down (node.shutdown)"},
		},
	}
	labs := map[string]*protocol.Lab{}
	for name, token := range map[string]string{"least": "least", "nothing": "nothing", "makes": "full"} {
		labs[name] = protocol.NewLab(t, New("test")(), token, protocol.Object{
			"vmid_range":  protocol.Object{"first": 20000, "last": 20099},
			"defaults":    protocol.Object{"node": "pve1", "storage": "shared-nfs", "pool": "terraform"},
			"fence_scope": protocol.Object{"vmids": []any{101}, "nodes": []any{"pve2"}},
		})
	}
	labs["makes"].Restrict(t, map[string]string{
		"/": "Sys.Audit", "/vms/9000": "VM.Clone VM.Audit", "/vms/9001": "VM.Clone VM.Audit", "/storage/shared-nfs": "Datastore.AllocateSpace",
		"/pool/terraform": "VM.Allocate VM.Audit VM.Config.Options VM.PowerMgmt Pool.Allocate Pool.Audit",
	})
	without := byhand.Params{"delete": "ide2"}
	if err := labs["makes"].Hand.Call(t.Context(), http.MethodPut, "/nodes/pve1/qemu/9001/config", without, nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		_, diagnostics := labs[test.token].Manage(t, test.resource).Plan(t, test.block)
		if failed := len(diagnostics.Errors()) != 0; failed != (test.says != nil) {
			t.Errorf("%s: %s", name, diagnostics)
		}
		for _, text := range test.says {
			if !strings.Contains(diagnostics.String(), text) {
				t.Errorf("%s: the plan does not say %q: %s", name, text, diagnostics)
			}
		}
	}
	for token, lab := range labs {
		if n := lab.Counters().Snapshot().Requests["GET /access/permissions"]; n != 1 {
			t.Errorf("the privileges of %q were read %d times for many plans", token, n)
		}
	}
}
