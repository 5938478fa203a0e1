# The machines of a Kubernetes cluster: a control plane that is spread over the
# nodes of Proxmox VE, and workers. Each joins by its seed.

terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}

variable "cluster" {
  description = "The cluster's name; the machines' names begin with it."
  type        = string
}

variable "control_plane" {
  description = "How many machines the control plane has: an odd number."
  type        = number
  default     = 3

  validation {
    condition     = var.control_plane % 2 == 1
    error_message = "An even number of members survives no more failures than one less."
  }
}

variable "workers" {
  description = "How many workers there are."
  type        = number
  default     = 2
}

variable "template" {
  description = "The template's id. Its disks are on a shared storage, so that every node can clone it."
  type        = number
}

variable "storage" {
  description = "A shared storage for the machines' disks."
  type        = string
}

variable "join_token" {
  description = "What a machine joins with. It is in no state: only its hash is."
  type        = string
  ephemeral   = true
}

variable "join_version" {
  description = "Counted up when join_token changes."
  type        = number
  default     = 1
}

data "proxmox_nodes" "all" {}

locals {
  nodes = sort(data.proxmox_nodes.all.online)
  machines = merge(
    { for i in range(var.control_plane) : "${var.cluster}-control-${i}" => { role = "control-plane", node = local.nodes[i % length(local.nodes)], cores = 2, mib = 4096 } },
    { for i in range(var.workers) : "${var.cluster}-worker-${i}" => { role = "worker", node = local.nodes[i % length(local.nodes)], cores = 4, mib = 8192 } },
  )
}

resource "proxmox_vm" "machine" {
  for_each = local.machines

  name     = each.key
  node     = each.value.node
  template = var.template
  storage  = var.storage
  tags     = ["kubernetes", each.value.role]

  cpu     = { cores = each.value.cores }
  memory  = { mib = each.value.mib }
  network = { net0 = { bridge = "vmbr0" } }

  seed = {
    storage              = "local"
    user_data_wo_version = var.join_version
    user_data_wo = join("\n", ["#cloud-config", yamlencode({
      hostname = each.key
      write_files = [{
        path        = "/etc/kubernetes/join"
        permissions = "0600"
        content     = "role=${each.value.role}\ntoken=${var.join_token}\n"
      }]
    })])
  }

  agent = { enabled = true }
}

output "placement" {
  description = "The node of each machine."
  value       = { for name, vm in proxmox_vm.machine : name => vm.node }
}
