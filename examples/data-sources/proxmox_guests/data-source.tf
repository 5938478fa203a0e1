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
