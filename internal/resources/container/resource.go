// Package container is proxmox_container, a container unpacked from a template.
package container

import (
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	_ resource.ResourceWithConfigure    = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan   = (*Resource)(nil)
	_ resource.ResourceWithImportState  = (*Resource)(nil)
	_ resource.ResourceWithIdentity     = (*Resource)(nil)
	_ resource.ResourceWithUpgradeState = (*Resource)(nil)
)

// Resource is proxmox_container.
type Resource struct{ guests.Resource }

// New returns the resource.
func New() *Resource { return &Resource{guests.Resource{Kind: kind}} }

// NewList returns the list resource.
func NewList() tflist.ListResource { return guests.NewList(kind) }

// kind is what tells containers from VMs.
var kind = &guests.Kind{
	Kind:          proxmox.KindContainer,
	NameAttribute: "hostname",
	Birthmark:     birthmark,
	Table:         table,
	Network:       networkGroup,
	MAC:           settings.Prop{Name: "hwaddr"}.Get,
	Content:       "rootdir",
	IsDevice:      isDevice,
	DeviceGroups:  []string{rootGroup.Name, mountGroup.Name, networkGroup.Name, deviceGroup.Name},
	IsVolume:      isVolume,
	VolumeGroups:  []string{mountGroup.Name},
	Addresses:     findAddresses,
	Plans:         func(d *guests.Draft) guests.Planning { return &draft{d} },
	Jobs:          func(j *guests.Job) guests.Working { return &job{j} },
	Refreshes:     func(f *guests.Refresh) guests.Refreshing { return refresh{f} },
	Destructions:  func(d *guests.Destruction) guests.Destroying { return destruction{d} },
}

// birthmark is what a container without a marker is known by.
const birthmark = "network interfaces' addresses"
