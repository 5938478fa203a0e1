# A token that may do what this configuration does, and nothing else: the check says
# so, or names each privilege that is missing, before anything is made. Guests and
# the ids that they had are in one pool.

terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

variable "pool" {
  description = "The pool on which the token has its rights."
  type        = string
}

variable "template" {
  description = "The template's id."
  type        = number
}

variable "also" {
  description = "What else the token has to be able to do, such as \"firewall\"."
  type        = set(string)
  default     = []
}

variable "require" {
  description = "Whether nothing is made while something is missing."
  type        = bool
  default     = true
}

resource "proxmox_connection" "this" {
  require_ready   = var.require
  capabilities    = setunion(["vm.create"], var.also)
  templates       = [var.template]
  storage_classes = { seeds = { storage = "seeds", content = ["iso"] } }
  network_classes = { service = { bridge = "vmbr0" } }
}

resource "proxmox_vm" "this" {
  depends_on = [proxmox_connection.this]

  name     = "least"
  pool     = var.pool
  template = var.template
  network  = { net0 = { bridge = "vmbr0" } }
}

output "privileges" {
  description = "What each capability stands on: proven, inferred or missing."
  value       = { for name, found in proxmox_connection.this.privileges : name => found.state }
}
