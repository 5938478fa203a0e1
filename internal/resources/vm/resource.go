// Package vm is proxmox_vm, a virtual machine cloned from a template.
package vm

import (
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure    = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan   = (*Resource)(nil)
	_ resource.ResourceWithImportState  = (*Resource)(nil)
	_ resource.ResourceWithIdentity     = (*Resource)(nil)
	_ resource.ResourceWithUpgradeState = (*Resource)(nil)
)

// Resource is proxmox_vm.
type Resource struct{ guests.Resource }

// New returns the resource.
func New() *Resource { return &Resource{guests.Resource{Kind: kind}} }

// NewList returns the list resource.
func NewList() tflist.ListResource { return guests.NewList(kind) }

// kind is what tells VMs from containers.
var kind = &guests.Kind{
	Kind:          proxmox.KindVM,
	NameAttribute: "name",
	Birthmark:     birthmark,
	Table:         table,
	Network:       networkGroup,
	MAC:           nicMAC{}.Get,
	Content:       "images",
	IsDevice:      isDevice,
	DeviceGroups:  deviceGroups(),
	IsVolume:      isVolume,
	VolumeGroups:  []string{disksGroup.Name},
	Addresses:     findAddresses,
	Plans:         func(d *guests.Draft) guests.Planning { return &draft{Draft: d} },
	Jobs:          func(j *guests.Job) guests.Working { return &job{Job: j} },
	Refreshes:     func(f *guests.Refresh) guests.Refreshing { return refresh{f} },
	Destructions:  func(d *guests.Destruction) guests.Destroying { return destruction{d} },
}

// birthmark is what a VM without a marker is known by.
const birthmark = "SMBIOS uuid and creation time"
