package container

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Keys of private state.
const (
	// privateTask holds the task that makes the container, while it may still run.
	privateTask = "task"
	// privateImported marks a container that was imported and not changed since.
	privateImported = "imported"
	// privateStanding holds how the container stood at the last refresh.
	privateStanding = "standing"
	// privateMACs holds what tells the container apart when its marker is gone.
	privateMACs = "macs"
)

// loadTask is the task that makes the container; zero when none is known.
func loadTask(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) proxmox.UPID {
	text, ok := framework.GetPrivate[string](ctx, from, privateTask, diags)
	if !ok {
		return proxmox.UPID{}
	}
	upid, err := proxmox.ParseUPID(text)
	framework.AddWarning(diags, "read the task that made the container", err)
	return upid
}
