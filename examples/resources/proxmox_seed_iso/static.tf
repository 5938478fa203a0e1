# Static addresses, without DHCP: the devices are found by their MAC addresses,
# which PVE gives them.
resource "proxmox_vm" "db" {
  for_each = { a = "10.0.0.11", b = "10.0.0.12" }

  name     = "db-${each.key}"
  template = 9000
  network  = { net0 = { bridge = "vmbr0" }, net1 = { bridge = "vmbr1" } }

  seed = {
    storage = "seeds"
    interfaces = {
      net0 = { ipv4 = { address = "${each.value}/24", gateway = "10.0.0.1" }, ipv6 = { method = "auto" } }
      net1 = { ipv4 = { address = "192.168.50.${split(".", each.value)[3]}/24" } }
    }
    dns = { servers = ["10.0.0.53"], domain = "example.com" }
  }
}
