package vm

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// agentPatience bounds the one question that a refresh puts to an agent. PVE
// itself gives up after three seconds.
const agentPatience = 5 * time.Second

// findAddresses asks the agent of a running guest, once and never waiting. Without
// its word the addresses are those that cloud-init was given; they are stale where
// the agent should know and did not answer.
func findAddresses(ctx context.Context, client *proxmox.Client, config *proxmox.GuestConfig, asks bool) guests.Found {
	values := guests.Wanted(config)
	if !agentEnabled(values) {
		return staticAddresses(values)
	}
	silent := staticAddresses(values)
	silent.Stale = true
	if !asks {
		return silent
	}
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	interfaces, err := client.VMs.AgentInterfaces(ctx, config.Node, config.VMID)
	if err != nil {
		return silent
	}
	return addressesByMAC(values, interfaces)
}

func agentEnabled(values map[string]string) bool {
	r := &settings.Reader{Values: values, Purpose: settings.Importing}
	return settings.IsTrue(r.Value(&agentGroup.Settings[0], ""))
}

// staticAddresses are those in ipconfigN.
func staticAddresses(values map[string]string) guests.Found {
	static := guests.Found{Slots: map[string][]netip.Addr{}}
	for _, slot := range interfaceSlots.Found(values) {
		static.AddStatic(slot, values[interfaceSlots.Key(slot)])
	}
	return static
}

// addressesByMAC are those that the agent reports of the devices.
func addressesByMAC(values map[string]string, interfaces []proxmox.AgentInterface) guests.Found {
	slots := map[string]string{}
	for _, slot := range networkSlots.Found(values) {
		if mac, ok := (nicMAC{}).Get(values[slot]); ok {
			slots[strings.ToUpper(mac)] = slot
		}
	}
	found := guests.Found{Slots: map[string][]netip.Addr{}}
	found.AddByMAC(slots, interfaces)
	return found
}
