list "proxmox_container" "pve1" {
  provider = proxmox

  config {
    node = "pve1"
  }
}
