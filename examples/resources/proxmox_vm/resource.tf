variable "ssh_key" {
  type = string
}

data "proxmox_template" "debian" {
  name = "debian-13"
}

resource "proxmox_vm" "web" {
  name        = "web-1"
  description = "Front end"
  template    = data.proxmox_template.debian.vmid
  tags        = ["web", "prod"]

  cpu    = { cores = 2, type = "host" }
  memory = { mib = 2048 }

  disks = {
    scsi0 = { size_gib = 20, discard = true, iothread = true } # the template's boot disk, grown
    scsi1 = { size_gib = 50, storage = "shared-nfs", backup = false }
  }

  network = {
    net0 = { bridge = "vmbr0", vlan = 20, firewall = true }
  }

  cloud_init = {
    user     = "ops"
    ssh_keys = [var.ssh_key]
    dns      = { servers = ["10.0.0.1"], domain = "example.com" }
    interfaces = {
      net0 = {
        ipv4 = { address = "10.0.0.11/24", gateway = "10.0.0.1" }
        ipv6 = { method = "auto" }
      }
    }
  }

  agent    = { enabled = true }
  wait_for = "agent"
  on_boot  = true
  reboot   = "auto" # a change that needs it restarts the guest, and the plan says so
  stop     = { shutdown_timeout = "60s", force = true }

  timeouts = { create = "15m" }
}

output "web" {
  value = {
    vmid      = proxmox_vm.web.vmid
    node      = proxmox_vm.web.node
    addresses = proxmox_vm.web.network["net0"].ipv4_addresses
  }
}

# A desktop with UEFI, Secure Boot and a TPM. What is left out stays as it is in
# the template.
resource "proxmox_vm" "desktop" {
  name     = "desktop-1"
  template = data.proxmox_template.debian.vmid
  power    = "stopped"

  os_type    = "win11"
  bios       = "ovmf"
  machine    = { type = "q35" }
  efi_disk   = { type = "4m", pre_enrolled_keys = true }
  tpm        = { version = "v2.0" }
  cpu        = { cores = 4, type = "host", limit = 3.5 }
  memory     = { mib = 8192, balloon_mib = 4096 }
  protection = true

  disks = {
    scsi0 = {
      size_gib  = 64
      discard   = true
      ssd       = true
      cache     = "writeback"
      limits    = { iops_read = 2000, iops_write = 1000 }
      replicate = false
    }
  }

  vga      = { type = "virtio", memory_mib = 64, clipboard = "vnc" }
  audio    = { device = "ich9-intel-hda" }
  usb      = { usb0 = { host = "spice" } }
  rng      = { source = "/dev/urandom" }
  watchdog = { model = "i6300esb", action = "reset" }
  startup  = { order = 2, up_seconds = 30 }
}
