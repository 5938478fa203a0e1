data "proxmox_node" "pve1" {
  name = "pve1"
}

# Warns when the node lacks the bridge.
check "bridge" {
  assert {
    condition     = contains(keys(data.proxmox_node.pve1.bridges), "vmbr0")
    error_message = "pve1 has no bridge vmbr0."
  }
}

output "version" {
  value = data.proxmox_node.pve1.version
}
