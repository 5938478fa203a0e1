# Three VMs of different sizes, cloned from one template. The endpoint, the
# token and the ids that may be used come from PROXMOX_* variables, such as
# `pvelab` prints for its embedded lab.

terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

provider "proxmox" {}

locals {
  machines = {
    small  = { cores = 1, memory_mib = 512, disk_gib = 8, address = "10.0.0.11" }
    medium = { cores = 2, memory_mib = 1024, disk_gib = 16, address = "10.0.0.12" }
    large  = { cores = 4, memory_mib = 2048, disk_gib = 32, address = "10.0.0.13" }
  }
}

data "proxmox_template" "debian" {
  name = "debian-13"
}

resource "proxmox_vm" "demo" {
  for_each = local.machines

  name     = "demo-${each.key}"
  template = data.proxmox_template.debian.vmid
  tags     = ["demo"]

  cpu    = { cores = each.value.cores }
  memory = { mib = each.value.memory_mib }
  disks  = { (data.proxmox_template.debian.boot_disk) = { size_gib = each.value.disk_gib } }

  network    = { net0 = { bridge = "vmbr0" } }
  cloud_init = { interfaces = { net0 = { ipv4 = { address = "${each.value.address}/24", gateway = "10.0.0.1" } } } }

  agent    = { enabled = true }
  wait_for = "agent"
}

output "addresses" {
  value = { for name, vm in proxmox_vm.demo : name => vm.network["net0"].ipv4_addresses }
}
