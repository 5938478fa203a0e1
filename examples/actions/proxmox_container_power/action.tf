resource "proxmox_container" "db" {
  hostname    = "db-1"
  template    = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
  root_volume = { size_gib = 8 }
}

# terraform apply -invoke=action.proxmox_container_power.reboot
action "proxmox_container_power" "reboot" {
  config {
    command = "reboot"
    vmid    = proxmox_container.db.vmid
    uid     = proxmox_container.db.uid
  }
}
