package container

import (
	"context"
	"net/netip"
	"strings"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// findAddresses tells the configured addresses of interfaces that have static ones.
// Those that lease theirs are asked of a running container, in one call.
func findAddresses(ctx context.Context, client *proxmox.Client, config *proxmox.GuestConfig, asks bool) guests.Found {
	found := guests.Found{Slots: map[string][]netip.Addr{}}
	slots, leased := map[string]string{}, false
	for key, value := range guests.Wanted(config) {
		if !networkSlot.MatchString(key) {
			continue
		}
		mac, _ := settings.Prop{Name: "hwaddr"}.Get(value)
		slots[strings.ToUpper(mac)] = key
		leased = found.AddStatic(key, value) || leased
	}
	if !leased {
		return found
	}
	if !asks {
		found.Stale = true
		return found
	}
	interfaces, err := client.Containers.Interfaces(ctx, config.Node, config.VMID)
	if err != nil {
		found.Stale = true
		return found
	}
	found.AddByMAC(slots, interfaces)
	return found
}
