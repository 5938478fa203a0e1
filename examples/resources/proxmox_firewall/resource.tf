resource "proxmox_vm" "web" {
  name     = "web"
  template = 9000
  network  = { net0 = { bridge = "vmbr0", firewall = true } }
}

resource "proxmox_firewall" "web" {
  scope   = { vm = proxmox_vm.web.vmid }
  options = { enabled = true, policy_in = "DROP", policy_out = "ACCEPT" }

  ip_sets          = { admins = ["10.0.9.0/24", "!10.0.9.66"] }
  spoof_protection = { net0 = ["10.0.0.11"] }

  rules = [
    { direction = "in", action = "ACCEPT", macro = "HTTPS", comment = "public" },
    { direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "22", source = "+admins" },
    { direction = "group", action = proxmox_firewall.monitoring.scope.security_group },
  ]
}

resource "proxmox_firewall" "monitoring" {
  scope   = { security_group = "monitoring" }
  foreign = true # it belongs to no guest that was made here

  rules = [
    { direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "9100", source = "10.0.8.1" },
  ]
}

# Some rules of the cluster's: hand-made ones stay as they are.
resource "proxmox_firewall" "cluster" {
  scope     = { cluster = true }
  foreign   = true
  ownership = "tagged"
  tag       = "terraform-admins"

  rules = [
    { direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "22,8006", source = "10.0.9.0/24" },
  ]
}
