resource "proxmox_vm" "web" {
  name     = "web-1"
  template = 9000
}

# terraform apply -invoke=action.proxmox_vm_power.reboot
action "proxmox_vm_power" "reboot" {
  config {
    command = "reboot"
    vmid    = proxmox_vm.web.vmid
    uid     = proxmox_vm.web.uid
  }
}
