# Of the provider's own guests.
list "proxmox_firewall" "guests" {
  provider = proxmox
}

# And of what belongs to no guest: the cluster, its nodes, security groups.
list "proxmox_firewall" "all" {
  provider = proxmox

  config {
    foreign = true
  }
}
