data "proxmox_storage" "local" {
  name    = "local"
  node    = "pve1"
  content = "iso"
}

output "images" {
  value = [for volume in data.proxmox_storage.local.volumes : volume.id]
}
