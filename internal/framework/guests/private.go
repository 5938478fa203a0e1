package guests

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// PrivateState is the private state of a response to a refresh.
type PrivateState interface {
	framework.PrivateReader
	framework.PrivateWriter
}

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
	// privateDisks holds the slots of the volumes that go with the guest.
	privateDisks = "disks"
	// privateBirth holds what tells the guest apart when its marker is gone.
	privateBirth = "birth"
)

// birth is what tells a guest apart: of a VM what PVE gave it when it was made and
// never changes, of a container the addresses of its network interfaces.
type birth struct {
	SMBIOSUUID string `json:"smbios_uuid,omitempty"`
	CTime      int64  `json:"ctime,omitempty"`
	MACs       string `json:"macs,omitempty"`
}

func saveBirth(ctx context.Context, to framework.PrivateWriter, guest proxmox.Guest, diags *diag.Diagnostics) {
	known := birth{SMBIOSUUID: guest.SMBIOSUUID, CTime: guest.CTime, MACs: guest.MACs}
	if known.SMBIOSUUID != "" || known.MACs != "" {
		framework.SetPrivate(ctx, to, privateBirth, known, diags)
	}
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

// guestOf is what state knows of the guest.
func (k *Kind) guestOf(ctx context.Context, state settings.Document, private framework.PrivateReader, diags *diag.Diagnostics) proxmox.Guest {
	born, _ := framework.GetPrivate[birth](ctx, private, privateBirth, diags)
	uid := state.Text("uid")
	if uid == "" {
		uid, _ = framework.GetPrivate[string](ctx, private, privateAdopting, diags)
	}
	return proxmox.Guest{
		Kind: k.Kind, VMID: state.Integer("vmid"), Node: state.Text("node"), UID: uid,
		SMBIOSUUID: born.SMBIOSUUID, CTime: born.CTime, MACs: born.MACs,
	}
}
