package main

import (
	"fmt"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// page is what a page of the documentation says beside its schema.
type page struct {
	// capabilities are those that the page's subject has use for, by name. All but
	// the first one are needed for parts of it only.
	capabilities []string
	// reads are privileges of what only reads, where no capability names them. None
	// of them is an error: what may not be read is left out.
	reads []proxmox.Need
	// timeouts says what bounds an operation where that is not what bounds all others
	// of its kind.
	timeouts string
}

var (
	readsBridges  = proxmox.Need{Path: "/sdn/zones/localnetwork/{bridge}", Privilege: "SDN.Audit", Why: "see the bridge; SDN.Use does too"}
	readsNodes    = proxmox.Need{Path: "/nodes/{node}", Privilege: "Sys.Audit", Why: "see the node's clock"}
	readsStorages = proxmox.Need{Path: "/storage/{storage}", Privilege: "Datastore.Audit", Why: "see the storage; Datastore.AllocateSpace does too"}
	readsTemplate = proxmox.Need{Path: "/vms/{template}", Privilege: "VM.Audit", Why: "read the template"}
)

var fencing = []string{"vm.stop", "vm.start", "vm.link-down", "vm.link-up", "node.stop-guests", "node.shutdown", "replication.lag"}

// pages are all pages with privileges, by folder and name. A test holds that none
// is missing, and that no capability is on no page.
var pages = map[string]page{
	"resources/proxmox_connection": {
		capabilities: []string{"cluster.identity", "id-ledger"},
		reads:        []proxmox.Need{readsNodes, readsStorages, readsBridges, readsTemplate},
	},
	"resources/proxmox_fence_action": {
		capabilities: fencing,
		timeouts:     "`timeout` bounds the fence, and its lifting. A refresh may take as long as the provider's `timeouts` allow for `read`.",
	},
	"resources/proxmox_firewall": {
		capabilities: []string{"firewall", "firewall.node", "firewall.cluster"},
		timeouts:     "The provider's `timeouts` bound each operation: " + defaults() + " unless they say otherwise.",
	},
	"resources/proxmox_seed_iso":  {capabilities: []string{"seed_iso"}},
	"resources/proxmox_container": {capabilities: []string{"container.create", "id-ledger", "container.privileged", "container.migrate"}},
	"resources/proxmox_vm": {capabilities: []string{
		"vm.create", "id-ledger", "vm.cloud-init", "vm.cloud-init-regenerate", "vm.cloud-init-status", "vm.addresses", "seed_iso", "vm.cdrom",
		"vm.hardware", "vm.usb", "vm.pci", "vm.virtiofs", "vm.hwrng", "vm.startup-order", "vm.migrate",
	}},

	"data-sources/proxmox_firewall_log": {capabilities: []string{"firewall.log", "firewall.node-log"}},
	"data-sources/proxmox_guest_probe": {
		capabilities: []string{"probe.agent-ping", "probe.service"},
		timeouts:     "`timeout` bounds the probe.",
	},
	"data-sources/proxmox_guests":      {capabilities: []string{"vms.list", "vm.nics"}},
	"data-sources/proxmox_node":        {capabilities: []string{"node.status"}, reads: []proxmox.Need{readsStorages, readsBridges}},
	"data-sources/proxmox_nodes":       {capabilities: []string{"node.status"}, reads: []proxmox.Need{readsStorages, readsBridges}},
	"data-sources/proxmox_replication": {capabilities: []string{"replication-jobs.list", "replication.lag"}},
	"data-sources/proxmox_storage":     {capabilities: []string{"storage.status"}},
	"data-sources/proxmox_template":    {reads: []proxmox.Need{readsTemplate}},

	"list-resources/proxmox_vm":        {capabilities: []string{"vms.list"}},
	"list-resources/proxmox_container": {capabilities: []string{"vms.list"}},
	"list-resources/proxmox_firewall":  {capabilities: []string{"vms.list"}},
	"list-resources/proxmox_seed_iso":  {capabilities: []string{"vms.list"}, reads: []proxmox.Need{readsStorages}},

	"actions/proxmox_fence":           {capabilities: fencing},
	"actions/proxmox_container_power": {capabilities: []string{"vm.start"}},
	"actions/proxmox_vm_power":        {capabilities: []string{"vm.start", "vm.stop"}},
}

// privileges is the section of that name, from the table of capabilities.
func (p page) privileges() (string, error) {
	var b strings.Builder
	b.WriteString("## Privileges\n\nWhat the token needs, by the names of Proxmox VE 9; where 8 has another one it stands in parentheses. " +
		"[Tokens and privileges](../guides/tokens-and-privileges.md) tells how to grant it, and what the braces mean. " +
		"In bold stand the capabilities, by the names that `proxmox_connection` takes; what one needs like one above it is not repeated.\n\n" +
		"| Privilege | on | to |\n|---|---|---|\n")
	type right struct{ path, privilege string }
	shown := map[right]bool{}
	for _, name := range p.capabilities {
		c, known := proxmox.CapabilityOf(name)
		if !known {
			return "", fmt.Errorf("there is no capability %q", name)
		}
		fmt.Fprintf(&b, "| **`%s`** | | %s |\n", c.Name, c.Doc)
		for _, need := range c.Needs {
			if this := (right{need.Path, need.Privilege}); !shown[this] {
				shown[this] = true
				b.WriteString(row(need))
			}
		}
	}
	if len(p.reads) > 0 && len(p.capabilities) > 0 {
		b.WriteString("| **to read** | | What may not be read is left out |\n")
	}
	for _, need := range p.reads {
		b.WriteString(row(need))
	}
	return b.String(), nil
}

func row(need proxmox.Need) string {
	privilege, why := "`"+need.Privilege+"`", need.Why
	if need.Privilege8 != "" {
		privilege += " (8: `" + need.Privilege8 + "`)"
	}
	if need.Only != "" {
		why += ", where `" + need.Only + "` is configured"
	}
	return fmt.Sprintf("| %s | `%s` | %s |\n", privilege, need.Path, why)
}
