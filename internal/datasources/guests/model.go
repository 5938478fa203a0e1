package guests

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

// model is what is asked for and what was found.
type model struct {
	Kind    types.String `tfsdk:"kind"`
	Node    types.String `tfsdk:"node"`
	Pool    types.String `tfsdk:"pool"`
	Tags    []string     `tfsdk:"tags"`
	Marked  types.Bool   `tfsdk:"marked"`
	Details types.Bool   `tfsdk:"details"`
	Guests  []guest      `tfsdk:"guests"`
}

// guest is a guest in PVE's list. A nil is what was not read.
type guest struct {
	VMID    int64          `tfsdk:"vmid"`
	Kind    string         `tfsdk:"kind"`
	Node    string         `tfsdk:"node"`
	Name    string         `tfsdk:"name"`
	Status  string         `tfsdk:"status"`
	Pool    string         `tfsdk:"pool"`
	Tags    []string       `tfsdk:"tags"`
	HAState string         `tfsdk:"ha_state"`
	HAWants *string        `tfsdk:"ha_requested"`
	Marked  *bool          `tfsdk:"marked"`
	UID     *string        `tfsdk:"uid"`
	HeldFor *int64         `tfsdk:"holds_volumes_of"`
	OnBoot  *bool          `tfsdk:"onboot"`
	NICs    map[string]nic `tfsdk:"nics"`
}

type nic struct {
	MAC    string `tfsdk:"mac"`
	Bridge string `tfsdk:"bridge"`
	LinkUp bool   `tfsdk:"link_up"`
}

// kindContainer is the word for a container.
const kindContainer = "container"

func kindWord(r proxmox.Resource) string { return strings.ToLower(proxmox.Kind(r.Type).String()) }

func newGuest(r proxmox.Resource) *guest {
	return &guest{
		VMID: int64(r.VMID), Kind: kindWord(r), Node: r.Node, Name: r.Name, Status: r.Status, Pool: r.Pool,
		Tags: append([]string{}, splitTags(r.Tags)...), HAState: r.HAState,
	}
}

// wanted takes in what HA is asked for, "" for a guest that it does not know.
func (g *guest) wanted(ha map[string]proxmox.HAResource) {
	kind := proxmox.KindVM
	if g.Kind == kindContainer {
		kind = proxmox.KindContainer
	}
	requested := ha[proxmox.HASID(kind, int(g.VMID))].Requested
	g.HAWants = &requested
}

// details takes in a guest's configuration. A container that holds the volumes of
// another carries a marker, and is nobody's resource.
func (g *guest) details(config *proxmox.GuestConfig) {
	marker, marked := config.Marker()
	onBoot := config.Wanted("onboot") == "1"
	g.Marked, g.OnBoot, g.NICs = &marked, &onBoot, map[string]nic{}
	if vmid, holds := config.HeldFor(); holds {
		marked, g.HeldFor = false, new(int64(vmid))
	}
	if marked {
		g.UID = &marker.UID
	}
	for _, slot := range slices.Sorted(maps.Keys(config.Current)) {
		if device, ok := proxmox.ParseDevice(config.Kind, slot, config.Current[slot]); ok {
			g.NICs[slot] = nic{MAC: device.MAC, Bridge: device.Bridge, LinkUp: !device.LinkDown}
		}
	}
}
