# Guests and nodes that are not the provider's own have to be listed in its
# fence_scope: fence_scope = { vmids = [101], nodes = ["pve2"] }

# Stop a VM and prove it: nothing that depends on it goes on before.
resource "proxmox_fence_action" "erp" {
  action          = "vm.stop"
  vmid            = 101
  node            = "pve2"
  foreign         = true
  require_durable = true

  precondition = {
    replication = {
      job     = "101-0"
      max_lag = "5m"
    }
  }
}

resource "proxmox_vm" "web" {
  name     = "web-1"
  template = 9000
}

# Cut a VM of the provider's own off the network while it keeps running.
resource "proxmox_fence_action" "cut_off" {
  action             = "vm.link-down"
  vmid               = proxmox_vm.web.vmid
  uid                = proxmox_vm.web.uid
  node               = proxmox_vm.web.node
  nics               = ["net0"]
  unfence_on_destroy = true
}

# Empty a node.
resource "proxmox_fence_action" "maintenance" {
  action        = "node.stop-guests"
  node          = "pve2"
  foreign       = true
  guest_timeout = "5m"
  timeout       = "30m"
}
