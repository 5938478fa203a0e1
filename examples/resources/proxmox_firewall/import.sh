# A firewall by what it belongs to, with a tag where only tagged rules are owned.
terraform import proxmox_firewall.web vm/20007
terraform import proxmox_firewall.node node/pve1
terraform import proxmox_firewall.monitoring security_group/monitoring
terraform import proxmox_firewall.cluster cluster:terraform-admins
