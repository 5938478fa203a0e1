data "proxmox_guest_probe" "erp" {
  vmid    = 20007
  service = "postgresql"
}

check "erp" {
  assert {
    condition     = coalesce(data.proxmox_guest_probe.erp.service_active, false)
    error_message = "PostgreSQL does not run."
  }
}
