package vm

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// agentPatience bounds the one question that a refresh puts to an agent. PVE
// itself gives up after three seconds.
const agentPatience = 5 * time.Second

// mapAddresses replaces the addresses in a map of network devices; one that is
// null or unknown stays so.
func mapAddresses(network attr.Value, addresses func(slot string, device attr.Value) (ipv4, ipv6 attr.Value)) attr.Value {
	devices := settings.Entries(network)
	if devices == nil {
		return network
	}
	mapped := make(map[string]attr.Value, len(devices))
	for slot, device := range devices {
		attributes := settings.Fields(device)
		if attributes == nil {
			mapped[slot] = device
			continue
		}
		attributes["ipv4_addresses"], attributes["ipv6_addresses"] = addresses(slot, device)
		mapped[slot] = networkGroup.Object(attributes)
	}
	return networkGroup.Mapping(mapped)
}

// found are the addresses of a guest's devices: those that its agent reports
// or, without its word, those that cloud-init was given.
type found struct {
	// silent means that the agent should know and did not answer.
	silent bool
	slots  map[string][]netip.Addr
}

// findAddresses asks the agent of a running guest, once and never waiting.
func findAddresses(ctx context.Context, client *proxmox.Client, node string, config *proxmox.GuestConfig, running bool) found {
	values := wanted(config)
	if !agentEnabled(values) {
		return found{slots: staticAddresses(values)}
	}
	silent := found{silent: true, slots: staticAddresses(values)}
	if !running {
		return silent
	}
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	interfaces, err := client.VMs.AgentInterfaces(ctx, node, config.VMID)
	if err != nil {
		return silent
	}
	return found{slots: addressesByMAC(values, interfaces)}
}

func agentEnabled(values map[string]string) bool {
	r := &settings.Reader{Values: values, Purpose: settings.Importing}
	return isTrue(r.Value(&agentGroup.Settings[0], ""))
}

// staticAddresses are those in ipconfigN.
func staticAddresses(values map[string]string) map[string][]netip.Addr {
	slots := map[string][]netip.Addr{}
	for _, slot := range interfaceSlots.Found(values) {
		value := values[interfaceSlots.Key(slot)]
		for _, name := range []string{"ip", "ip6"} {
			text, _ := settings.Prop{Name: name}.Get(value)
			if prefix, err := netip.ParsePrefix(text); err == nil {
				slots[slot] = append(slots[slot], prefix.Addr())
			}
		}
	}
	return slots
}

// addressesByMAC matches what the agent reports to the devices. Names of
// interfaces are the guest's own and say nothing.
func addressesByMAC(values map[string]string, interfaces []proxmox.AgentInterface) map[string][]netip.Addr {
	slots := map[string][]netip.Addr{}
	for _, slot := range networkSlots.Found(values) {
		mac, ok := nicMAC{}.Get(values[slot])
		if !ok {
			continue
		}
		for _, each := range interfaces {
			if !strings.EqualFold(each.MAC, mac) {
				continue
			}
			for _, prefix := range each.IPs {
				slots[slot] = append(slots[slot], prefix.Addr())
			}
		}
	}
	return slots
}

// lists are the addresses of a slot by family, without those that nobody can
// reach a guest by from elsewhere.
func (f found) lists(slot string) (ipv4, ipv6 attr.Value) {
	var four, six []string
	for _, address := range f.slots[slot] {
		switch {
		case address.IsLinkLocalUnicast() || address.IsLoopback() || address.IsMulticast() || address.IsUnspecified():
		case address.Is4():
			four = append(four, address.String())
		default:
			six = append(six, address.WithZone("").String())
		}
	}
	slices.Sort(four)
	slices.Sort(six)
	return types.ListValueMust(types.StringType, settings.Texts(slices.Compact(four))),
		types.ListValueMust(types.StringType, settings.Texts(slices.Compact(six)))
}

// into puts the addresses into a map of network devices. A silent agent's
// devices keep the last known ones.
func (f found) into(network attr.Value) attr.Value {
	return mapAddresses(network, func(slot string, device attr.Value) (attr.Value, attr.Value) {
		ipv4, ipv6 := f.lists(slot)
		if !f.silent {
			return ipv4, ipv6
		}
		held := settings.Fields(device)
		return firstFilled(held["ipv4_addresses"], ipv4), firstFilled(held["ipv6_addresses"], ipv6)
	})
}

// complete is [found.into] after an apply: addresses that the plan knew stand.
func (f found) complete(network, planned attr.Value) attr.Value {
	filled := settings.Entries(f.into(network))
	return mapAddresses(network, func(slot string, _ attr.Value) (attr.Value, attr.Value) {
		known, read := settings.Fields(settings.Entries(planned)[slot]), settings.Fields(filled[slot])
		return firstKnown(known["ipv4_addresses"], read["ipv4_addresses"]), firstKnown(known["ipv6_addresses"], read["ipv6_addresses"])
	})
}

func firstKnown(planned, read attr.Value) attr.Value {
	if planned == nil || planned.IsUnknown() {
		return read
	}
	return planned
}

func firstFilled(held, fallback attr.Value) attr.Value {
	if settings.IsKnown(held) && len(settings.ItemsOf(held)) > 0 {
		return held
	}
	return fallback
}
