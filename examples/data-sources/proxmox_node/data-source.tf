data "proxmox_node" "pve1" {
  name = "pve1"
}

output "bridges" {
  value = keys(data.proxmox_node.pve1.bridges)
}
