import {
  to = proxmox_vm.web
  id = "20007" # or "pve1/20007", the uid, or "adopt:20007" for a guest without a marker
}

# What is not mentioned keeps its value: this is enough for a first plan.
resource "proxmox_vm" "web" {
  name = "web-1"
}
