# By name. It fails when there is no such template, or more than one.
data "proxmox_template" "debian" {
  name = "debian-13"
}

# By id.
data "proxmox_template" "ubuntu" {
  vmid = 9001
}

resource "proxmox_vm" "web" {
  name     = "web-1"
  template = data.proxmox_template.debian.vmid

  # Grow the disk that it boots from, whichever slot that is.
  disks = {
    (data.proxmox_template.debian.boot_disk) = { size_gib = 20 }
  }
}
