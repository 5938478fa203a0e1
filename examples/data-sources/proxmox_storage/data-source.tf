data "proxmox_storage" "isos" {
  name    = "local"
  node    = "pve1"
  content = "iso"
}

output "images" {
  value = [for volume in data.proxmox_storage.isos.volumes : volume.id]
}

output "free_gib" {
  value = floor(data.proxmox_storage.isos.available_bytes / pow(1024, 3))
}
