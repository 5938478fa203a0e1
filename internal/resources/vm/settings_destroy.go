package vm

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

// Ways to treat what nobody here knows of.
const (
	unknownRefuse  = "refuse"
	unknownDestroy = "destroy"
)

var onDestroyGroup = &settings.Group{
	Name: "on_destroy",
	Doc:  "What goes with the VM when it is destroyed or replaced. A destroy reads the state: apply a change of it first.",
	Settings: []settings.Setting{
		{
			Name: "unknown_disks", Source: settings.Local, Absent: types.StringValue(unknownRefuse), Form: settings.Choice(unknownRefuse, unknownDestroy),
			Doc: "Disks that neither the template nor the configuration put there, detached ones (`unused0`) among them: `refuse` (default) names them " +
				"and destroys nothing; `destroy` lets them go with the VM.",
		},
		{
			Name: "unreferenced_disks", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
			Doc: "Whether volumes go too that carry the VM's id and that its configuration does not name (`false` unless set).",
		},
		{
			Name: "purge", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
			Doc: "Whether the VM is taken out of HA, replication and backup jobs (`false` unless set). Without it a VM with HA or replication is not destroyed.",
		},
	},
}
