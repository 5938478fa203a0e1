list "proxmox_seed_iso" "all" {
  provider = proxmox

  config {
    storage = "seeds"
  }
}
