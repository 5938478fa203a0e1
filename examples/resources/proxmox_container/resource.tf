resource "proxmox_container" "db" {
  hostname = "db-1"
  template = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"
  cpu      = { cores = 2 }
  memory   = { mib = 1024, swap_mib = 512 }

  root_volume = { storage = "local-lvm", size_gib = 8 }
  mount_points = {
    mp0 = { storage = "local-lvm", size_gib = 100, path = "/var/lib/postgresql", backup = true }
  }

  network  = { net0 = { name = "eth0", bridge = "vmbr0", ipv4 = { method = "dhcp" } } }
  features = { nesting = true }

  # A changed template rebuilds the root volume and brings mp0 back, with its data.
  # Without this it would make another container.
  reinstall = { keep = ["mp0"] }
}

output "not_backed_up" {
  value = [for slot, mount in proxmox_container.db.mount_points : slot if !mount.in_backup]
}
