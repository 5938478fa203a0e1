# A guest that carries the marker: by vmid, by node and vmid, or by uid.
terraform import proxmox_vm.web 20007
terraform import proxmox_vm.web pve1/20007
terraform import proxmox_vm.web 6f1f3c0a-6c56-4c0f-9c39-0c3d1c2f9a41

# A guest in vmid_range that carries no marker: the next apply writes it, and nothing else changes until then.
terraform import proxmox_vm.web adopt:20007
