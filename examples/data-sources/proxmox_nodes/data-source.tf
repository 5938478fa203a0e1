data "proxmox_nodes" "all" {}

output "online" {
  value = data.proxmox_nodes.all.online
}
