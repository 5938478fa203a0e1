package container

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// found are the addresses of a container's interfaces, by slot.
type found struct {
	// unasked means that leased addresses were not asked for, or not told.
	unasked bool
	slots   map[string][]netip.Addr
}

// findAddresses tells the configured addresses of interfaces that have static ones.
// Those that lease theirs are asked of a running container, in one call.
func findAddresses(ctx context.Context, client *proxmox.Client, node string, config *proxmox.GuestConfig, running bool) found {
	result := found{slots: map[string][]netip.Addr{}}
	macs, leased := map[string]string{}, false
	for key, value := range wanted(config) {
		if !networkSlot.MatchString(key) {
			continue
		}
		mac, _ := settings.Prop{Name: "hwaddr"}.Get(value)
		macs[strings.ToUpper(mac)] = key
		for _, name := range []string{"ip", "ip6"} {
			text, ok := settings.Prop{Name: name}.Get(value)
			if prefix, err := netip.ParsePrefix(text); err == nil {
				result.slots[key] = append(result.slots[key], prefix.Addr())
			} else if ok {
				leased = true
			}
		}
	}
	if !leased || !running {
		result.unasked = leased
		return result
	}
	interfaces, err := client.Containers.Interfaces(ctx, node, config.VMID)
	if err != nil {
		result.unasked = true
		return result
	}
	for _, each := range interfaces {
		if slot, ours := macs[strings.ToUpper(each.MAC)]; ours {
			for _, prefix := range each.IPs {
				result.slots[slot] = append(result.slots[slot], prefix.Addr())
			}
		}
	}
	return result
}

// lists are the addresses of a slot, in order; link-local ones are no use
// elsewhere.
func (f found) lists(slot string) (ipv4, ipv6 attr.Value) {
	var four, six []string
	for _, address := range f.slots[slot] {
		switch {
		case address.Is4():
			four = append(four, address.String())
		case !address.IsLinkLocalUnicast():
			six = append(six, address.WithZone("").String())
		}
	}
	slices.Sort(four)
	slices.Sort(six)
	return types.ListValueMust(types.StringType, settings.Texts(slices.Compact(four))),
		types.ListValueMust(types.StringType, settings.Texts(slices.Compact(six)))
}

// mapAddresses replaces the addresses in a map of interfaces; one that is null or
// unknown stays so.
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

// into puts the addresses into a map of interfaces. What was not asked keeps the
// last known ones.
func (f found) into(network attr.Value) attr.Value {
	return mapAddresses(network, func(slot string, device attr.Value) (attr.Value, attr.Value) {
		ipv4, ipv6 := f.lists(slot)
		if !f.unasked {
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

// forgetAddresses makes the addresses known after apply, where a container starts
// anew.
func (d *draft) forgetAddresses() {
	unknown := types.ListUnknown(types.StringType)
	d.plan.Values["network"] = mapAddresses(d.plan.Values["network"], func(string, attr.Value) (attr.Value, attr.Value) {
		return unknown, unknown
	})
}
