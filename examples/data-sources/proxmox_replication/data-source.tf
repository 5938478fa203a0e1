data "proxmox_replication" "erp" {
  vmid    = 101
  max_lag = "5m"
}

check "replica" {
  assert {
    condition     = data.proxmox_replication.erp.ready
    error_message = join("; ", flatten(data.proxmox_replication.erp.jobs[*].problems))
  }
}
