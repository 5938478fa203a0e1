package vm

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Keys of private state.
const (
	// privateApplied holds the paths of what was applied from the
	// configuration: only that is deleted when it is no longer configured.
	privateApplied = "applied"
	// privateTask holds the task that makes the guest, while it may still run.
	privateTask = "task"
	// privateImported marks a guest that was imported and not changed since.
	privateImported = "imported"
	// privateAdopting holds the uid for a guest without a marker, from its import
	// until the marker is written.
	privateAdopting = "adopting"
	// privateStanding holds how the guest stood at the last refresh.
	privateStanding = "standing"
	// privateDisks holds the slots of the disks that go with the guest.
	privateDisks = "disks"
	// privateBirth holds what tells the guest apart when its marker is gone.
	privateBirth = "birth"
)

// applied are the paths of settings and slots that were applied from the
// configuration.
type applied map[string]bool

func (a applied) has(at path.Path) bool { return a[at.String()] }

// birth is what PVE gave the guest when it was made and never changes.
type birth struct {
	SMBIOSUUID string `json:"smbios_uuid,omitempty"`
	CTime      int64  `json:"ctime,omitempty"`
}

func loadApplied(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) applied {
	paths, _ := framework.GetPrivate[[]string](ctx, from, privateApplied, diags)
	set := make(applied, len(paths))
	for _, each := range paths {
		set[each] = true
	}
	return set
}

func loadKnown(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) []string {
	slots, _ := framework.GetPrivate[[]string](ctx, from, privateDisks, diags)
	return slots
}

func (a applied) save(ctx context.Context, to framework.PrivateWriter, diags *diag.Diagnostics) {
	paths := make([]string, 0, len(a))
	for each := range a {
		paths = append(paths, each)
	}
	slices.Sort(paths)
	framework.SetPrivate(ctx, to, privateApplied, paths, diags)
}

// loadTask is the task that makes the guest; zero when none is known.
func loadTask(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) proxmox.UPID {
	text, ok := framework.GetPrivate[string](ctx, from, privateTask, diags)
	if !ok {
		return proxmox.UPID{}
	}
	upid, err := proxmox.ParseUPID(text)
	framework.AddWarning(diags, "read the task that made the guest", err)
	return upid
}
