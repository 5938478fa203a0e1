# By name, or by vmid. What is no template is an error.
data "proxmox_template" "debian" {
  name = "debian-13"
}

output "boot_disk" {
  value = data.proxmox_template.debian.boot_disk
}
