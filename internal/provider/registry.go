package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/actions/fence"
	"terraform-provider-proxmox/internal/actions/power"
	"terraform-provider-proxmox/internal/datasources/firewalllog"
	"terraform-provider-proxmox/internal/datasources/guestprobe"
	"terraform-provider-proxmox/internal/datasources/guests"
	"terraform-provider-proxmox/internal/datasources/node"
	"terraform-provider-proxmox/internal/datasources/replication"
	"terraform-provider-proxmox/internal/datasources/storage"
	"terraform-provider-proxmox/internal/datasources/template"
	"terraform-provider-proxmox/internal/framework/packed"
	"terraform-provider-proxmox/internal/resources/connection"
	"terraform-provider-proxmox/internal/resources/container"
	"terraform-provider-proxmox/internal/resources/fenceaction"
	"terraform-provider-proxmox/internal/resources/firewall"
	"terraform-provider-proxmox/internal/resources/seediso"
	"terraform-provider-proxmox/internal/resources/vm"
)

// Resources lists the constructors of the resources, and of the packed variants of
// those with many attributes.
func (p *proxmoxProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		connection.New,
		fenceaction.New,
		func() resource.Resource { return container.New() },
		firewall.New,
		seediso.New,
		func() resource.Resource { return vm.New() },
		packed.Of(func() packed.Resource { return container.New() }),
		packed.Of(func() packed.Resource { return vm.New() }),
	}
}

// DataSources lists the constructors of the data sources.
func (p *proxmoxProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		firewalllog.NewDataSource,
		guestprobe.NewDataSource,
		guests.NewDataSource,
		node.NewDataSource,
		node.NewListDataSource,
		replication.NewDataSource,
		storage.NewDataSource,
		template.NewDataSource,
	}
}

// Actions lists the constructors of the actions. CLIs that know none leave them
// alone.
func (p *proxmoxProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{
		power.NewContainer,
		fence.New,
		power.NewVM,
	}
}

// ListResources lists the constructors of the list resources, which `terraform
// query` asks. CLIs that know none leave them alone.
func (p *proxmoxProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		container.NewList,
		firewall.NewList,
		seediso.NewList,
		vm.NewList,
	}
}
