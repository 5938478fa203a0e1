# By its vmid, by node/vmid, or by the uid in its marker.
terraform import proxmox_container.db 20007
terraform import proxmox_container.db pve1/20007
terraform import proxmox_container.db 7d9c1f6e-0000-4000-8000-000000000001

# One that has no marker yet, by adopt: the next apply writes it.
terraform import proxmox_container.db adopt:20007
