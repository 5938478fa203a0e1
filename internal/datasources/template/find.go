package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// wanted is what a configuration asks for: a vmid or a name, and perhaps a
// node.
type wanted struct {
	vmid int
	name string
	node string
}

func (w wanted) String() string {
	text := fmt.Sprintf("template %d", w.vmid)
	if w.vmid == 0 {
		text = fmt.Sprintf("template %q", w.name)
	}
	if w.node != "" {
		text += fmt.Sprintf(" on node %q", w.node)
	}
	return text
}

// matches reports whether an entry of the cluster's list may be what is
// wanted.
func (w wanted) matches(guest proxmox.Resource) bool {
	if w.vmid != 0 {
		return guest.VMID == w.vmid
	}
	return guest.Type == string(proxmox.KindVM) && guest.Name == w.name && (w.node == "" || guest.Node == w.node)
}

// notFoundError says why there is no such template.
type notFoundError struct{ why string }

func (e *notFoundError) Error() string { return e.why }

// find finds the one template that is wanted. The cluster's list only tells
// where to look: it is up to ten seconds old, the configuration is not.
func find(ctx context.Context, client *proxmox.Client, w wanted) (*proxmox.GuestConfig, error) {
	guests, err := client.View.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the guests: %w", err)
	}
	var candidates, templates []*proxmox.GuestConfig
	for _, guest := range guests {
		if !w.matches(guest) {
			continue
		}
		if err := w.check(guest); err != nil {
			return nil, err
		}
		config, err := client.View.VMConfig(ctx, guest.Node, guest.VMID)
		if err != nil {
			return nil, fmt.Errorf("read VM %d: %w", guest.VMID, err)
		}
		candidates = append(candidates, config)
		if config.Template() {
			templates = append(templates, config)
		}
	}
	switch {
	case len(templates) == 1:
		return templates[0], nil
	case len(templates) > 1:
		return nil, &notFoundError{fmt.Sprintf("There are %d templates of this name: %s. Give the vmid, or the node if that tells them apart.",
			len(templates), listed(templates))}
	case len(candidates) > 0:
		return nil, &notFoundError{listed(candidates) + " is no template. A VM is turned into one with `qm template`; that cannot be undone."}
	default:
		return nil, w.absent(ctx, client)
	}
}

// check refuses what has the wanted vmid and still is something else.
func (w wanted) check(guest proxmox.Resource) error {
	if guest.Type != string(proxmox.KindVM) {
		return &notFoundError{fmt.Sprintf("%d is a container, not a VM.", guest.VMID)}
	}
	if w.node != "" && guest.Node != w.node {
		return &notFoundError{fmt.Sprintf("VM %d is on node %q.", guest.VMID, guest.Node)}
	}
	return nil
}

// absent tells a guest that does not exist from one that the token may not
// see: lists leave the latter out without a word.
func (w wanted) absent(ctx context.Context, client *proxmox.Client) error {
	if w.vmid == 0 {
		return &notFoundError{fmt.Sprintf("No VM that the API token may see has the name %q. Lists show only guests on which the token has VM.Audit.", w.name)}
	}
	free, err := client.Cluster.VMIDFree(ctx, w.vmid)
	if err != nil {
		return fmt.Errorf("find out whether the id is taken: %w", err)
	}
	if free {
		return &notFoundError{fmt.Sprintf("No guest in the cluster has the id %d.", w.vmid)}
	}
	return &notFoundError{fmt.Sprintf("A guest with the id %d exists, but the API token may not see it. "+
		"It needs VM.Audit (and for clones VM.Clone) on /vms/%d or on the guest's pool.", w.vmid, w.vmid)}
}

func listed(configs []*proxmox.GuestConfig) string {
	var all []string
	for _, config := range configs {
		all = append(all, fmt.Sprintf("VM %d on node %q", config.VMID, config.Node))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
