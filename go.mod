module terraform-provider-proxmox

go 1.26.0
