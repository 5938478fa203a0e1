# A service that runs at one of two sites. Each site is a cluster of its own.
#
#   terraform apply                    the service runs at dc1, its stand-in at dc2 is stopped
#   terraform apply -var active=dc2    dc1's VM is stopped, and proven so; then dc2's is started
#
# Nothing starts at dc2 before the fence at dc1 says that the VM there is stopped
# and stays so. When dc1 cannot be asked, the apply stops there.

terraform {
  required_providers {
    proxmox = {
      source = "holdfast/proxmox"
    }
  }
}

variable "active" {
  description = "The site that the service runs at."
  type        = string
  default     = "dc1"

  validation {
    condition     = contains(["dc1", "dc2"], var.active)
    error_message = "The sites are dc1 and dc2."
  }
}

variable "sites" {
  description = "How to reach each site."
  type = map(object({
    endpoint     = string
    token_id     = string
    token_secret = string
    ca_file      = string
  }))
  sensitive = true
}

# The VM at dc1 was there before and is nobody's here: only its id, listed in the
# fence scope, lets it be stopped.
provider "proxmox" {
  alias        = "dc1"
  endpoint     = var.sites["dc1"].endpoint
  token_id     = var.sites["dc1"].token_id
  token_secret = var.sites["dc1"].token_secret
  ca_file      = var.sites["dc1"].ca_file
  fence_scope  = { vmids = [101] }
}

provider "proxmox" {
  alias        = "dc2"
  endpoint     = var.sites["dc2"].endpoint
  token_id     = var.sites["dc2"].token_id
  token_secret = var.sites["dc2"].token_secret
  ca_file      = var.sites["dc2"].ca_file
  vmid_range   = { first = 20000, last = 20099 }
  defaults     = { node = "pve1", storage = "local-zfs" }
}

# The stand-in's disks are copied to another node of dc2, so that the loss of one
# node right after the move loses no data.
data "proxmox_replication" "erp" {
  provider = proxmox.dc2
  job      = "20001-0"
  max_lag  = "1h"
}

resource "proxmox_fence_action" "erp_dc1" {
  count    = var.active == "dc2" ? 1 : 0
  provider = proxmox.dc1

  action          = "vm.stop"
  vmid            = 101
  node            = "pve2"
  foreign         = true
  require_durable = true

  # Going back to dc1 starts the VM there again.
  unfence_on_destroy = true

  lifecycle {
    # With this Terraform lifts the fence only after what depends on it has
    # changed: dc2 is stopped before dc1 starts.
    create_before_destroy = true

    precondition {
      condition     = data.proxmox_replication.erp.ready
      error_message = "The replica at dc2 is not ready: ${jsonencode(data.proxmox_replication.erp.jobs[*].problems)}"
    }
  }
}

resource "proxmox_vm" "erp_dc2" {
  provider   = proxmox.dc2
  depends_on = [proxmox_fence_action.erp_dc1]

  name     = "erp"
  vmid     = 20001
  template = 9000
  power    = var.active == "dc2" ? "running" : "stopped"
}

output "fence" {
  description = "How the fence at dc1 stands; empty while the service runs there."
  value       = one(proxmox_fence_action.erp_dc1[*].state)
}
