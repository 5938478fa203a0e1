resource "proxmox_connection" "dc1" {
  cluster      = "dc1"       # another cluster behind the endpoint is an error
  pool         = "terraform" # made here when absent; the provider's defaults.pool names the same
  capabilities = ["vm.create", "vm.cloud-init", "id-ledger", "seed_iso"]

  storage_classes = {
    standard = { storage = "local-lvm", content = ["images", "rootdir"] }
    seed-iso = { storage = "seeds", content = ["iso"] }
  }
  network_classes = { mgmt = { bridge = "vmbr0" } }
  templates       = [9000]
}

output "ready" { value = proxmox_connection.dc1.ready }
output "conditions" { value = proxmox_connection.dc1.conditions }
output "failure_domains" { value = proxmox_connection.dc1.failure_domains }
