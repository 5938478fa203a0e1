# Twenty workers, each with a seed of its own: the host name is the VM's.
variable "join_token" {
  type      = string
  ephemeral = true
}

resource "proxmox_vm" "worker" {
  for_each = { for n in range(1, 21) : format("worker-%02d", n) => n }

  name     = each.key
  template = 9000
  network  = { net0 = { bridge = "vmbr0" } }

  seed = {
    storage = "seeds"

    # Write-only: in no plan and no state. A new version writes it again.
    user_data_wo         = <<-EOT
      #cloud-config
      write_files:
        - path: /etc/worker/token
          permissions: "0600"
          content: ${var.join_token}
    EOT
    user_data_wo_version = 1
  }
}
