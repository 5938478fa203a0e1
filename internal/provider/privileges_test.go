package provider

import (
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/protocol"
)

// TestPlansNamePrivileges: a plan that the token certainly may not carry out is
// refused with capability, path and privilege, and what may be held is left to
// Proxmox VE. All plans of a run share one look at the privileges.
func TestPlansNamePrivileges(t *testing.T) {
	t.Parallel()

	fence := func(action, node string, rest protocol.Object) protocol.Object {
		block := protocol.Object{"action": action, "node": node, "foreign": true}
		for name, value := range rest {
			block[name] = value
		}
		return block
	}
	firewall := func(scope protocol.Object) protocol.Object {
		return protocol.Object{"scope": scope, "foreign": true, "options": protocol.Object{"enabled": false}}
	}
	tests := map[string]struct {
		resource, token string
		block           protocol.Object
		says            []string
	}{
		"a VM": {
			"proxmox_vm", "nothing",
			protocol.Object{"name": "web", "template": 9000},
			[]string{"no privileges at all", "VM.Clone on /vms/9000"},
		},
		"a container": {
			"proxmox_container", "nothing",
			protocol.Object{"hostname": "db", "template": "local:vztmpl/x.tar.zst", "root_volume": protocol.Object{"size_gib": 4}},
			[]string{"no privileges at all", "VM.Allocate on /vms/{vmid}"},
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
	for _, token := range []string{"least", "nothing"} {
		labs[token] = protocol.NewLab(t, New("test")(), token, protocol.Object{
			"vmid_range":  protocol.Object{"first": 20000, "last": 20099},
			"defaults":    protocol.Object{"node": "pve1", "storage": "shared-nfs", "pool": "terraform"},
			"fence_scope": protocol.Object{"vmids": []any{101}, "nodes": []any{"pve2"}},
		})
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
