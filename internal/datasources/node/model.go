package node

import (
	"terraform-provider-proxmox/internal/proxmox"
)

// model is what is read of a node. A nil is what is not known.
type model struct {
	Name            string                  `tfsdk:"name"`
	Status          string                  `tfsdk:"status"`
	AnswersAPI      *bool                   `tfsdk:"answers_api"`
	Version         *string                 `tfsdk:"version"`
	TLSFingerprint  *string                 `tfsdk:"tls_fingerprint"`
	CPUs            *int64                  `tfsdk:"cpus"`
	MemoryBytes     *int64                  `tfsdk:"memory_bytes"`
	MemoryUsedBytes *int64                  `tfsdk:"memory_used_bytes"`
	Bridges         map[string]bridgeModel  `tfsdk:"bridges"`
	Storages        map[string]storageModel `tfsdk:"storages"`
}

type bridgeModel struct {
	Type      string  `tfsdk:"type"`
	Active    bool    `tfsdk:"active"`
	CIDR      *string `tfsdk:"cidr"`
	VLANAware bool    `tfsdk:"vlan_aware"`
}

type storageModel struct {
	Type           string   `tfsdk:"type"`
	ContentTypes   []string `tfsdk:"content_types"`
	Enabled        bool     `tfsdk:"enabled"`
	Active         bool     `tfsdk:"active"`
	Shared         bool     `tfsdk:"shared"`
	AvailableBytes *int64   `tfsdk:"available_bytes"`
}

type listModel struct {
	Nodes  map[string]model `tfsdk:"nodes"`
	Online []string         `tfsdk:"online"`
}

// fromNode takes what the cluster's list says of a node. PVE leaves the
// figures out for who lacks Sys.Audit on the node, and of a node that is
// offline.
func fromNode(node proxmox.Node) model {
	return model{
		Name:            node.Node,
		Status:          node.Status,
		TLSFingerprint:  unlessZero(node.SSLFingerprint),
		CPUs:            unlessZero(int64(node.MaxCPU)),
		MemoryBytes:     unlessZero(int64(node.MaxMem)),
		MemoryUsedBytes: unlessZero(int64(node.Mem)),
	}
}

func fromInterfaces(interfaces []proxmox.Interface) map[string]bridgeModel {
	bridges := map[string]bridgeModel{}
	for _, i := range interfaces {
		bridges[i.Name] = bridgeModel{Type: i.Type, Active: i.Active, CIDR: unlessZero(i.CIDR), VLANAware: i.VLANAware}
	}
	return bridges
}

func fromStorages(list []proxmox.NodeStorage) map[string]storageModel {
	storages := map[string]storageModel{}
	for _, s := range list {
		storages[s.Storage] = fromStorage(s)
	}
	return storages
}

func fromStorage(s proxmox.NodeStorage) storageModel {
	storage := storageModel{
		Type: s.Type, ContentTypes: s.Content, Enabled: bool(s.Enabled), Active: bool(s.Active), Shared: bool(s.Shared),
	}
	if s.Active {
		available := int64(s.Avail)
		storage.AvailableBytes = &available
	}
	return storage
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
