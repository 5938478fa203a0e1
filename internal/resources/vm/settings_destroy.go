package vm

import "github.com/hashicorp/terraform-plugin-framework/types"

// Ways to treat what nobody here knows of.
const (
	unknownRefuse  = "refuse"
	unknownDestroy = "destroy"
)

var onDestroyGroup = &group{
	name: "on_destroy",
	doc:  "What goes with the VM when it is destroyed or replaced. A destroy reads the state: apply a change of it first.",
	settings: []setting{
		{
			name: "unknown_disks", source: local, absent: types.StringValue(unknownRefuse), form: choice(unknownRefuse, unknownDestroy),
			doc: "Disks that neither the template nor the configuration put there, detached ones (`unused0`) among them: `refuse` (default) names them " +
				"and destroys nothing; `destroy` lets them go with the VM.",
		},
		{
			name: "unreferenced_disks", source: local, absent: types.BoolValue(false), form: boolean{},
			doc: "Whether volumes go too that carry the VM's id and that its configuration does not name (`false` unless set).",
		},
		{
			name: "purge", source: local, absent: types.BoolValue(false), form: boolean{},
			doc: "Whether the VM is taken out of HA, replication and backup jobs (`false` unless set). Without it a VM with HA or replication is not destroyed.",
		},
	},
}
