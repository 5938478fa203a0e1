package template

import (
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// model is a template. A nil is what is not known.
type model struct {
	VMID      int64                   `tfsdk:"vmid"`
	Name      string                  `tfsdk:"name"`
	Node      string                  `tfsdk:"node"`
	Tags      []string                `tfsdk:"tags"`
	BootDisk  *string                 `tfsdk:"boot_disk"`
	Disks     map[string]diskModel    `tfsdk:"disks"`
	Network   map[string]networkModel `tfsdk:"network"`
	CloudInit bool                    `tfsdk:"cloud_init"`
	Shared    *bool                   `tfsdk:"shared"`
}

type diskModel struct {
	VolumeID string   `tfsdk:"volume_id"`
	Storage  string   `tfsdk:"storage"`
	SizeGiB  *float64 `tfsdk:"size_gib"`
}

type networkModel struct {
	Model  string  `tfsdk:"model"`
	Bridge *string `tfsdk:"bridge"`
}

// fromConfig takes a template's configuration and the storages of its node.
func fromConfig(config *proxmox.GuestConfig, storages []proxmox.NodeStorage) model {
	m := model{
		VMID:    int64(config.VMID),
		Name:    config.Get("name"),
		Node:    config.Node,
		Tags:    tags(config.Get("tags")),
		Disks:   map[string]diskModel{},
		Network: map[string]networkModel{},
	}
	if slot, found := config.BootDisk(); found {
		m.BootDisk = &slot
	}
	for slot, disk := range config.Disks() {
		m.Disks[slot] = fromDisk(disk)
	}
	for slot, nic := range config.NICs() {
		m.Network[slot] = networkModel{Model: nic.Model, Bridge: nic.Bridge}
	}
	for _, drive := range config.CDROMs() {
		m.CloudInit = m.CloudInit || drive.IsCloudInit()
	}
	m.Shared = allShared(m.Disks, storages)
	return m
}

func fromDisk(disk proxmox.Disk) diskModel {
	m := diskModel{VolumeID: disk.Volume, Storage: disk.Storage()}
	if disk.Size != nil {
		size := float64(*disk.Size) / (1 << 30)
		m.SizeGiB = &size
	}
	return m
}

// allShared reports whether all disks are on shared storages, nil when one of
// the storages is not known.
func allShared(disks map[string]diskModel, storages []proxmox.NodeStorage) *bool {
	shared := map[string]bool{}
	for _, s := range storages {
		shared[s.Storage] = bool(s.Shared)
	}
	all := true
	for _, disk := range disks {
		isShared, known := shared[disk.Storage]
		if !known {
			return nil
		}
		all = all && isShared
	}
	return &all
}

// tags splits PVE's list, in which ";" separates. An empty list can read back
// as a blank.
func tags(list string) []string {
	all := strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
	slices.Sort(all)
	return append([]string{}, all...)
}
