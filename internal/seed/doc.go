// Package seed makes NoCloud seeds: images that cloud-init reads when a guest
// boots. It checks what goes into one and writes it; it knows neither Terraform
// nor Proxmox VE.
package seed
