# terraform apply -invoke=action.proxmox_fence.erp
action "proxmox_fence" "erp" {
  config {
    action          = "vm.stop"
    vmid            = 101
    node            = "pve2"
    foreign         = true
    require_durable = true
  }
}
