import {
  to = proxmox_seed_iso.k8s
  id = "pve1/seeds:iso/3f0c1f0e-6a4e-4d7e-9a53-0f6c2b1d9a77-d6f30a588ce990f0dbffc04bae62059b401dabc676f329228c3c70d4a1b57c40.iso"
}

# The content that it was made of.
resource "proxmox_seed_iso" "k8s" {
  storage   = "seeds"
  host_name = "k8s-1"
  user_data = "#cloud-config\npackages: [containerd]\n"
}
