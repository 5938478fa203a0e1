# A database in a container. Its data are on a volume of their own: a new template
# rebuilds the container and keeps the data.

terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

variable "hostname" {
  description = "The container's host name."
  type        = string
}

variable "template" {
  description = "The container template, such as local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst."
  type        = string
}

variable "data" {
  description = "The volume of the data. It grows, and never shrinks."
  type = object({
    storage  = string
    size_gib = number
  })
}

resource "proxmox_container" "database" {
  hostname = var.hostname
  template = var.template

  cpu    = { cores = 2 }
  memory = { mib = 2048, swap_mib = 0 }

  root_volume = { storage = var.data.storage, size_gib = 8 }
  mount_points = {
    mp0 = {
      storage  = var.data.storage
      size_gib = var.data.size_gib
      path     = "/var/lib/postgresql"
      backup   = true # unlike a VM's disk, a mount point is in no backup unless it says so
    }
  }
  network = { net0 = { bridge = "vmbr0", ipv4 = { method = "dhcp" } } }

  reinstall = { keep = ["mp0"] }
}

output "vmid" {
  description = "The container's id, which stays."
  value       = proxmox_container.database.vmid
}
