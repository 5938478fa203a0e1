import {
  to = proxmox_connection.dc1
  id = "dc1" # the cluster's name, or standalone:pve1 for a node without a cluster
}

resource "proxmox_connection" "dc1" {
  cluster = "dc1"
}
