import {
  to = proxmox_container.db
  id = "20007" # or "pve1/20007", the uid, or "adopt:20007" for a container without a marker
}

# What is not mentioned keeps its value: this is enough for a first plan.
resource "proxmox_container" "db" {
  hostname = "db-1"
}
