import {
  to = proxmox_vm.web
  identity = {
    vmid = 20007
    uid  = "6f1f3c0a-6c56-4c0f-9c39-0c3d1c2f9a41" # refused where another guest has the vmid; may be left out
  }
}
