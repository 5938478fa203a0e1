package container

import (
	"context"
	"fmt"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/proxmox"
)

// isVolume reports whether a key holds a volume that goes with the container and
// that somebody must have put there: its root volume always does.
func isVolume(key, value string) bool {
	return volumeSlot.MatchString(key) && key != rootSlot && proxmox.ParseMount(value).IsVolume()
}

// destruction is a container on its way out.
type destruction struct{ *guests.Destruction }

// Destroyed destroys the containers that hold volumes of one whose reinstallation
// was not finished.
func (d destruction) Destroyed(ctx context.Context, _ framework.PrivateReader) {
	if !d.State.Provisioned() {
		framework.AddError(d.Diags, "destroy what holds volumes of "+kind.Describe(d.State), d.destroyHolders(ctx))
	}
}

func (d destruction) destroyHolders(ctx context.Context) error {
	holders, err := d.Client.Holders(ctx, d.Guest)
	if err != nil {
		return err
	}
	for _, holder := range holders {
		if _, err := d.Client.Destroy(ctx, holder.Guest, proxmox.DestroyOptions{}); err != nil {
			return fmt.Errorf("destroy %s: %w", holder.Guest, err)
		}
	}
	return nil
}
