# Web servers behind firewalls: as many as there are addresses.

terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

variable "servers" {
  description = "The servers' addresses by their names."
  type        = map(string)
}

variable "template" {
  description = "The template's name."
  type        = string
  default     = "debian-13"
}

variable "network" {
  description = "Where the servers are, and who may sign in there."
  type = object({
    bridge  = string
    prefix  = number
    gateway = string
    admins  = list(string)
  })
}

variable "seed_storage" {
  description = "A storage for ISO images, where the seeds are kept."
  type        = string
}

data "proxmox_template" "this" {
  name = var.template
}

resource "proxmox_vm" "web" {
  for_each = var.servers

  name     = each.key
  template = data.proxmox_template.this.vmid
  tags     = ["web"]

  cpu     = { cores = 2 }
  memory  = { mib = 2048 }
  network = { net0 = { bridge = var.network.bridge, firewall = true } }

  seed = {
    storage = var.seed_storage
    user_data = join("\n", ["#cloud-config", yamlencode({
      hostname = each.key
      packages = ["nginx", "qemu-guest-agent"]
    })])
    interfaces = {
      net0 = { ipv4 = { address = "${each.value}/${var.network.prefix}", gateway = var.network.gateway } }
    }
  }

  agent    = { enabled = true }
  wait_for = "agent"
}

resource "proxmox_firewall" "web" {
  for_each = proxmox_vm.web

  scope            = { vm = each.value.vmid }
  options          = { enabled = true, policy_in = "DROP", policy_out = "ACCEPT" }
  ip_sets          = { admins = var.network.admins }
  spoof_protection = { net0 = [var.servers[each.key]] }

  rules = [
    { direction = "in", action = "ACCEPT", macro = "HTTP" },
    { direction = "in", action = "ACCEPT", macro = "HTTPS" },
    { direction = "in", action = "ACCEPT", macro = "SSH", source = "+admins" },
  ]
}

output "addresses" {
  description = "The addresses that the servers have, as their agents say."
  value       = { for name, vm in proxmox_vm.web : name => vm.network["net0"].ipv4_addresses }
}

output "vmids" {
  description = "The servers' ids."
  value       = { for name, vm in proxmox_vm.web : name => vm.vmid }
}
