package storage

import (
	"cmp"
	"slices"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
)

// model is a storage as one node sees it. A nil is what is not known.
type model struct {
	Name    string  `tfsdk:"name"`
	Node    string  `tfsdk:"node"`
	Content *string `tfsdk:"content"`

	Type           string        `tfsdk:"type"`
	ContentTypes   []string      `tfsdk:"content_types"`
	Enabled        bool          `tfsdk:"enabled"`
	Active         bool          `tfsdk:"active"`
	Shared         bool          `tfsdk:"shared"`
	TotalBytes     *int64        `tfsdk:"total_bytes"`
	UsedBytes      *int64        `tfsdk:"used_bytes"`
	AvailableBytes *int64        `tfsdk:"available_bytes"`
	Volumes        []volumeModel `tfsdk:"volumes"`
}

type volumeModel struct {
	ID        string  `tfsdk:"id"`
	Content   string  `tfsdk:"content"`
	Format    string  `tfsdk:"format"`
	SizeBytes int64   `tfsdk:"size_bytes"`
	VMID      *int64  `tfsdk:"vmid"`
	Created   *string `tfsdk:"created"`
	Notes     *string `tfsdk:"notes"`
	Protected bool    `tfsdk:"protected"`
}

func (m *model) setStatus(s proxmox.NodeStorage) {
	m.Type, m.ContentTypes = s.Type, s.Content
	m.Enabled, m.Active, m.Shared = bool(s.Enabled), bool(s.Active), bool(s.Shared)
	if !s.Active {
		return
	}
	total, used, available := int64(s.Total), int64(s.Used), int64(s.Avail)
	m.TotalBytes, m.UsedBytes, m.AvailableBytes = &total, &used, &available
}

// setVolumes sorts, since PVE lists volumes in no order.
func (m *model) setVolumes(volumes []proxmox.Volume) {
	m.Volumes = make([]volumeModel, 0, len(volumes))
	for _, v := range volumes {
		m.Volumes = append(m.Volumes, fromVolume(v))
	}
	slices.SortFunc(m.Volumes, func(a, b volumeModel) int { return cmp.Compare(a.ID, b.ID) })
}

func fromVolume(v proxmox.Volume) volumeModel {
	m := volumeModel{ID: v.VolID, Content: v.Content, Format: v.Format, SizeBytes: int64(v.Size), Protected: bool(v.Protected)}
	if v.VMID != 0 {
		vmid := int64(v.VMID)
		m.VMID = &vmid
	}
	if v.CTime != 0 {
		created := time.Unix(int64(v.CTime), 0).UTC().Format(time.RFC3339)
		m.Created = &created
	}
	if v.Notes != "" {
		m.Notes = &v.Notes
	}
	return m
}
