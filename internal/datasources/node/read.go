package node

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// reader reads nodes.
type reader struct {
	client *proxmox.Client
	// answering is the name of the node that answers, "" when the token may
	// not know.
	answering string
}

// newReader finds out which node answers. Only /cluster/status tells, and it
// needs Sys.Audit on /.
func newReader(ctx context.Context, client *proxmox.Client, diags *diag.Diagnostics) reader {
	r := reader{client: client}
	status, err := client.Cluster.Status(ctx)
	if proxmox.IsPermission(err) {
		return r
	}
	framework.AddError(diags, "find out which node answers", err)
	for _, member := range status.Nodes {
		if member.Local {
			r.answering = member.Name
		}
	}
	return r
}

// read fills in what only the node itself can tell. Of a node that does not
// answer it leaves that unknown, with a warning when the cluster believes it
// to be online.
func (r reader) read(ctx context.Context, node proxmox.Node, diags *diag.Diagnostics) model {
	m := fromNode(node)
	if r.answering != "" {
		answers := node.Node == r.answering
		m.AnswersAPI = &answers
	}
	if !node.Online() {
		return m
	}
	err := r.ask(ctx, node.Node, &m)
	action := fmt.Sprintf("read node %q", node.Node)
	if proxmox.IsUnavailable(err) {
		framework.AddWarning(diags, action, err)
		return m
	}
	framework.AddError(diags, action, err)
	return m
}

func (r reader) ask(ctx context.Context, name string, m *model) error {
	version, err := r.client.Nodes.Version(ctx, name)
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	bridges, err := r.client.View.Bridges(ctx, name)
	if err != nil {
		return fmt.Errorf("bridges: %w", err)
	}
	storages, err := r.client.View.Storages(ctx, name)
	if err != nil {
		return fmt.Errorf("storages: %w", err)
	}
	m.Version = unlessZero(version.String())
	m.Bridges = fromInterfaces(bridges)
	m.Storages = fromStorages(storages)
	return nil
}
