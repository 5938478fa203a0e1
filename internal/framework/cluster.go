package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/proxmox"
)

// contentNames are what users call the kinds of content of a storage.
var contentNames = map[string]string{"images": "disk images", "iso": "ISO images", "rootdir": "container volumes"}

// CheckNode checks that a node exists and is online, and adds an error at the
// attribute if not.
func CheckNode(ctx context.Context, client *proxmox.Client, node string, at path.Path, diags *diag.Diagnostics) bool {
	nodes, err := client.View.Nodes(ctx)
	if err != nil {
		AddAttributeError(diags, at, "list the cluster's nodes", err)
		return false
	}
	var all []string
	for _, each := range nodes {
		if each.Node == node && !each.Online() {
			diags.AddAttributeError(at, "Node "+node+" is "+each.Status, "Start it, or choose another node.")
			return false
		}
		if each.Node == node {
			return true
		}
		all = append(all, each.Node)
	}
	slices.Sort(all)
	diags.AddAttributeError(at, "There is no node "+node, "The cluster's nodes are "+strings.Join(all, ", ")+".")
	return false
}

// FindStorage finds a storage that a node can use for a kind of content, and
// adds an error at the attribute if it cannot.
func FindStorage(ctx context.Context, client *proxmox.Client, storages []proxmox.NodeStorage, node, name, content string, at path.Path, diags *diag.Diagnostics) (proxmox.NodeStorage, bool) {
	var summary, detail string
	i := slices.IndexFunc(storages, func(s proxmox.NodeStorage) bool { return s.Storage == name })
	switch {
	case i < 0:
		summary = fmt.Sprintf("There is no storage %q on node %s", name, node)
		detail = "The token sees these there: " + strings.Join(storageNames(storages), ", ") +
			". Of one that is missing the token may hold neither Datastore.Audit nor Datastore.AllocateSpace."
	case !bool(storages[i].Enabled):
		summary = fmt.Sprintf("Storage %q is not enabled on node %s", name, node)
		detail = "It is " + WhyNotEnabled(ctx, client, name) + ". Enable it in Proxmox VE, or choose another."
	case !bool(storages[i].Active):
		summary = fmt.Sprintf("Storage %q is not active on node %s", name, node)
		detail = "Its node cannot reach it right now."
	case !storages[i].Allows(content):
		summary = fmt.Sprintf("Storage %q holds no %s", name, contentNames[content])
		detail = fmt.Sprintf("It allows %s; %s need the content %s.", strings.Join(storages[i].Content, ", "), contentNames[content], content)
	default:
		return storages[i], true
	}
	diags.AddAttributeError(at, summary, detail)
	return proxmox.NodeStorage{}, false
}

// WhyNotEnabled says why a storage is not enabled on a node, as what follows "it
// is": a node's own list does not tell. Where the cluster's does not either, it
// says so.
func WhyNotEnabled(ctx context.Context, client *proxmox.Client, storage string) string {
	configs, err := client.View.StorageConfigs(ctx)
	i := slices.IndexFunc(configs, func(c proxmox.StorageConfig) bool { return c.Storage == storage })
	switch {
	case err != nil || i < 0:
		return "disabled, or limited to other nodes"
	case bool(configs[i].Disabled):
		return "disabled"
	default:
		return "limited to other nodes: " + strings.Join(configs[i].Nodes, ", ")
	}
}

func storageNames(storages []proxmox.NodeStorage) []string {
	var all []string
	for _, s := range storages {
		all = append(all, s.Storage)
	}
	slices.Sort(all)
	return all
}
