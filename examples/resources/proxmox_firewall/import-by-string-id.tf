import {
  to = proxmox_firewall.web
  id = "vm/20007"
}

resource "proxmox_firewall" "web" {
  scope = { vm = 20007 }
}
