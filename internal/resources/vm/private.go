package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Keys of private state.
const (
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

// birth is what PVE gave the guest when it was made and never changes.
type birth struct {
	SMBIOSUUID string `json:"smbios_uuid,omitempty"`
	CTime      int64  `json:"ctime,omitempty"`
}

func loadKnown(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) []string {
	slots, _ := framework.GetPrivate[[]string](ctx, from, privateDisks, diags)
	return slots
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
