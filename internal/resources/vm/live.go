package vm

import (
	"slices"

	"terraform-provider-proxmox/internal/framework/settings"
)

// waiting names the attributes of the table that differ between plan and state
// in what may wait for the guest's next start, sorted.
func waiting(plan, state settings.Document) []string {
	var names []string
	for i := range table.Settings {
		s := &table.Settings[i]
		if s.Waits(plan.Values[s.Name], state.Values[s.Name]) {
			names = append(names, s.Name)
		}
	}
	for _, g := range table.Groups {
		if g.Waits(plan.Values[g.Name], state.Values[g.Name]) {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

// deviceGroups are the attributes whose devices show in "devices".
func deviceGroups() []string {
	names := []string{cloudInitGroup.Name} // Its drive.
	for _, g := range table.Groups {
		if g.Slots != nil && g != numaGroup || g.Device != "" {
			names = append(names, g.Name)
		}
	}
	return names
}
