package vm

import (
	"context"
	"regexp"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/proxmox"
)

// volumeSlot is a key that holds a volume of the guest's.
var volumeSlot = regexp.MustCompile(`^(?:scsi|virtio|sata|ide|efidisk|tpmstate|unused)\d+$`)

// isVolume leaves CD-ROM drives out: what is in those is not the guest's own, or
// made anew by PVE.
func isVolume(key, value string) bool {
	if !volumeSlot.MatchString(key) {
		return false
	}
	disk, err := proxmox.ParseDisk(value)
	return err != nil || !disk.IsCDROM()
}

// destruction is a VM on its way out.
type destruction struct{ *guests.Destruction }

// Destroyed deletes the seeds.
func (d destruction) Destroyed(ctx context.Context, private framework.PrivateReader) {
	deleteSeeds(ctx, d.Client, d.State, loadSeedNote(ctx, private, d.Diags), d.Diags)
}
