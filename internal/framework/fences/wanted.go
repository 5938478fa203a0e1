package fences

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
)

// WarnWanted tells of the guests that HA wanted started: Proxmox VE has its
// manager stop them, which leaves the state requested of it changed.
func WarnWanted(before proxmox.FenceBefore, diags *diag.Diagnostics) {
	wanted := before.WantedByHA()
	if len(wanted) == 0 {
		return
	}
	names := make([]string, len(wanted))
	for i, g := range wanted {
		names[i] = g.String()
	}
	diags.AddWarning("HA wanted these guests started", fmt.Sprintf("%s.\n\nIts manager was asked to stop them, and the state requested of it is stopped since. "+
		"Starting them, as unfencing does, sets it to started again.", strings.Join(names, ", ")))
}
