package guests

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Found are the addresses of a guest's network devices, by slot.
type Found struct {
	// Stale means that who should know them was not asked or did not answer, so
	// that they are the configured ones at best.
	Stale bool
	Slots map[string][]netip.Addr
}

// AddByMAC adds what a guest reports to the devices that have these addresses of
// their own, by MAC in upper case. Names of interfaces are the guest's own and say
// nothing.
func (f Found) AddByMAC(slots map[string]string, interfaces []proxmox.AgentInterface) {
	for _, each := range interfaces {
		slot, ours := slots[strings.ToUpper(each.MAC)]
		if !ours {
			continue
		}
		for _, prefix := range each.IPs {
			f.Slots[slot] = append(f.Slots[slot], prefix.Addr())
		}
	}
}

// AddStatic adds the static addresses in a property string with PVE's "ip" and
// "ip6", and reports whether there are others.
func (f Found) AddStatic(slot, value string) (leased bool) {
	for _, name := range []string{"ip", "ip6"} {
		text, ok := settings.Prop{Name: name}.Get(value)
		if prefix, err := netip.ParsePrefix(text); err == nil {
			f.Slots[slot] = append(f.Slots[slot], prefix.Addr())
		} else if ok {
			leased = true
		}
	}
	return leased
}

// lists are the addresses of a slot by family, without those that nobody can
// reach a guest by from elsewhere.
func (f Found) lists(slot string) (ipv4, ipv6 attr.Value) {
	var four, six []string
	for _, address := range f.Slots[slot] {
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

// into puts the addresses into a map of network devices. Where they are stale, the
// last known ones stay.
func (f Found) into(g *settings.Group, network attr.Value) attr.Value {
	return mapAddresses(g, network, func(slot string, device attr.Value) (attr.Value, attr.Value) {
		ipv4, ipv6 := f.lists(slot)
		if !f.Stale {
			return ipv4, ipv6
		}
		held := settings.Fields(device)
		return firstFilled(held["ipv4_addresses"], ipv4), firstFilled(held["ipv6_addresses"], ipv6)
	})
}

// complete is [Found.into] after an apply: addresses that the plan knew stand.
func (f Found) complete(g *settings.Group, network, planned attr.Value) attr.Value {
	filled := settings.Entries(f.into(g, network))
	return mapAddresses(g, network, func(slot string, _ attr.Value) (attr.Value, attr.Value) {
		known, read := settings.Fields(settings.Entries(planned)[slot]), settings.Fields(filled[slot])
		return firstKnown(known["ipv4_addresses"], read["ipv4_addresses"]), firstKnown(known["ipv6_addresses"], read["ipv6_addresses"])
	})
}

// mapAddresses replaces the addresses in a map of network devices; one that is
// null or unknown stays so.
func mapAddresses(g *settings.Group, network attr.Value, addresses func(slot string, device attr.Value) (ipv4, ipv6 attr.Value)) attr.Value {
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
		mapped[slot] = g.Object(attributes)
	}
	return g.Mapping(mapped)
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
