# terraform query -generate-config-out=found.tf
list "proxmox_vm" "prod" {
  provider         = proxmox
  include_resource = true
  limit            = 50

  config {
    pool = "terraform"
    tags = ["prod"]
  }
}
