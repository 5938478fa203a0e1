terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

provider "proxmox" {
  endpoint           = "https://pve1.example.com"   # HTTPS only; :8006 is filled in
  fallback_endpoints = ["https://pve2.example.com"] # the same cluster, tried in order
  token_id           = "terraform@pve!ci"
  token_secret_file  = "/run/secrets/pve-token" # read again when a call answers 401
  ca_file            = "proxmox-ca.pem"

  vmid_range = { first = 20000, last = 20999 } # nothing outside is ever changed

  defaults = {
    node    = "pve1"
    storage = "local-lvm"
    bridge  = "vmbr0"
    pool    = "terraform"
  }
}

# A full clone of the template 9000. What is left out stays as it is there.
resource "proxmox_vm" "web" {
  name     = "web-1"
  template = 9000
  memory   = { mib = 2048 }
  disks    = { scsi0 = { size_gib = 20 } } # the template's boot disk, grown
}
