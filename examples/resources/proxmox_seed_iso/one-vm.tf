# The usual form: the seed lives and dies with the VM.
resource "proxmox_vm" "ci" {
  name     = "ci-1"
  template = 9000
  agent    = { enabled = true }

  seed = {
    storage   = "seeds"
    user_data = <<-EOT
      #cloud-config
      packages: [git, make, qemu-guest-agent]
      users:
        - default
        - name: ci
          ssh_authorized_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmQ3w5nVb0c1m0Yx8n1m2m3n4o5p6q7r8s9t0u1v2w3 ci"]
    EOT
  }
}
