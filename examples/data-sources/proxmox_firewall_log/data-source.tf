data "proxmox_firewall_log" "web" {
  vmid     = 20007
  since    = "2026-01-01T00:00:00Z"
  last     = 50
  contains = "DROP"
}

output "refused" {
  value = data.proxmox_firewall_log.web.lines[*].text
}
