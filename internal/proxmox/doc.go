// Package proxmox is a client of the Proxmox VE (PVE) REST API, 8.4 and 9.x.
//
// One [Client] carries one connection to one cluster; its services are its
// fields. Reads may be called freely. A guest that exists can be changed only
// with a permission that the [Gate] granted after it had read the guest's
// marker: the methods' parameters say so, so that nothing else compiles.
//
// The package knows PVE and no Terraform.
package proxmox
