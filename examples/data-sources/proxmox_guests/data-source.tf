# All VMs of the team that the provider does not own, with their network devices.
data "proxmox_guests" "team" {
  kind    = "vm"
  tags    = ["team-erp"]
  marked  = false
  details = true
}

output "bridges" {
  value = { for g in data.proxmox_guests.team.guests : g.name => [for nic in g.nics : nic.bridge] }
}

# What HA would start again, whatever its state is just now.
data "proxmox_guests" "node" {
  node = "pve2"
}

output "wanted_by_ha" {
  value = [for g in data.proxmox_guests.node.guests : g.vmid if g.ha_requested == "started"]
}
